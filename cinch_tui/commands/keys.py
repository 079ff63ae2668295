"""Commands about API keys, and the question before one is sent. A key is never shown, or kept in the prompt history.

`#key provider key` in one line is taken out of the text before it is parsed, see `cinch_tui.api_keys.leak_check`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.api_keys.leak_check import provider_of
from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from harness.errors import CinchError, ConfigError

if TYPE_CHECKING:
    from cinch_tui.api_keys.provider_key import ProviderKey
    from cinch_tui.api_keys.search_key import SearchKey
    from harness.agent.guardrails import FoundSecret

KEYS = CommandGroup("API keys")

REMOVE, SEND = "Remove it", "Send it anyway"

DISCARD_KEY, KEEP_KEY = "Do not store it", "Store it anyway"


async def _show_keys(host: CommandHost) -> None:
    from cinch_tui.reports.summaries import key_summary

    host.show("API keys", await asyncio.to_thread(key_summary, host.session.assembly.keys))


KEYS.action("#keys", "list providers with a key and the source of the key", _show_keys)


def provider_choices(host: CommandHost) -> tuple[Choice, ...]:
    """Return the providers and search services that an API key can be stored for."""
    from cinch_tui.reports.summaries import provider_names

    del host
    return tuple(Choice(name) for name in provider_names())


@KEYS.command("#key [provider]", "enter an API key", aliases=("/key",), arguments=provider_choices)
async def key(host: CommandHost, argument: str) -> None:
    provider, *rest = argument.split() or [""]
    if rest:
        host.notice("#key takes a provider: #key anthropic", "warning")
        return
    if provider := provider or await _pick_provider(host):
        await _enter_key(host, provider)


async def _pick_provider(host: CommandHost) -> str:
    """Return the chosen provider; empty if the user cancels."""
    return (
        await host.pick("Which provider is the key for?", [(each.value, "") for each in provider_choices(host)]) or ""
    )


async def _enter_key(host: CommandHost, provider: str) -> None:
    key = _key_of(host, provider)
    entered = await host.ask_key(f"API key for {key.label}", key.note, key.check)
    if entered is not None:
        host.notice(await key.store(*entered))


def _key_of(host: CommandHost, name: str) -> ProviderKey | SearchKey:
    """Return the key of a provider or a search service.

    Raises:
        ConfigError: none that takes keys has this name.
    """
    from tools.web.options import SEARCH_KEYS

    if name in SEARCH_KEYS:
        from cinch_tui.api_keys.search_key import SearchKey

        return SearchKey(host.session.assembly.keys, name)
    from cinch_tui.api_keys.provider_key import provider_key

    return provider_key(host.session.assembly, name)


async def keep_key(host: CommandHost, provider: str, secret: str) -> None:
    """Check a key, store it and use it at once; report errors as notices."""
    try:
        await _store_key(host, provider, secret)
    except CinchError as error:
        host.notice(str(error), "error")


async def _store_key(host: CommandHost, provider: str, secret: str) -> None:
    from cinch_tui.api_keys.provider_key import KeyRefused, KeyUnchecked

    key = _key_of(host, provider)
    match verdict := await key.check(secret):
        case KeyRefused(reason):
            raise ConfigError(f"the key is not stored: {reason}")
        case KeyUnchecked(reason):
            choices = [(DISCARD_KEY, ""), (KEEP_KEY, "without a check")]
            if await host.pick(f"The key could not be checked: {reason}", choices) != KEEP_KEY:
                host.notice("The key is not stored.")
                return
        case _:
            pass
    host.notice(await key.store(secret, verdict))


class Decision(Struct, frozen=True):
    """The user's decision: `text` is sent, or else returned to the prompt."""

    text: str
    send: bool


async def ask_about_keys(host: CommandHost, text: str) -> Decision:
    """Ask what to do about the keys in `text`; a cancelled question gives it back unchanged."""
    from harness.agent.guardrails import find_secrets  # not before the first paint

    found = find_secrets(text)
    kind = found[0].kind if len(found) == 1 else f"{len(found)} secrets"
    store = _storing(text, found)
    choices = [(REMOVE, "the rest goes back to the prompt"), *store, (SEND, "the model and the session file get it")]
    chosen = await host.pick(f"Not sent yet: the text seems to contain {kind}. What do you want to do?", choices)
    if chosen is None:
        return Decision(text, send=False)
    if chosen == SEND:
        return Decision(text, send=True)
    if chosen != REMOVE:
        secret = text[found[0].start : found[0].end]
        provider = provider_of(secret) or await _pick_provider(host)
        if not provider:
            return Decision(text, send=False)
        await keep_key(host, provider, secret)
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
