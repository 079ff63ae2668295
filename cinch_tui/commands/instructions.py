"""Commands about the instructions of the model: output styles, and writing AGENTS.md."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.user_input import UserInput
from harness.errors import CinchError

if TYPE_CHECKING:
    from extensions.output_styles import LoadedStyles

INSTRUCTIONS = CommandGroup("Instructions")
_SETTING = "extensions.output_style"


def _choices(host: CommandHost) -> Sequence[Choice]:
    from extensions.output_styles import DEFAULT  # not before the first paint

    styles = host.session.assembly.folder.styles.styles
    return [Choice(DEFAULT, "no output style"), *(Choice(each.name, each.description) for each in styles)]


@INSTRUCTIONS.command(
    "/output-style [name]", "choose how the model writes its replies", while_running=False, arguments=_choices
)
async def output_style(host: CommandHost, argument: str) -> None:
    from cinch_tui.config.edit import set_in_file
    from extensions.output_styles import DEFAULT
    from harness.instructions.loading import style_of

    session = host.session
    if session.options.system:
        raise CinchError("--system replaces the system prompt, and output styles with it")
    current = style_of(session.agent.state.system_prompt) or DEFAULT
    choices = [(each.value, each.description) for each in _choices(host)]
    name = argument or await host.pick("Output style", choices, current)
    if not name:
        return
    chosen = _name(session.assembly.folder.styles, name)
    await session.use_output_style(chosen)
    path = session.options.sources.user_file
    await asyncio.to_thread(set_in_file, path, _SETTING, chosen)
    host.notice(
        f"The output style is {chosen or DEFAULT} from the next reply on ({path}). The system prompt has changed, so "
        "the next request cannot use the provider's cache."
    )


def _name(styles: LoadedStyles, name: str) -> str:
    """Return the name of a style as it is written in the settings.

    Raises:
        CinchError: There is no such style.
    """
    from extensions.output_styles import DEFAULT

    style = styles.find(name)
    if style is not None:
        return style.name
    if name.lower() == DEFAULT:
        return ""
    hint = did_you_mean(name, [each.name for each in styles.styles])
    raise CinchError(f"no output style is called {name!r}{hint}")


@INSTRUCTIONS.command("/init [notes]", "let the model write or improve AGENTS.md for this project", while_running=False)
async def init(host: CommandHost, argument: str) -> None:
    from cinch_tui.project_survey import survey
    from harness.instructions.prompts import prompt_text

    host.session.check_writable()
    host.show_progress("Looking at the project")
    try:
        facts = await survey(host.session.assembly.workspace, host.session.options.paths.symbol_cache)
    finally:
        host.show_progress("")
    notes = f"\n\n# Notes of the user\n\n{argument}" if argument else ""
    host.send(UserInput(f"{prompt_text('init')}\n\n{facts}{notes}", is_literal=True))
