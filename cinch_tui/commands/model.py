"""Commands that choose the model and how it works."""

from __future__ import annotations

import difflib

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from harness.thinking_level import THINKING_LEVELS, ThinkingLevel

MODEL = CommandGroup("Model")

_LEVELS: dict[str, ThinkingLevel] = {level: level for level in THINKING_LEVELS}


def _model_choices(front: CommandHost) -> tuple[Choice, ...]:
    return tuple(Choice(name) for name in front.model_names())


@MODEL.command("/model [name]", "choose the model", arguments=_model_choices)
async def model(front: CommandHost, argument: str) -> None:
    if argument:
        await front.set_model(argument)
    else:
        await front.choose_model()


@MODEL.command("/retry", "ask the model again, without waiting")
async def retry(front: CommandHost, argument: str) -> None:
    del argument
    front.ask_again()


def _thinking_choices(front: CommandHost) -> tuple[Choice, ...]:
    levels = (Choice(level, "now" if level == front.thinking else "") for level in THINKING_LEVELS)
    shown = Choice("hide", "show thoughts no more") if front.shows_thinking else Choice("show", "show thoughts")
    return (*levels, shown)


@MODEL.command(
    "/thinking [level|show|hide]", "how hard the model thinks; thoughts shown or not", arguments=_thinking_choices
)
async def thinking(front: CommandHost, argument: str) -> None:
    if not argument:
        choices = [(choice.value, choice.description) for choice in _thinking_choices(front)]
        argument = await front.pick("How hard does the model think?", choices, front.thinking) or ""
    if argument in ("show", "hide"):
        front.show_thinking(shown=argument == "show")
        front.notice(f"thoughts are {'shown' if argument == 'show' else 'not shown'} from now on")
    elif argument:
        _set_thinking(front, argument)


def _set_thinking(front: CommandHost, argument: str) -> None:
    level = _LEVELS.get(argument.lower())
    if level is None:
        near = difflib.get_close_matches(argument.lower(), THINKING_LEVELS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"try one of {', '.join(THINKING_LEVELS)}"
        front.notice(f"there is no thinking level {argument!r}; {hint}", "warning")
        return
    if front.set_thinking(level):
        front.notice(f"thinking is {level} from the next request on")
    else:
        front.notice(f"{level} has no effect: this model takes no thinking level here", "warning")


def _provider_choices(front: CommandHost) -> tuple[Choice, ...]:
    return tuple(Choice(name) for name in front.provider_names())


@MODEL.command("/doctor [provider]…", "ask the services: what works, what to do", arguments=_provider_choices)
async def doctor(front: CommandHost, argument: str) -> None:
    front.show("Doctor", await front.examine(argument.split()))


@MODEL.command("/system [prompt]", "show or replace the system prompt", while_running=False)
async def system(front: CommandHost, argument: str) -> None:
    if not argument:
        front.show("System prompt", front.system_prompt)
        return
    front.set_system(argument)
    front.notice("the system prompt is replaced for this session")
