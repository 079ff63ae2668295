"""Commands that choose the model and configure it."""

from __future__ import annotations

import asyncio

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.keys import provider_choices
from cinch_tui.commands.registry import Choice, CommandGroup
from cinch_tui.fuzzy_match import did_you_mean
from harness.errors import CinchError
from harness.thinking_level import THINKING_LEVELS, ThinkingLevel

MODEL = CommandGroup("Model")

_LEVELS: dict[str, ThinkingLevel] = {level: level for level in THINKING_LEVELS}


def model_choices(host: CommandHost) -> tuple[Choice, ...]:
    """Return the models that providers have listed, then a default model of each provider."""
    from cinch_tui.reports.summaries import model_names

    return tuple(Choice(name) for name in dict.fromkeys([*host.listed_models(), *model_names()]))


@MODEL.command("/model [name]", "choose the model", arguments=model_choices)
async def model(host: CommandHost, argument: str) -> None:
    name = argument or await host.pick_model()
    if name:
        await set_model(host, name)


async def set_model(host: CommandHost, name: str) -> None:
    """Connect to a model and use it from the next reply on.

    Raises:
        CinchError: There is no such model, or no key for it.
    """
    agent = host.session.agent
    model = await asyncio.to_thread(host.session.assembly.connect, name, agent.state.model.spec.thinking)
    agent.set_model(model)
    host.notice(f"The model is {model.spec.name} from the next reply on.")


@MODEL.command("/retry", "ask the model again, without waiting")
async def retry(host: CommandHost, argument: str) -> None:
    del argument
    if host.session.agent.retry_now():
        return
    if host.session.is_running:
        raise CinchError("the model is at work: there is no wait to cut short")
    host.continue_run()


def _thinking(host: CommandHost) -> ThinkingLevel:
    from cinch_tui.reports.summaries import thinking_in_effect

    return thinking_in_effect(host.session.agent)


def _thinking_choices(host: CommandHost) -> tuple[Choice, ...]:
    current = _thinking(host)
    levels = (Choice(level, "now" if level == current else "") for level in THINKING_LEVELS)
    shown = Choice("hide", "show thoughts no more") if host.shows_thinking else Choice("show", "show thoughts")
    return (*levels, shown)


@MODEL.command(
    "/thinking [level|show|hide]", "how hard the model thinks; thoughts shown or not", arguments=_thinking_choices
)
async def thinking(host: CommandHost, argument: str) -> None:
    if not argument:
        choices = [(choice.value, choice.description) for choice in _thinking_choices(host)]
        argument = await host.pick("How hard does the model think?", choices, _thinking(host)) or ""
    if argument in ("show", "hide"):
        host.show_thinking(shown=argument == "show")
        host.notice(f"thoughts are {'shown' if argument == 'show' else 'not shown'} from now on")
    elif argument:
        _set_thinking(host, argument)


def _set_thinking(host: CommandHost, argument: str) -> None:
    level = _LEVELS.get(argument.lower())
    if level is None:
        hint = did_you_mean(argument.lower(), THINKING_LEVELS, otherwise=f"; try one of {', '.join(THINKING_LEVELS)}")
        host.notice(f"there is no thinking level {argument!r}{hint}", "warning")
        return
    agent = host.session.agent
    if agent.state.model.heeds_thinking(level, with_tools=bool(agent.state.tools)):
        agent.set_thinking(level)
        host.notice(f"thinking is {level} from the next request on")
    else:
        host.notice(f"{level} has no effect: this model takes no thinking level here", "warning")


@MODEL.command("/doctor [provider]…", "ask the services: what works, what to do", arguments=provider_choices)
async def doctor(host: CommandHost, argument: str) -> None:
    from cinch_tui.doctor.report import report_block
    from cinch_tui.models.last_choice import ModelChoice

    options, spec = host.session.options, host.session.agent.state.model.spec
    host.show_progress("asking services…")
    try:
        text = await report_block(argument.split(), options.paths, options.cwd, ModelChoice(spec.name, spec.base_url))
    finally:
        host.show_progress("")
    host.show("Doctor", text)


@MODEL.command("/system [prompt]", "show or replace the system prompt", while_running=False)
async def system(host: CommandHost, argument: str) -> None:
    agent = host.session.agent
    if not argument:
        host.show("System prompt", agent.state.system_prompt)
        return
    agent.set_system_prompt(argument)
    host.notice("the system prompt is replaced for this session")
