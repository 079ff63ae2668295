"""Commands that other packages bring: a `Family` each, as an entry point of the group `cinch.commands`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, Command, CommandGroup
from harness.errors import CinchError
from providers.installed import has_entry_points

logger = logging.getLogger(__name__)

GROUP = "cinch.commands"


def installed_groups() -> Iterator[CommandGroup]:
    """Those that can be used; why another cannot is in the log."""
    if not has_entry_points(GROUP):
        return
    # It takes 30 ms to import, and hardly anybody needs it.
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            family: object = entry.load()
        except Exception as error:  # noqa: BLE001 a stranger's code
            logger.warning("the commands of %s cannot be used: %s", entry.value, error)
            continue
        if isinstance(family, CommandGroup):
            yield replace(family, commands=[_fenced(command) for command in family.commands])
        else:
            logger.warning("%s is no Family of commands", entry.value)


def _fenced(command: Command) -> Command:
    """The same command, whose faults are told and do not end the program."""

    async def handler(front: CommandHost, argument: str) -> None:
        try:
            await command.handler(front, argument)
        except CinchError:
            raise
        except Exception as error:
            logger.exception("%s failed", command.name)
            raise CinchError(f"{command.name} is another package's and failed: {error!r}; /logs has more") from error

    def arguments(front: CommandHost) -> Sequence[Choice]:
        try:
            return command.arguments(front) if command.arguments else ()
        except CinchError:
            raise
        except Exception as error:
            logger.exception("what %s takes cannot be listed", command.name)
            raise CinchError(f"{command.name} cannot say what it takes") from error

    return replace(command, handler=handler, arguments=arguments if command.arguments else None)
