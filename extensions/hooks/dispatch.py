"""Dispatch of events: the hooks of an event run in parallel, and their replies count as one."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from extensions.hooks.config import TOOL_EVENTS, HookEvent, HookHandler
from extensions.hooks.matching import applies, distinct, matches, names_of
from extensions.hooks.replies import HookOutput, HookReply, merged, read_reply
from extensions.hooks.running import HookExecutor, HookPlace
from extensions.hooks.samples import sample_call, sample_fields, sample_kind
from extensions.hooks.tool_calls import claude_call
from harness.agent.agent import Agent
from harness.approval.assessment import validated
from harness.approval.modes import PLAN, ApprovalMode
from harness.concurrency import cancel_tasks
from harness.errors import InvalidArguments
from harness.messages import JsonObject, ToolCall, synthetic
from harness.risk import Risk

logger = logging.getLogger(__name__)

_MODES: dict[ApprovalMode, str] = {"off": "bypassPermissions", "edits": "acceptEdits"}
SLOW_S = 3.0
MOST_CONTINUATIONS = 8
CONTINUATIONS = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
"""Environment variable with another number of continuations."""
_SHOWN_TARGET = 60


class HookCall(Struct, frozen=True):
    """A tool call, as hooks see it."""

    name: str
    """Name of the tool in Claude Code."""
    given: JsonObject
    """Arguments, as Claude Code names them."""
    arguments: JsonObject
    """Validated arguments."""
    names: frozenset[str]
    """Names that matchers may use."""
    risk: Risk | None
    """Risk assessment; None for invalid arguments, and for a tool that is offered in this run only."""


class HookTrial(Struct, frozen=True):
    """Run of a hook with a sample event."""

    handler: HookHandler
    """The hook."""
    output: HookOutput
    """Its output."""
    reply: HookReply
    """Its decision."""


class HookDispatcher:
    """Runs the hooks of an agent.

    Args:
        agent: The agent.
        handlers: Its hooks.
        place: Where they run.
        transcript: Returns the path of the session file; empty if it is not saved.
    """

    def __init__(
        self, agent: Agent, handlers: Sequence[HookHandler], place: HookPlace, transcript: Callable[[], str]
    ) -> None:
        self.agent = agent
        self.slow_s = SLOW_S
        """Seconds until the notice that a hook still runs."""
        self._handlers = tuple(handlers)
        self._place = place
        self._transcript = transcript
        self._executor = HookExecutor(place)
        self._background: set[asyncio.Task[HookReply]] = set()

    @property
    def cwd(self) -> Path:
        """Folder that the agent works in."""
        return self._place.cwd

    @property
    def most_continuations(self) -> int:
        """Number of times in a row that Stop hooks continue a run."""
        text = self._place.environment.get(CONTINUATIONS, "")
        return int(text) if text.isdecimal() and len(text) < 10 else MOST_CONTINUATIONS

    def listens(self, *events: HookEvent, tool: str = "") -> bool:
        """Return True if there are hooks of one of the events, and for calls of a tool if one is named."""
        return any(each.event in events and (not tool or matches(each, names_of(tool))) for each in self._handlers)

    def call_of(self, call: ToolCall) -> HookCall:
        """Return a call as hooks see it: with the arguments as they count, however the model has spelled them."""
        tool = next((each for each in self.agent.state.known_tools if each.name == call.name), None)
        arguments, risk = call.arguments, None
        if tool is not None:
            try:
                arguments = validated(tool, arguments)
                risk = tool.risk(arguments)
            except InvalidArguments:
                logger.debug("hooks see the arguments of %s as the model sent them", call.name)
        name, given = claude_call(call.name, arguments, self._place.cwd, risk)
        names = names_of(call.name) | (names_of(risk.rule_name) if risk and risk.rule_name else frozenset[str]())
        return HookCall(name, given, arguments, names, risk)

    async def dispatch_call(self, event: HookEvent, call: ToolCall, seen: HookCall, fields: JsonObject) -> HookReply:
        """Run the hooks of an event that is about a call, and return their decision.

        Args:
            event: The event.
            call: The call.
            seen: The call as hooks see it.
            fields: Further fields of the event.
        """
        found = self._conditional(self._matching(event, seen.names), call.name, seen)
        about: JsonObject = {"tool_name": seen.name, "tool_input": seen.given, "tool_use_id": call.id}
        return await self._run(event, found, {**about, **fields})

    async def dispatch(self, event: HookEvent, kind: str, fields: JsonObject) -> HookReply:
        """Run the hooks of an event that is not about a call, and return their decision.

        Args:
            event: The event.
            kind: What matchers are compared with; empty if the event has no kinds.
            fields: Its fields.
        """
        found = [each for each in self._matching(event, (kind,)) if not each.condition]
        return await self._run(event, found, fields)

    async def elapse(self, turns: int) -> HookReply:
        """Run the TurnsElapsed hooks that are due after this number of turns, and return their decision."""
        found = [each for each in self._matching("TurnsElapsed", ()) if turns % each.turns == 0]
        return await self._run("TurnsElapsed", found, {"turns": turns})

    def payload(self, event: HookEvent, fields: JsonObject) -> JsonObject:
        """Return the JSON that hooks of an event receive."""
        permissions = self.agent.state.permissions
        mode = "plan" if permissions.mode is PLAN else _MODES.get(permissions.approval, "default")
        return {
            "session_id": self.agent.session_id,
            "transcript_path": self._transcript(),
            "cwd": str(self._place.cwd),
            "permission_mode": mode,
            "hook_event_name": event,
            **fields,
        }

    async def test(self, event: HookEvent, tool: str = "") -> list[HookTrial]:
        """Run the hooks of a sample event in parallel, those in the background too, and return what they decide.

        Args:
            event: The event.
            tool: For an event about a call, name of the tool; empty for a command.
        """
        if event in TOOL_EVENTS:
            own, arguments = sample_call(tool)
            seen = self.call_of(ToolCall("sample", own, arguments))
            fields: JsonObject = {"tool_name": seen.name, "tool_input": seen.given, "tool_use_id": "sample"}
            fields |= {"tool_response": ""} if event == "PostToolUse" else {}
            fields |= {"error": "Exit code 1", "is_interrupt": False} if event == "PostToolUseFailure" else {}
            found = self._conditional(self._matching(event, seen.names), own, seen)
        else:
            fields = sample_fields(event)
            found = [each for each in self._matching(event, (sample_kind(fields),)) if not each.condition]
        payload = json.dumps(self.payload(event, fields)).encode()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._executor.run(each, payload)) for each in found]
        outputs = [task.result() for task in tasks]
        return [HookTrial(*each, read_reply(event, each[1])) for each in zip(found, outputs, strict=True)]

    async def close(self) -> None:
        """Stop hooks in the background and close connections."""
        await cancel_tasks(tuple(self._background))
        await self._executor.close()

    def _matching(self, event: HookEvent, names: Collection[str]) -> Iterable[HookHandler]:
        return distinct(each for each in self._handlers if each.event == event and matches(each, names))

    def _conditional(self, handlers: Iterable[HookHandler], tool: str, seen: HookCall) -> list[HookHandler]:
        """Return the hooks whose conditions a call matches."""
        return [each for each in handlers if applies(each, tool, seen.risk, str(self._place.cwd))]

    async def _run(self, event: HookEvent, handlers: Sequence[HookHandler], fields: JsonObject) -> HookReply:
        if not handlers:
            return HookReply()
        payload = json.dumps(self.payload(event, fields)).encode()
        for each in handlers:
            if each.in_background:
                self._keep(asyncio.create_task(self._reply(each, payload)), each)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._waited(each, payload)) for each in handlers if not each.in_background]
        return merged([each.result() for each in tasks])

    async def _waited(self, handler: HookHandler, payload: bytes) -> HookReply:
        """Return the reply of a hook; an empty one if it continues in the background."""
        detached = asyncio.Event()
        running = asyncio.create_task(self._reply(handler, payload, detached.set))
        waiting = asyncio.create_task(detached.wait())
        try:
            await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
            if detached.is_set():
                self._keep(running, handler)
                return HookReply()
            return running.result()
        finally:
            waiting.cancel()
            if running not in self._background:
                await cancel_tasks([running])

    def _keep(self, task: asyncio.Task[HookReply], handler: HookHandler) -> None:
        """Let a hook continue in the background, and give the model what it replies."""

        def ended(task: asyncio.Task[HookReply]) -> None:
            self._background.discard(task)
            if not task.cancelled():
                self._deliver(handler, task.result())

        self._background.add(task)
        task.add_done_callback(ended)

    async def _reply(
        self, handler: HookHandler, payload: bytes, on_detach: Callable[[], None] = lambda: None
    ) -> HookReply:
        reply = read_reply(handler.event, await self._output(handler, payload, on_detach))
        if reply.problem:
            self.agent.notify(f"{shown_name(handler)}: {reply.problem}. It decided nothing.", "warning")
        if reply.message:
            self.agent.notify(reply.message, "warning")
        return reply

    async def _output(self, handler: HookHandler, payload: bytes, on_detach: Callable[[], None]) -> HookOutput:
        """Run a hook, with a notice if that takes long."""
        if handler.in_background:
            return await self._executor.run(handler, payload)
        notice = f"{shown_name(handler)} is still running."
        timer = asyncio.get_running_loop().call_later(self.slow_s, self.agent.notify, notice)

        def detach() -> None:
            timer.cancel()
            on_detach()

        try:
            return await self._executor.run(handler, payload, detach)
        finally:
            timer.cancel()

    def _deliver(self, handler: HookHandler, reply: HookReply) -> None:
        text = reply.context or (reply.reason if handler.wakes and reply.blocks else "")
        if text:
            self.agent.inbox.news.put(synthetic(context_text(handler.event, text)))


def shown_name(handler: HookHandler) -> str:
    """Return a short name of a hook for users."""
    target = " ".join(handler.target.split())
    shown = target if len(target) <= _SHOWN_TARGET else f"{target[:_SHOWN_TARGET]}…"
    return f"{handler.event} hook {shown}"


def context_text(event: HookEvent, text: str) -> str:
    """Return information of hooks as the model receives it."""
    return f"[{event} hook]\n{text}"
