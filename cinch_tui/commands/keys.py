"""Commands about API keys. A key is never shown, and never reaches the prompt history.

`#key provider key` in one line is taken out of the text before it is parsed, see `cinch_tui.api_keys.leak_check`.
"""

from __future__ import annotations

import asyncio

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from harness.errors import CinchError, ConfigError

KEYS = CommandGroup("API keys")

DISCARD_KEY, KEEP_KEY = "Do not store it", "Store it anyway"


async def _show_keys(host: CommandHost) -> None:
    from cinch_tui.reports.summaries import key_summary

    host.show("API keys", await asyncio.to_thread(key_summary, host.session.assembly.keys))


KEYS.action("#keys", "list providers with a key and the source of the key", _show_keys)


def provider_choices(host: CommandHost) -> tuple[Choice, ...]:
    """Return the providers that an API key can be stored for."""
    from cinch_tui.reports.summaries import provider_names

    del host
    return tuple(Choice(name) for name in provider_names())


@KEYS.command("#key [provider]", "enter an API key", aliases=("/key",), arguments=provider_choices)
async def key(host: CommandHost, argument: str) -> None:
    provider, *rest = argument.split() or [""]
    if rest:
        host.notice("#key takes a provider: #key anthropic", "warning")
        return
    if not provider:
        choices = [(choice.value, "") for choice in provider_choices(host)]
        provider = await host.pick("Which provider is the key for?", choices) or ""
    if provider:
        await _enter_key(host, provider)


async def _enter_key(host: CommandHost, provider: str) -> None:
    from cinch_tui.api_keys.provider_key import provider_key

    key = provider_key(host.session.assembly, provider)
    entered = await host.ask_key(f"API key for {key.preset.label}", key.note, key.check)
    if entered is not None:
        host.notice(await key.store(*entered))


async def keep_key(host: CommandHost, provider: str, secret: str) -> None:
    """Check a key, store it and use it at once; report errors as notices."""
    try:
        await _store_key(host, provider, secret)
    except CinchError as error:
        host.notice(str(error), "error")


async def _store_key(host: CommandHost, provider: str, secret: str) -> None:
    from cinch_tui.api_keys.provider_key import KeyRefused, KeyUnchecked, provider_key

    key = provider_key(host.session.assembly, provider)
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
