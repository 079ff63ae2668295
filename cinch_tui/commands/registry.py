"""Registry of commands: parses input, completes names, runs handlers.

A prompt that only looks like a command (`# Heading`, `/etc/hosts is broken`) stays a prompt. Input that was probably
meant as a command is an `UnknownCommand`, and the user is asked about it: neither is ever dropped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from cinch_tui.commands import SIGILS
from cinch_tui.commands.host import CommandHost
from cinch_tui.fuzzy_match import nearest_names
from harness.errors import CinchError

Handler: TypeAlias = Callable[[CommandHost, str], Awaitable[None]]


class Choice(Struct, frozen=True):
    """One value of an argument."""

    value: str
    description: str = ""
    shown: str = ""
    """Text shown in lists instead of the value; typing may match its words."""


DESTRUCTIVE = frozenset(("/quit", "/reset"))
"""Commands that end or discard something: never the first suggestion for a mistyped one."""

Completer: TypeAlias = Callable[[CommandHost], Sequence[Choice]]


class Command(Struct, frozen=True):
    """A command and its handler."""

    usage: str
    """Name and arguments: `[optional]`, `<required>`, `…` repeatable; free text follows `--`."""
    summary: str
    handler: Handler
    aliases: tuple[str, ...] = ()
    while_running: bool = True
    """False if it is not available while the agent is running."""
    arguments: Completer | None = None
    """Values to complete; None for none."""
    takes_text: bool = False
    """True if the argument may have several lines."""

    @property
    def name(self) -> str:
        return self.usage.split(maxsplit=1)[0]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    @property
    def slash_name(self) -> str:
        """The name with a slash instead of a hash, as in other tools; empty for a slash command."""
        return f"/{self.name[1:]}" if self.name[0] == "#" else ""

    @property
    def takes_several(self) -> bool:
        return "…" in self.usage

    @property
    def takes_argument(self) -> bool:
        return self.usage != self.name


class CommandGroup(Struct):
    """Commands under one title of the help."""

    title: str
    commands: list[Command] = []

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

    def action(
        self,
        usage: str,
        summary: str,
        run: Callable[[CommandHost], Awaitable[None] | None],
        *,
        aliases: tuple[str, ...] = (),
        while_running: bool = True,
    ) -> None:
        """Add a command that takes no argument."""

        async def handler(host: CommandHost, argument: str) -> None:
            del argument
            waiting = run(host)
            if waiting is not None:
                await waiting

        self.commands.append(Command(usage, summary, handler, aliases, while_running))


class Invocation(Struct, frozen=True):
    command: Command
    argument: str


class UnknownCommand(Struct, frozen=True):
    """Input that was probably meant as a command."""

    word: str
    suggestions: tuple[str, ...]
    """Complete inputs, the harmless ones first; may be empty."""
    reason: str
    is_safe: bool = True
    """True if the first suggestion is harmless."""


class Declined(CinchError):
    """Raised by a command of another package to run the command of cinch that it hides instead."""


class Registry:
    """Commands of cinch, and of other packages (`extensions`), which hide those of the same name."""

    def __init__(self, groups: Iterable[CommandGroup], extensions: Iterable[CommandGroup] = ()) -> None:
        own, foreign = tuple(groups), tuple(extensions)
        self.groups = (*foreign, *own)
        self._own = _by_name(own)
        # The first of two extensions with the same name counts: neither may keep cinch from starting.
        extra = [command for group in foreign for command in group.commands]
        self._by_name = _with_slash_names(self._own | {name: each for each in reversed(extra) for name in each.names})

    def replace_group(self, group: CommandGroup) -> None:
        """Add a group whose commands come and go, in place of the one with its title; existing names are kept."""
        former = next((each for each in self.groups if each.title == group.title), None)
        for command in former.commands if former else ():
            if self.find(command.name) is command:
                del self._by_name[command.name.lower()]
        new = {each.name.lower(): each for each in reversed(group.commands)}
        self._by_name = new | self._by_name
        others = tuple(each for each in self.groups if each is not former)
        self.groups = (*others, group) if group.commands else others

    @property
    def commands(self) -> tuple[Command, ...]:
        """Commands that are not hidden by others."""
        named = (command for group in self.groups for command in group.commands)
        return tuple(command for command in named if self.find(command.name) is command)

    @property
    def named(self) -> Iterator[tuple[str, Command]]:
        """Every name with the command it runs; the twin of a name follows its other names."""
        for command in self.commands:
            for name in (*command.names, command.slash_name):
                if self.find(name) is command:
                    yield name, command

    def find(self, name: str) -> Command | None:
        return self._by_name.get(name.lower())

    def parse(self, text: str) -> Invocation | UnknownCommand | None:
        """Return the command in `text`; None if it is a prompt."""
        line = text.strip()
        word, *rest = line.split(maxsplit=1) or [""]
        if len(word) < 2 or word[0] not in SIGILS:
            return None
        argument = rest[0] if rest else ""
        command = self.find(word)
        if "\n" in line and not (command and command.takes_text):
            return None
        if command is None:
            return self._unknown(word, argument)
        if argument and not command.takes_argument:
            is_safe = command.name not in DESTRUCTIVE
            return UnknownCommand(word, (command.name,), f"{command.name} takes no argument", is_safe)
        return Invocation(command, argument)

    def literal(self, text: str) -> str:
        r"""Return the prompt that `text` escapes: `//plan` and `\#clear` send `/plan` and `#clear`."""
        escaped = text.lstrip()
        if escaped[:2] in {"//", "\\/", "\\#"} and self.parse(escaped[1:]) is not None:
            return escaped[1:]
        return text

    async def run(self, invocation: Invocation, host: CommandHost) -> bool:
        """Run a command; report errors as notices.

        Return False if it was not started, so that the input should go back to the prompt.
        """
        command = invocation.command
        if host.session.is_running and not command.while_running:
            host.notice(unavailable_while_running(command.name, host), "warning")
            return False
        if not invocation.argument and "<" in command.usage:
            host.notice(f"{command.name} needs an argument: {command.usage}", "warning")
            return False
        try:
            await command.handler(host, invocation.argument)
        except Declined as declined:
            hidden = self._own.get(command.name)
            if hidden is None or hidden is command:
                host.notice(str(declined) or f"invalid argument for {command.name}", "warning")
                return False
            return await self.run(Invocation(hidden, invocation.argument), host)
        except CinchError as error:
            # A command typed while cinch is starting runs once the agent exists.
            if await host.session.until_ready():
                return await self.run(invocation, host)
            host.notice(str(error), "error")
        return True

    def _unknown(self, word: str, argument: str) -> UnknownCommand | None:
        bare = word[1:].lower()
        # A second slash makes a path, a second sigil an escape or a heading.
        if any(sigil in bare for sigil in SIGILS):
            return None
        suggestions = self._nearest(bare, cutoff=0.8 if argument else 0.66)
        if argument and not suggestions:
            return None
        is_safe = not suggestions or suggestions[0] not in DESTRUCTIVE
        inputs = tuple(self._with_argument(name, argument) for name in suggestions)
        return UnknownCommand(word, inputs, f"there is no command {word}", is_safe)

    def _with_argument(self, name: str, argument: str) -> str:
        return f"{name} {argument}" if argument and self._by_name[name].takes_argument else name

    def _nearest(self, bare: str, *, cutoff: float) -> tuple[str, ...]:
        by_bare: dict[str, list[str]] = {}
        for name, command in self._by_name.items():
            by_bare.setdefault(name[1:], []).append(command.name)
        near = nearest_names(bare, by_bare, count=3, cutoff=cutoff)
        names = dict.fromkeys(name for match in near for name in by_bare[match])
        return tuple(sorted(names, key=lambda name: name in DESTRUCTIVE))


def unavailable_while_running(name: str, host: CommandHost) -> str:
    """Return why a command cannot run now."""
    return f"{name} is not available while the agent is running" + (
        f"; {host.stop_key} stops it" if host.stop_key else ""
    )


def _with_slash_names(by_name: dict[str, Command]) -> dict[str, Command]:
    """Add `/name` for every `#name`, unless that is another command."""
    return {command.slash_name: command for command in by_name.values() if command.slash_name} | by_name


def _by_name(groups: Iterable[CommandGroup]) -> dict[str, Command]:
    found: dict[str, Command] = {}
    for command in (command for group in groups for command in group.commands):
        for name in command.names:
            if name in found:
                raise ValueError(f"two commands have the name {name}")
            found[name] = command
    return found
