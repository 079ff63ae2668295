"""Skills as commands: `/skill`, and one command for each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, Command, CommandGroup
from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.user_input import UserInput
from harness.errors import CinchError, NotAFile

if TYPE_CHECKING:
    from extensions.skills import Skill

MAX_SUMMARY_CHARS = 120


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
            host.show("Skills", "\n".join(f"- `/{each.name}` {each.description}" for each in offered.values()))
        elif name in offered:
            await _send(offered[name], host, arguments.strip())
        else:
            raise CinchError(f"no skill is called {name!r}{did_you_mean(name, offered)}")

    group.commands.append(Command("/skill [name arguments]", "list skills, or use one", run, arguments=choices))
    for skill in offered.values():
        summary = skill.description[:MAX_SUMMARY_CHARS]
        group.commands.append(Command(f"/{skill.name} [arguments]", summary, partial(_send, skill)))
    return group


async def _send(skill: Skill, host: CommandHost, arguments: str) -> None:
    from extensions.skill_tool import skill_text

    host.session.check_writable()
    try:
        text = await asyncio.to_thread(skill_text, skill.path, arguments)
    except (NotAFile, OSError, UnicodeDecodeError) as error:
        raise CinchError(f"the skill {skill.name} cannot be read: {error}") from error
    host.send(UserInput(text, is_literal=True))
