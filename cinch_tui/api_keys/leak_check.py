"""API keys in a prompt: `#key` lines are taken out of the text; before another key is sent, the user is asked."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from harness.structs import Redacted

if TYPE_CHECKING:
    from harness.agent.guardrails import FoundSecret

REMOVE, SEND = "Remove it", "Send it anyway"
_KEY_LINE = re.compile(
    r"^[ \t]*(?:#key|\A/key)[ \t]+(?P<provider>\S+)[ \t]+(?P<secret>\S+)[^\n]*\n?", re.MULTILINE | re.IGNORECASE
)
_PROVIDERS = {
    "sk-ant-": "anthropic",
    "sk-or-": "openrouter",
    "sk-": "openai",
    "AIza": "gemini",
    "gsk_": "groq",
    "xai-": "xai",
    "hf_": "huggingface",
    "csk-": "cerebras",
    "pplx-": "perplexity",
    "nvapi-": "nvidia",
}


class TypedKey(Redacted, frozen=True):
    _hidden = ("secret",)

    provider: str
    secret: str


def take_keys(text: str) -> tuple[str, tuple[TypedKey, ...]]:
    """Return `text` without its `#key provider secret` lines, and the keys in them.

    The whole line is removed: losing part of a prompt can be fixed, publishing a key cannot.
    """
    keys = tuple(TypedKey(match["provider"], match["secret"]) for match in _KEY_LINE.finditer(text))
    return (_KEY_LINE.sub("", text), keys) if keys else (text, ())


def without_keys(text: str) -> str:
    """Return the text as it may be stored: without `#key` lines, and with every other key redacted."""
    from harness.agent.guardrails import redact_secrets  # not before the first paint

    return redact_secrets(take_keys(text)[0])


def provider_of(secret: str) -> str:
    """Return the provider whose keys have this prefix; empty if unknown."""
    return next((provider for prefix, provider in _PROVIDERS.items() if secret.startswith(prefix)), "")


class KeyDialogs(Protocol):
    """Dialogs that a front end provides."""

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None: ...


class Decision(Struct, frozen=True):
    """The user's decision: `text` is sent, or else returned to the prompt."""

    text: str
    send: bool


async def ask_about_keys(dialogs: KeyDialogs, keep_key: Callable[[str, str], Awaitable[None]], text: str) -> Decision:
    """Ask what to do about the keys in `text`; a cancelled question gives it back unchanged."""
    from harness.agent.guardrails import find_secrets  # not before the first paint

    found = find_secrets(text)
    kind = found[0].kind if len(found) == 1 else f"{len(found)} secrets"
    store = _storing(text, found)
    choices = [(REMOVE, "the rest goes back to the prompt"), *store, (SEND, "the model and the session file get it")]
    chosen = await dialogs.pick(f"Not sent yet: the text seems to contain {kind}. What do you want to do?", choices)
    if chosen is None:
        return Decision(text, send=False)
    if chosen == SEND:
        return Decision(text, send=True)
    if chosen != REMOVE:
        secret = text[found[0].start : found[0].end]
        from cinch_tui.reports.summaries import provider_names  # as above

        names = [(name, "") for name in provider_names()]
        provider = provider_of(secret) or await dialogs.pick("Which provider is the key for?", names)
        if not provider:
            return Decision(text, send=False)
        await keep_key(provider, secret)
    return Decision(_without(text, found), send=False)


def _storing(text: str, found: Sequence[FoundSecret]) -> list[tuple[str, str]]:
    if len(found) != 1 or (found[0].kind != "an API key" and not provider_of(text[found[0].start :])):
        return []
    provider = provider_of(text[found[0].start :])
    return [(f"Store it as the key for {provider or 'a provider'}", "the rest goes back to the prompt")]


def _without(text: str, found: Sequence[FoundSecret]) -> str:
    for each in reversed(found):
        text = text[: each.start] + text[each.end :]
    return text.strip()
