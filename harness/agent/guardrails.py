"""Guardrails: checks of user messages before the model receives them."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import Text, UserMessage

logger = logging.getLogger(__name__)


class Pass(Struct, frozen=True):
    """Accepts the message unchanged."""


class Warn(Struct, frozen=True):
    """Accepts the message and appends a warning for the model."""

    text: str
    """Text of the warning."""


class AddContext(Struct, frozen=True):
    """Accepts the message and appends information for the model."""

    text: str
    """The information."""


class Reject(Struct, frozen=True):
    """Blocks the message."""

    reason: str
    """Reason, reported to the sender."""


GuardrailVerdict: TypeAlias = Pass | Warn | AddContext | Reject


class InputGuardrail(Protocol):
    """Check of each user message: prompts, steering messages and follow-ups."""

    def check(self, message: UserMessage) -> GuardrailVerdict | Awaitable[GuardrailVerdict]:
        """Return a verdict, or an awaitable of one; the run waits for it. An exception counts as a rejection.

        Cancelled if the user stops the run meanwhile; the message is rejected then.
        """
        ...


async def apply_guardrails(message: UserMessage, guardrails: Sequence[InputGuardrail]) -> UserMessage | Reject:
    """Return the message as the model receives it, or the first rejection.

    Each guardrail checks the original message, without what previous ones added. One that raises rejects.
    """
    added: list[Text] = []
    for each in guardrails:
        try:
            verdict = each.check(message)
            if isawaitable(verdict):
                verdict = await verdict
        except Exception as error:  # user-supplied code; may raise. Nothing passes unchecked
            logger.exception("a guardrail failed")
            return Reject(f"a guardrail failed: {type(error).__name__}: {error}")
        match verdict:
            case Pass():
                pass
            case Warn(text):
                added.append(Text(f"\n[Warning: {text}]"))
            case AddContext(text):
                added.append(Text(f"\n{text}"))
            case Reject() as rejection:
                return rejection
            case _:  # user-supplied code may return anything
                return Reject(f"a guardrail failed: {type(each).__name__} returned no verdict")
    return replace(message, content=(*message.content, *added)) if added else message


class MaxLength(Struct, frozen=True):
    """Rejects long messages."""

    characters: int
    """Maximum length of a message in characters, all its text blocks together."""

    def check(self, message: UserMessage) -> GuardrailVerdict:
        length = len(message.text)
        if length <= self.characters:
            return Pass()
        return Reject(f"the message has {length:,} characters, the limit is {self.characters:,}; put it into a file")


class SecretGuardrail(Struct, frozen=True):
    """Rejects messages with a private key or an API key.

    Only well-known formats are detected, and only values that look random: `sk-your-key-here` passes. Passwords and
    tokens without a recognizable format are not found.
    """

    def check(self, message: UserMessage) -> GuardrailVerdict:
        found = find_secrets(message.text)
        return Reject(f"the message seems to contain {found[0].kind}; remove it") if found else Pass()


class FoundSecret(Struct, frozen=True):
    """Range of a text that looks like a secret."""

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
    """Return the text with each possible key cut to its first characters."""
    for form in (_PRIVATE_KEY, *_API_KEYS.values()):
        text = re.sub(form, lambda found: f"{found.group()[:_PARTLY_SHOWN]}…", text)
    return text


def find_secrets(text: str) -> tuple[FoundSecret, ...]:
    """Return private keys and API keys of well-known formats, in text order; placeholders are not reported."""
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
    """Return False for placeholders and examples from documentation."""
    return any(map(str.isdigit, key)) and len(set(key)) >= 12 and "example" not in key.lower()


if TYPE_CHECKING:
    _: tuple[type[InputGuardrail], ...] = (MaxLength, SecretGuardrail)
