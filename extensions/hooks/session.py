"""Hooks of an agent's sessions: their start and end, notifications, and information that waits for the model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Literal, TypeAlias

from extensions.hooks.config import HookEvent
from extensions.hooks.dispatch import HookDispatcher, context_text
from harness.approval.claude_tools import claude_name
from harness.concurrency import cancel_tasks
from harness.events import (
    AgentEnd,
    AgentStart,
    CompactionEnd,
    Event,
    QuestionAsked,
    SubagentEvent,
    ToolApprovalRequested,
)
from harness.messages import JsonObject, UserMessage, synthetic

SessionSource: TypeAlias = Literal["startup", "resume", "clear", "compact", "fork"]
EndReason: TypeAlias = Literal["clear", "resume", "prompt_input_exit", "other"]
IDLE_S = 60.0
"""Seconds after a run until the user is reminded that it has ended."""


class HookSession:
    """Runs hooks around the sessions of an agent; subscribe `receive` to its events.

    Args:
        dispatcher: Runs the hooks.
        prompt_text: Returns what the user typed of a message.
        has_user: False in print mode, which notifies no user.
    """

    def __init__(
        self, dispatcher: HookDispatcher, prompt_text: Callable[[UserMessage], str], *, has_user: bool
    ) -> None:
        self.dispatcher = dispatcher
        self.prompt_text = prompt_text
        self.tasks = set[str]()
        """Ids of messages that are tasks of subagents."""
        self._has_user = has_user
        self._turns = 0
        self._contexts: list[str] = []
        self._source: SessionSource | None = None
        self._starting: asyncio.Task[None] | None = None
        self._work = set[asyncio.Task[None]]()
        self._idle: asyncio.TimerHandle | None = None

    def begin(self, source: SessionSource) -> None:
        """Note that a session begins; its hooks run with `start`, at the latest before the next prompt."""
        self._source = source
        self._contexts.clear()

    def start(self) -> None:
        """Run the SessionStart hooks that have not run yet, without waiting for them."""
        source, self._source = self._source, None
        if source is not None and self.dispatcher.listens("SessionStart"):
            self._starting = self._spawn(self._start(source, after=self._starting))

    async def wait_started(self) -> None:
        """Run the SessionStart hooks if they have not run, and wait for them. A cancellation ends them."""
        self.start()
        starting = self._starting
        if starting is None:
            return
        try:
            await asyncio.wait([starting])
        finally:
            if not starting.done():
                await cancel_tasks([starting])
            self._starting = None

    def add_context(self, event: HookEvent, text: str) -> None:
        """Keep information of hooks for the model until `deliver`."""
        if text:
            self._contexts.append(context_text(event, text))

    def deliver(self) -> None:
        """Give the model what hooks have added to the context since the last time."""
        for text in self._contexts:
            self.dispatcher.agent.inbox.news.put(synthetic(text))
        self._contexts.clear()

    async def count_turn(self) -> None:
        """Count a turn, and run the TurnsElapsed hooks that are due."""
        self._turns += 1
        reply = await self.dispatcher.elapse(self._turns)
        self.add_context("TurnsElapsed", "\n".join(filter(None, (reply.reason, reply.context))))

    def end(self, reason: EndReason) -> None:
        """Run the SessionEnd hooks of the current session, without waiting for them."""
        if self.dispatcher.listens("SessionEnd"):
            self._spawn(self._end(reason))

    async def close(self, reason: EndReason) -> None:
        """Stop hooks that run, and run the SessionEnd hooks to their end."""
        await self.stop()
        await self._end(reason)
        await self.dispatcher.close()

    async def stop(self) -> None:
        """Stop all hooks that run."""
        if self._idle is not None:
            self._idle.cancel()
        await cancel_tasks(tuple(self._work))
        await self.dispatcher.close()

    def receive(self, event: Event) -> None:
        """Run the hooks of events of the agent."""
        inner = event
        while isinstance(inner, SubagentEvent):
            inner = inner.event
        match inner:
            case CompactionEnd(error="") if inner is event:
                self._source = "compact"
            case ToolApprovalRequested(call=call):
                self._notify("permission_prompt", f"cinch needs your permission to use {claude_name(call.name)}")
            case QuestionAsked(question=question):
                self._notify("elicitation_dialog", f"cinch has a question: {question.prompt}")
            case AgentStart() if self._idle is not None and inner is event:
                self._idle.cancel()
            case AgentEnd() if inner is event and self._has_user and self.dispatcher.listens("Notification"):
                loop, text = asyncio.get_running_loop(), "cinch is waiting for your input"
                self._idle = loop.call_later(IDLE_S, lambda: self._notify("idle_prompt", text))
            case _:
                pass

    def _notify(self, kind: str, message: str) -> None:
        if self._has_user and self.dispatcher.listens("Notification"):
            fields: JsonObject = {"message": message, "title": "cinch", "notification_type": kind}
            self._spawn(self._run("Notification", kind, fields))

    async def _run(self, event: HookEvent, kind: str, fields: JsonObject) -> None:
        await self.dispatcher.dispatch(event, kind, fields)

    async def _start(self, source: SessionSource, after: asyncio.Task[None] | None) -> None:
        if after is not None:
            await asyncio.wait([after])
        fields: JsonObject = {"source": source, "model": self.dispatcher.agent.state.model.spec.name}
        reply = await self.dispatcher.dispatch("SessionStart", source, fields)
        self.add_context("SessionStart", reply.context)

    def _end(self, reason: EndReason) -> Coroutine[object, object, None]:
        """Return the run of the SessionEnd hooks, which are about the session of this moment."""
        return self._run("SessionEnd", reason, {**self.dispatcher.payload("SessionEnd", {}), "reason": reason})

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task
