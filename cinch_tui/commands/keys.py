"""Commands about API keys. A key is never shown, and never reaches the history of the prompt."""

from __future__ import annotations

from cinch_tui.commands.front import Front
from cinch_tui.commands.registry import Choice, Family

KEYS = Family("API keys")


@KEYS.command("#keys", "which providers have a key, and where it comes from")
async def keys(front: Front, argument: str) -> None:
    del argument
    front.show("API keys", await front.key_summary())


def _provider_choices(front: Front) -> tuple[Choice, ...]:
    return tuple(Choice(name) for name in front.provider_names())


@KEYS.command("#key <provider> <key>", "store an API key", arguments=_provider_choices)
async def key(front: Front, argument: str) -> None:
    provider, *secret = argument.split()
    if len(secret) != 1:
        front.notice("#key needs a provider and its key: #key anthropic sk-…", "warning")
        return
    await front.store_key(provider, secret[0])
