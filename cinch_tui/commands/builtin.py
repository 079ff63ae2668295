"""The commands of cinch, in the order the help lists them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import cache

from msgspec.structs import replace

from cinch_tui.commands.context import CONTEXT
from cinch_tui.commands.hooks import HOOKS
from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.instructions import INSTRUCTIONS
from cinch_tui.commands.keys import KEYS
from cinch_tui.commands.mcp import MCP
from cinch_tui.commands.model import MODEL, PARALLEL, SIDE_QUESTIONS
from cinch_tui.commands.permissions import APPROVAL
from cinch_tui.commands.plugins import PLUGINS
from cinch_tui.commands.registry import Choice, Command, CommandGroup, Registry
from cinch_tui.commands.session import SESSION
from cinch_tui.commands.view import PANELS, VIEW
from harness.errors import CinchError
from providers.installed import has_entry_points

logger = logging.getLogger(__name__)

GROUP = "cinch.commands"


def installed_groups() -> Iterator[CommandGroup]:
    """Yield the usable groups; the log says why others are not."""
    if not has_entry_points(GROUP):
        return
    # It takes 30 ms to import, and few users need it.
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            group: object = entry.load()
        except Exception as error:  # noqa: BLE001 code of another package
            logger.warning("cannot load the commands of %s: %s", entry.value, error)
            continue
        if isinstance(group, CommandGroup):
            yield replace(group, commands=[_fenced(command) for command in group.commands])
        else:
            logger.warning("%s is not a CommandGroup", entry.value)


def _fenced(command: Command) -> Command:
    """Wrap a command so that its exceptions are reported and do not end the program."""

    async def handler(host: CommandHost, argument: str) -> None:
        try:
            await command.handler(host, argument)
        except CinchError:
            raise
        except Exception as error:
            logger.exception("%s failed", command.name)
            raise CinchError(f"{command.name}, a command of another package, failed: {error!r}; see /logs") from error

    def arguments(host: CommandHost) -> Sequence[Choice]:
        try:
            return command.arguments(host) if command.arguments else ()
        except CinchError:
            raise
        except Exception as error:
            logger.exception("the arguments of %s could not be listed", command.name)
            raise CinchError(f"the arguments of {command.name} could not be listed; see /logs") from error

    return replace(command, handler=handler, arguments=arguments if command.arguments else None)


@cache
def builtin_commands() -> Registry:
    return Registry(
        (
            SESSION,
            CONTEXT,
            MODEL,
            SIDE_QUESTIONS,
            PARALLEL,
            INSTRUCTIONS,
            APPROVAL,
            KEYS,
            MCP,
            HOOKS,
            PLUGINS,
            PANELS,
            VIEW,
        ),
        installed_groups(),
    )
