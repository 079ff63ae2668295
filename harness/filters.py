"""What a person says may be looked at before a model hears it: passed, passed with a warning, or kept back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from harness.messages import Text, UserMessage


@dataclass(frozen=True, slots=True)
class Pass:
    pass


@dataclass(frozen=True, slots=True)
class Warn:
    """The model hears the message, and this after it."""

    text: str


@dataclass(frozen=True, slots=True)
class Reject:
    """The model does not hear the message; `reason` is told to who sent it."""

    reason: str


FilterVerdict: TypeAlias = Pass | Warn | Reject


class InputFilter(Protocol):
    def check(self, message: UserMessage) -> FilterVerdict: ...


def filtered(message: UserMessage, filters: Sequence[InputFilter]) -> UserMessage | Reject:
    """The message as the model is to hear it, or the first rejection. A filter that raises rejects."""
    for each in filters:
        try:
            verdict = each.check(message)
        except Exception as error:  # noqa: BLE001  a filter is a stranger's code, and what it guards must not pass when it breaks
            return Reject(f"an input filter failed: {type(error).__name__}: {error}")
        match verdict:
            case Pass():
                pass
            case Warn(text):
                message = replace(message, content=(*message.content, Text(f"\n[Warning: {text}]")))
            case Reject():
                return verdict
    return message
