"""Commands about API keys. A key is never shown, and never reaches the prompt history.

`#key provider key` in one line is taken out of the text before it is parsed, see `cinch_tui.commands.secrets`.
"""

from __future__ import annotations

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup

KEYS = CommandGroup("API keys")


@KEYS.command("#keys", "which providers have a key, and where it comes from")
async def keys(front: CommandHost, argument: str) -> None:
    del argument
    front.show("API keys", await front.key_summary())


def _provider_choices(front: CommandHost) -> tuple[Choice, ...]:
    return tuple(Choice(name) for name in front.provider_names())


@KEYS.command("#key [provider]", "enter an API key, and use it at once", aliases=("/key",), arguments=_provider_choices)
async def key(front: CommandHost, argument: str) -> None:
    provider, *rest = argument.split() or [""]
    if rest:
        front.notice("#key takes a provider: #key anthropic", "warning")
        return
    if not provider:
        choices = [(name, "") for name in front.provider_names()]
        provider = await front.pick("Which provider is the key for?", choices) or ""
    if provider:
        await front.enter_key(provider)
