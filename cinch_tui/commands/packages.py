"""Commands of installed packages."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache

from msgspec.structs import replace

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, Command, CommandGroup
from harness.entry_points import PackageObjects
from harness.errors import CinchError, ConfigError

logger = logging.getLogger(__name__)

GROUP = "cinch.commands"


class _CommandGroups:
    """Check of command groups. Only commands of cinch may be replaced by others of the same name."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def __call__(self, found: object, name: str) -> CommandGroup:
        if not isinstance(found, CommandGroup):
            raise ConfigError(f"expected a CommandGroup, not {type(found).__name__}")
        names = {each.lower() for command in found.commands for each in command.names}
        if taken := sorted(names & self._names.keys()):
            raise ConfigError(f"{self._names[taken[0]]} has a command {taken[0]}, too")
        self._names |= dict.fromkeys(names, f"the entry point {name!r}")
        return replace(found, commands=[_fenced(command) for command in found.commands])


@cache
def package_commands() -> PackageObjects[CommandGroup]:
    """Return the command groups of packages."""
    return PackageObjects(GROUP, _CommandGroups())


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
