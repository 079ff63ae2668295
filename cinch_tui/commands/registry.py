"""Commands: what each is called, what it says of itself, and which input is one.

A prompt that only looks like a command (`# Heading`, `/etc/hosts is broken`) stays a prompt. What was probably meant as
a command is a `NearMiss`, to be asked about: neither is ever dropped.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import TypeAlias

from cinch_tui.commands import SIGILS
from cinch_tui.commands.host import CommandHost
from harness.errors import CinchError
from harness.lazy_dataclass import dataclass

Handler: TypeAlias = Callable[[CommandHost, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Choice:
    """One value an argument may take. Lists show `shown` in its place; what is typed may be words of that."""

    value: str
    description: str = ""
    shown: str = ""


DESTRUCTIVE = frozenset(("/quit", "/reset"))
"""Commands that end or discard something: never the first suggestion for a mistyped one."""

Completer: TypeAlias = Callable[[CommandHost], Sequence[Choice]]


@dataclass(frozen=True, slots=True)
class Command:
    """`usage` is its name with what may follow it; `[brackets]` may be left out, `<these>` may not, `…` may come again;
    what follows `--` is free text."""

    usage: str
    summary: str
    handler: Handler
    aliases: tuple[str, ...] = ()
    while_running: bool = True
    arguments: Completer | None = None

    @property
    def name(self) -> str:
        return self.usage.split(maxsplit=1)[0]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    @property
    def twin(self) -> str:
        """The same name with a slash, as users of other tools type it; empty where the name begins with one."""
        return f"/{self.name[1:]}" if self.name[0] == "#" else ""

    @property
    def takes_several(self) -> bool:
        return "…" in self.usage

    @property
    def takes_argument(self) -> bool:
        return self.usage != self.name


@dataclass(slots=True)
class CommandGroup:
    """Commands that belong together, under the title the help gives them."""

    title: str
    commands: list[Command] = field(default_factory=list[Command])

    def command(
        self,
        usage: str,
        summary: str,
        *,
        aliases: tuple[str, ...] = (),
        while_running: bool = True,
        arguments: Completer | None = None,
    ) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            self.commands.append(Command(usage, summary, handler, aliases, while_running, arguments))
            return handler

        return register


@dataclass(frozen=True, slots=True)
class Invocation:
    command: Command
    argument: str


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """Input probably meant as a command that is none.

    `suggestions`, which may be empty, are whole inputs, the harmless ones first. `is_safe`: the first is harmless.
    """

    word: str
    suggestions: tuple[str, ...]
    reason: str
    is_safe: bool = True


class Declined(CinchError):
    """Raised by a command of another package: this is not for it. The command of cinch that it hides is run then."""


class Registry:
    """The commands of `families`, and before them those of `extensions`, which other packages bring: one of the same
    name hides ours, and may leave it to ours."""

    def __init__(self, families: Iterable[CommandGroup], extensions: Iterable[CommandGroup] = ()) -> None:
        own, foreign = tuple(families), tuple(extensions)
        self.families = (*foreign, *own)
        self._own = _by_name(own)
        # Of two strangers the first counts: none may keep cinch from starting.
        extra = [command for family in foreign for command in family.commands]
        self._by_name = _with_twins(self._own | {name: each for each in reversed(extra) for name in each.names})

    @property
    def commands(self) -> tuple[Command, ...]:
        """Those that are run by their name."""
        named = (command for family in self.families for command in family.commands)
        return tuple(command for command in named if self._by_name[command.name] is command)

    @property
    def named(self) -> Iterator[tuple[str, Command]]:
        """Every name that runs a command, and that command; the twin of a name follows its other names."""
        for command in self.commands:
            for name in (*command.names, command.twin):
                if self._by_name.get(name) is command:
                    yield name, command

    def find(self, name: str) -> Command | None:
        return self._by_name.get(name.lower())

    def parse(self, text: str) -> Invocation | UnknownCommand | None:
        """What `text` calls for; None when it is a prompt."""
        line = text.strip()
        word, *rest = line.split(maxsplit=1) or [""]
        if "\n" in line or len(word) < 2 or word[0] not in SIGILS:
            return None
        argument = rest[0] if rest else ""
        command = self.find(word)
        if command is None:
            return self._near_miss(word, argument)
        if argument and not command.takes_argument:
            is_safe = command.name not in DESTRUCTIVE
            return UnknownCommand(word, (command.name,), f"{command.name} takes nothing after it", is_safe)
        return Invocation(command, argument)

    def literal(self, text: str) -> str:
        r"""The prompt that `text` stands for: `//plan` and `\#clear` send `/plan` and `#clear`."""
        escaped = text.lstrip()
        if escaped[:2] in {"//", "\\/", "\\#"} and self.parse(escaped[1:]) is not None:
            return escaped[1:]
        return text

    async def run(self, invocation: Invocation, front: CommandHost) -> bool:
        """Do it, or say why not: the front is told, nothing is raised that a person could have caused. Whether it was
        begun: what was typed is to be given back otherwise."""
        command = invocation.command
        if front.is_running and not command.while_running:
            front.notice(unavailable_while_running(command.name, front), "warning")
            return False
        if not invocation.argument and "<" in command.usage:
            front.notice(f"{command.name} needs more: {command.usage}", "warning")
            return False
        try:
            await command.handler(front, invocation.argument)
        except Declined as declined:
            hidden = self._own.get(command.name)
            if hidden is None or hidden is command:
                front.notice(str(declined) or f"{command.name} does not take this", "warning")
                return False
            return await self.run(Invocation(hidden, invocation.argument), front)
        except CinchError as error:
            # What was typed while cinch is still starting is done as soon as it can be.
            if await front.until_ready():
                return await self.run(invocation, front)
            front.notice(str(error), "error")
        return True

    def _near_miss(self, word: str, argument: str) -> UnknownCommand | None:
        bare = word[1:].lower()
        # A second slash makes a path, a second sigil an escape or a heading.
        if any(sigil in bare for sigil in SIGILS):
            return None
        suggestions = self._nearest(bare, cutoff=0.8 if argument else 0.66)
        if argument and not suggestions:
            return None
        is_safe = not suggestions or suggestions[0] not in DESTRUCTIVE
        whole = tuple(self._with_argument(name, argument) for name in suggestions)
        return UnknownCommand(word, whole, f"there is no command {word}", is_safe)

    def _with_argument(self, name: str, argument: str) -> str:
        return f"{name} {argument}" if argument and self._by_name[name].takes_argument else name

    def _nearest(self, bare: str, *, cutoff: float) -> tuple[str, ...]:
        by_bare: dict[str, list[str]] = {}
        for name, command in self._by_name.items():
            by_bare.setdefault(name[1:], []).append(command.name)
        near = difflib.get_close_matches(bare, by_bare, n=3, cutoff=cutoff)
        names = dict.fromkeys(name for match in near for name in by_bare[match])
        return tuple(sorted(names, key=lambda name: name in DESTRUCTIVE))


def unavailable_while_running(name: str, front: CommandHost) -> str:
    """Why a command is not for now."""
    return f"{name} is not available while the agent is running" + (
        f"; {front.stop_key} stops it" if front.stop_key else ""
    )


def _with_twins(by_name: dict[str, Command]) -> dict[str, Command]:
    """Every `#name` also as `/name`, unless that is another command."""
    return {command.twin: command for command in by_name.values() if command.twin} | by_name


def _by_name(families: Iterable[CommandGroup]) -> dict[str, Command]:
    found: dict[str, Command] = {}
    for command in (command for family in families for command in family.commands):
        for name in command.names:
            if name in found:
                raise ValueError(f"two commands are called {name}")
            found[name] = command
    return found
