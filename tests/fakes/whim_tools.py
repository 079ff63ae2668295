"""Tools controlled by their arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from fakes.whim_model import ignored
from fakes.whims import Stage

from harness.errors import FileMissing, InvalidArguments
from harness.messages import Image, JsonObject
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Risk, RiskLevel
from harness.user_requests import Plan, Question
from harness.views import TextView, View


class WhimTool:
    """Tool that acts, and is as risky, as its arguments say. Requires the argument that names the action."""

    description = "Behaves as its arguments require."
    label = "Whim"

    def __init__(self, name: str, stage: Stage) -> None:
        self.name = name
        self.mutates = name == "poke"
        self.parameters: JsonObject = {"type": "object", "properties": {}, "required": ["do"]}
        self._stage = stage

    def validate(self, arguments: JsonObject) -> JsonObject:
        if "do" not in arguments:
            raise InvalidArguments(f"{self.name} requires an instruction")
        return arguments

    def summary(self, arguments: JsonObject) -> str:
        return str(arguments.get("do", ""))

    def risk(self, arguments: JsonObject) -> Risk:
        level: RiskLevel = arguments.get("risk", "read")
        paths = (arguments["path"],) if "path" in arguments else ()
        return Risk(level, paths=paths, cacheable=level == "read" and not paths)

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        return ToolOutput.failure("foreseen") if arguments["do"] == "foresee" else None

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        stage = self._stage
        stage.enter(context.call_id, self, arguments)
        try:
            return await DOINGS[str(arguments["do"])](stage, context)
        finally:
            stage.leave(context.call_id)


Doing = Callable[[Stage, ToolContext], Awaitable[ToolOutput]]


async def _answer(stage: Stage, context: ToolContext) -> ToolOutput:
    return ToolOutput.text(f"world {stage.world}")


async def _turn(stage: Stage, context: ToolContext) -> ToolOutput:
    await asyncio.sleep(0)
    return await _answer(stage, context)


async def _nap(stage: Stage, context: ToolContext) -> ToolOutput:
    """Sleep longer than the grace period of steering, shorter than that of a cancellation."""
    await asyncio.sleep(1)
    return await _answer(stage, context)


async def _blink(stage: Stage, context: ToolContext) -> ToolOutput:
    await asyncio.sleep(0.01)
    return await _answer(stage, context)


async def _raise(stage: Stage, context: ToolContext) -> ToolOutput:
    raise ZeroDivisionError("by zero")


async def _miss(stage: Stage, context: ToolContext) -> ToolOutput:
    raise FileMissing("a.py does not exist")


async def _hang(stage: Stage, context: ToolContext) -> ToolOutput:
    await asyncio.Event().wait()
    return await _answer(stage, context)


async def _ignore(stage: Stage, context: ToolContext) -> ToolOutput:
    while not stage.over.is_set():
        try:
            await stage.over.wait()
        except asyncio.CancelledError:
            continue
    context.update(TextView("too late"))
    return await _answer(stage, context)


async def _swallow(stage: Stage, context: ToolContext) -> ToolOutput:
    await ignored()
    return await _answer(stage, context)


async def _clean_up(stage: Stage, context: ToolContext) -> ToolOutput:
    try:
        return await _hang(stage, context)
    finally:
        await asyncio.sleep(1)


async def _stumble(stage: Stage, context: ToolContext) -> ToolOutput:
    raise asyncio.CancelledError


async def _enough(stage: Stage, context: ToolContext) -> ToolOutput:
    return ToolOutput((), terminate=True)


async def _flood(stage: Stage, context: ToolContext) -> ToolOutput:
    return ToolOutput.text("much\n" * 200)


async def _draw(stage: Stage, context: ToolContext) -> ToolOutput:
    return ToolOutput((Image("image/png", "aGk="),))


async def _babble(stage: Stage, context: ToolContext) -> ToolOutput:
    return None  # type: ignore[return-value]  a stranger's tool may well give nothing


async def _update(stage: Stage, context: ToolContext) -> ToolOutput:
    for word in ("one", "two"):
        context.update(TextView(word))
        await asyncio.sleep(0)
    return await _answer(stage, context)


async def _ask(stage: Stage, context: ToolContext) -> ToolOutput:
    return ToolOutput.text((await context.user.ask(Question("which?"))).status)


async def _plan(stage: Stage, context: ToolContext) -> ToolOutput:
    stage.replanned = True
    return ToolOutput.text(str((await context.propose_plan(Plan("first this"))).accepted))


async def _prompt(stage: Stage, context: ToolContext) -> ToolOutput:
    await stage.agent.prompt("never heard")
    return await _answer(stage, context)


def _deed(what: str) -> Doing:
    async def work(stage: Stage, context: ToolContext) -> ToolOutput:
        stage.do(what)
        return await _turn(stage, context)

    return work


DOINGS = {
    "answer": _answer,
    "foresee": _answer,
    "turn": _turn,
    "blink": _blink,
    "nap": _nap,
    "raise": _raise,
    "miss": _miss,
    "hang": _hang,
    "ignore": _ignore,
    "swallow": _swallow,
    "clean up": _clean_up,
    "stumble": _stumble,
    "enough": _enough,
    "flood": _flood,
    "draw": _draw,
    "babble": _babble,
    "update": _update,
    "ask": _ask,
    "plan": _plan,
    "prompt": _prompt,
    **{what: _deed(what) for what in ("abort", "steer", "follow", "model", "tools less", "tools more", "mode plan")},
}


if TYPE_CHECKING:
    _: type[Tool] = WhimTool
