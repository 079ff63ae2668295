"""The question asked before a text that contains an API key is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from cinch_tui.commands.secrets import provider_of
from cinch_tui.reports.summaries import provider_names
from harness.agent.guardrails import FoundSecret, find_secrets
from harness.lazy_dataclass import dataclass

REMOVE, SEND = "Remove it", "Send it anyway"


class KeyDialogs(Protocol):
    """Dialogs that a front end provides."""

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None: ...


@dataclass(frozen=True, slots=True)
class Decision:
    """The user's decision: `text` is sent, or else returned to the prompt."""

    text: str
    send: bool


async def ask_about_keys(dialogs: KeyDialogs, keep_key: Callable[[str, str], Awaitable[None]], text: str) -> Decision:
    """Ask what to do about the keys in `text`; a cancelled question gives it back unchanged."""
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
