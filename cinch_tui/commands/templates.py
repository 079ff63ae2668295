"""Skills and commands of files as commands: one for each, and `/skill`."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial
from typing import TYPE_CHECKING

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, Command, CommandGroup
from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.user_input import UserInput
from harness.errors import CinchError

if TYPE_CHECKING:
    from extensions.commands import FileCommand
    from extensions.skills import Skill

MAX_SUMMARY_CHARS = 120
ARGUMENTS = "[arguments]"
FILES = "Commands of files"
"""Title of the commands of files."""


def skill_commands(skills: Sequence[Skill]) -> CommandGroup:
    """Return the commands of the skills that users may start; none without skills."""
    group = CommandGroup("Skills")
    offered = {skill.name: skill for skill in skills if skill.for_user}
    if not offered:
        return group

    def choices(host: CommandHost) -> Sequence[Choice]:
        del host
        return [Choice(each.name, each.description[:MAX_SUMMARY_CHARS]) for each in offered.values()]

    async def run(host: CommandHost, text: str) -> None:
        name, _, arguments = text.partition(" ")
        if not name:
            await host.session.reload_folder()
            found = [each for each in host.session.assembly.folder.skills if each.for_user]
            host.show("Skills", "\n".join(f"- `/{each.name}` {each.description}" for each in found))
        elif name in offered:
            await _send(offered[name], f"/skill {name}", host, arguments.strip())
        else:
            raise CinchError(f"no skill is called {name!r}{did_you_mean(name, offered)}")

    command = Command("/skill [name arguments]", "list skills, or use one", run, arguments=choices, takes_text=True)
    group.commands += [command, *map(_command, offered.values())]
    return group


def file_commands(commands: Sequence[FileCommand], taken: Set[str] = frozenset()) -> CommandGroup:
    """Return the commands of files; those whose name is taken have the one with their scope.

    Args:
        commands: The commands.
        taken: Names of other commands, in lower case.
    """
    group = CommandGroup(FILES)
    for each in commands:
        is_hidden = f"/{each.name}".lower() in taken
        group.commands.append(_command(each, each.scoped_name if is_hidden else ""))
    return group


def _command(source: Skill | FileCommand, other_name: str = "") -> Command:
    name = f"/{other_name or source.name}"
    # An argument in angle brackets would be required; whether one is, the instructions decide.
    hint = source.hint.translate({ord("<"): "[", ord(">"): "]", ord("…"): "..."}) or ARGUMENTS
    hint = hint if hint.startswith("[") else f"[{hint}]"
    summary = source.description[:MAX_SUMMARY_CHARS]
    return Command(f"{name} {hint}", summary, partial(_send, source, name), takes_text=True)


async def _send(source: Skill | FileCommand, name: str, host: CommandHost, arguments: str) -> None:
    # Not before the first paint.
    from cinch_tui.template_use import TemplateUse

    host.session.check_writable()
    line = f"{name} {arguments}".strip()
    host.send(UserInput(line, use=TemplateUse(host.session.assembly, source, line, arguments)))
