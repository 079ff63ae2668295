"""What a person says may be looked at before a model hears it: passed, passed with a warning, or kept back."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from harness.lazy_dataclass import dataclass
from harness.messages import Text, UserMessage

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pass:
    """The model hears the message as it is."""


@dataclass(frozen=True, slots=True)
class Warn:
    """The model hears the message, and this after it."""

    text: str


@dataclass(frozen=True, slots=True)
class Reject:
    """The model does not hear the message; `reason` is told to who sent it."""

    reason: str


GuardrailVerdict: TypeAlias = Pass | Warn | Reject


class InputGuardrail(Protocol):
    """Looks at each message of the person, prompts, steering and follow-ups alike, before a model hears it."""

    def check(self, message: UserMessage) -> GuardrailVerdict:
        """Judge a message, at once: a run waits. One that raises counts as a rejection."""
        ...


def apply_guardrails(message: UserMessage, filters: Sequence[InputGuardrail]) -> UserMessage | Reject:
    """The message as the model is to hear it, or the first rejection. A filter that raises rejects.

    Each filter looks at what was said, not at the warnings of those before it.
    """
    warnings: list[Text] = []
    for each in filters:
        match _verdict(each, message):
            case Pass():
                pass
            case Warn(text):
                warnings.append(Text(f"\n[Warning: {text}]"))
            case Reject() as rejection:
                return rejection
            case _:  # a stranger's code may well give none
                return Reject(f"an input filter failed: {type(each).__name__} gave no verdict")
    return replace(message, content=(*message.content, *warnings)) if warnings else message


def _verdict(each: InputGuardrail, message: UserMessage) -> GuardrailVerdict:
    """What it guards must not pass when the filter breaks."""
    try:
        return each.check(message)
    except Exception as error:  # a filter is a stranger's code
        logger.exception("an input filter failed")
        return Reject(f"an input filter failed: {type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class MaxLength:
    """Rejects a message of more than `characters`, all its texts together."""

    characters: int

    def check(self, message: UserMessage) -> GuardrailVerdict:
        length = len(message.text)
        if length <= self.characters:
            return Pass()
        return Reject(f"it has {length:,} characters, {self.characters:,} are allowed; put it into a file")


@dataclass(frozen=True, slots=True)
class SecretGuardrail:
    """Rejects a message with a private key, or an API key of a form known to be one.

    Only well-known forms count, and of these only what looks random: `sk-your-key-here` passes. A password, or a token
    without a form of its own, is not found.
    """

    def check(self, message: UserMessage) -> GuardrailVerdict:
        found = find_secrets(message.text)
        return Reject(f"there seems to be {found[0].kind} in it; say it without") if found else Pass()


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """A span of a text that looks like a secret."""

    kind: str
    start: int
    end: int


_PRIVATE_KEY = r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr])*[\w+/=:-]{8}"
_REST_OF_PRIVATE_KEY = r"[\s\S]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)"
_API_KEYS = {
    "an API key": r"\b(?:sk-(?:ant|proj|or|svcacct)-[\w-]{16,}|sk-[A-Za-z0-9]{20,}|gsk_\w{40,}|xai-\w{40,}|hf_\w{30,}"
    r"|pplx-\w{40,}|csk-\w{40,}|nvapi-[\w-]{40,})",
    "a Google API key": r"\bAIza[\w-]{35}",
    "an AWS access key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a GitHub token": r"\b(?:gh[pousr]_\w{36,}|github_pat_\w{50,})",
    "a GitLab token": r"\bglpat-[\w-]{20,}",
    "a Slack token": r"\bxox[abeoprs]-[\w-]{20,}",
    "a Stripe key": r"\b[sr]k_live_\w{20,}",
    "a package registry's token": r"\b(?:npm_\w{36}|pypi-[\w-]{50,})",
}


_PARTLY_SHOWN = 4


def without_secrets(text: str) -> str:
    """The text with what looks like a key cut to its first letters."""
    for form in (_PRIVATE_KEY, *_API_KEYS.values()):
        text = re.sub(form, lambda found: f"{found.group()[:_PARTLY_SHOWN]}…", text)
    return text


def find_secrets(text: str) -> tuple[FoundSecret, ...]:
    """Private keys and API keys of well-known forms, in the order of the text; placeholders are not reported."""
    found = [
        FoundSecret("a private key", *each.span()) for each in re.finditer(_PRIVATE_KEY + _REST_OF_PRIVATE_KEY, text)
    ]
    for kind, form in _API_KEYS.items():
        found += [FoundSecret(kind, *each.span()) for each in re.finditer(form, text) if _is_random(each[0])]
    return tuple(sorted(found, key=lambda each: each.start))


def redact_secrets(text: str, replacement: str = "[key removed]") -> str:
    """Replace each secret that `find_secrets` reports."""
    kept, at = list[str](), 0
    for each in find_secrets(text):
        if each.start >= at:
            kept += [text[at : each.start], replacement]
        at = max(at, each.end)
    return "".join((*kept, text[at:])) if kept else text


def _is_random(key: str) -> bool:
    """A placeholder or an example of the documentation is no secret."""
    return any(map(str.isdigit, key)) and len(set(key)) >= 12 and "example" not in key.lower()


if TYPE_CHECKING:
    _: tuple[type[InputGuardrail], ...] = (MaxLength, SecretGuardrail)
