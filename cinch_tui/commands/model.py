"""Commands that choose and configure the model, ask side questions, and ask several models at once."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress

from cinch_tui.commands.host import CommandHost, full_screen
from cinch_tui.commands.keys import provider_choices
from cinch_tui.commands.registry import Choice, CommandGroup, unavailable_while_running
from cinch_tui.fuzzy_match import did_you_mean
from harness.errors import CinchError
from harness.thinking_level import THINKING_LEVELS, ThinkingLevel

MODEL = CommandGroup("Model")
SIDE_QUESTIONS = CommandGroup("Side questions")
PARALLEL = CommandGroup("Parallel answers")

ENDING_S = 0.5
"""Seconds that `/retry` waits for the end of a run, whose error is shown a moment before it."""
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


async def _retry(host: CommandHost) -> None:
    if host.session.agent.retry_now():
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(ENDING_S):
            await host.session.agent.wait_until_idle()
    if host.session.is_running:
        raise CinchError("the model is already working; no retry is pending")
    host.continue_run()


MODEL.action("/retry", "retry the last request now", _retry)


def _thinking(host: CommandHost) -> ThinkingLevel:
    from cinch_tui.reports.summaries import thinking_in_effect

    return thinking_in_effect(host.session.agent)


def _thinking_choices(host: CommandHost) -> tuple[Choice, ...]:
    current = _thinking(host)
    levels = (Choice(level, "now" if level == current else "") for level in THINKING_LEVELS)
    shown = (
        Choice("hide", "hide the model's thinking")
        if host.shows_thinking
        else Choice("show", "show the model's thinking")
    )
    return (*levels, shown)


@MODEL.command(
    "/thinking [level|show|hide]", "set the thinking level; show or hide thinking", arguments=_thinking_choices
)
async def thinking(host: CommandHost, argument: str) -> None:
    if not argument:
        choices = [(choice.value, choice.description) for choice in _thinking_choices(host)]
        argument = await host.pick("Thinking level", choices, _thinking(host)) or ""
    if argument in ("show", "hide"):
        host.show_thinking(shown=argument == "show")
        host.notice(f"thinking is {'shown' if argument == 'show' else 'hidden'}")
    elif argument:
        _set_thinking(host, argument)


def _set_thinking(host: CommandHost, argument: str) -> None:
    level = _LEVELS.get(argument.lower())
    if level is None:
        hint = did_you_mean(argument.lower(), THINKING_LEVELS, otherwise=f"; try one of {', '.join(THINKING_LEVELS)}")
        host.notice(f"there is no thinking level {argument!r}{hint}", "warning")
        return
    agent = host.session.agent
    if agent.state.model.supports_thinking(level, with_tools=bool(agent.state.tools)):
        agent.set_thinking(level)
        host.notice(f"thinking is {level} from the next request on")
    else:
        host.notice(f"{level} has no effect: this model does not support it", "warning")


@MODEL.command("/doctor [provider]…", "check configuration, connections and keys", arguments=provider_choices)
async def doctor(host: CommandHost, argument: str) -> None:
    from cinch_tui.doctor.checks import report_block
    from cinch_tui.models.connecting import ModelChoice

    options, spec = host.session.options, host.session.agent.state.model.spec
    host.show_progress("asking services…")
    try:
        text = await report_block(argument.split(), options, ModelChoice(spec.name, spec.base_url))
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


@SIDE_QUESTIONS.command(
    "/btw <question>",
    "ask a side question; it is not added to the conversation",
    arguments=lambda _: (Choice("off", "stop the answer to a side question"),),
)
async def btw(host: CommandHost, argument: str) -> None:
    if argument != "off":
        await host.answer_side_question(argument)
    elif not host.side_questions.stop():
        host.notice("no side question is being answered", "warning")


_DASHES = re.compile(r"(?:^|\s)--(?:\s+|$)")


def _parallel_choices(host: CommandHost) -> tuple[Choice, ...]:
    verbs = (Choice("pick", "choose an answer"), Choice("off", "the next prompt goes to the session's model"))
    return (*model_choices(host), *verbs)


@PARALLEL.command(
    "/parallel <model>… [-- prompt]",
    "send a prompt to several models and continue with one of the answers",
    arguments=_parallel_choices,
)
async def parallel(host: CommandHost, argument: str) -> None:
    named, *prompt = _DASHES.split(argument, maxsplit=1)
    match named.split():
        case ["pick"]:
            full_screen(host, "there are no answers to choose from").pick_answer()
        case _ if host.session.is_running:
            host.notice(unavailable_while_running("/parallel", host), "warning")
        case ["off"]:
            if host.full_screen is not None:
                host.full_screen.ask_one()
            host.notice(f"The next prompt goes to {host.session.agent.state.model.spec.name}.")
        case models:
            screen = full_screen(host, "/parallel needs the full-screen app; start cinch without --plain")
            await screen.ask_several(models, " ".join(prompt).strip())
