"""User hooks as hooks of an agent: around its calls, turns and compactions, and before its prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from extensions.hooks.config import HookEvent
from extensions.hooks.dispatch import HookCall, HookDispatcher, context_text
from extensions.hooks.replies import HookReply
from extensions.hooks.session import HookSession
from extensions.hooks.tool_calls import claude_response, own_arguments
from harness.agent.guardrails import AddContext, GuardrailVerdict, InputGuardrail, Pass, Reject
from harness.agent.side_question import PREFIX
from harness.events import CompactionTrigger, TurnEnd
from harness.execution.results import INTERRUPTED, STEERED, STOPPED, was_interrupted
from harness.execution.running import CANCELLED
from harness.messages import AssistantMessage, JsonObject, JsonValue, Message, ToolCall, ToolResult, UserMessage
from harness.ports.hooks import (
    AllowCall,
    AskUser,
    Block,
    Hooks,
    Inject,
    Modify,
    OneCallVerdict,
    Stop,
    TurnVerdict,
)

_NEVER_RAN = frozenset((STOPPED, INTERRUPTED, STEERED, CANCELLED))
_GENERAL = "general-purpose"
"""Type of subagents without a role in Claude Code."""
_STOPPED = "a hook stopped the run"
_STOPPED_BEFORE = "Skipped: a hook stopped the run before the call began."


class Subagent(Struct, frozen=True):
    """A subagent, as hooks see it."""

    agent_id: str
    """Id of its session."""
    kind: str
    """Name of its role."""


class UserHooks(Hooks):
    """The hooks of one run.

    Args:
        session: Hooks of the session.
        subagent: The subagent whose run it is; None for the agent of the session.
        parent: Hooks of the run that it works for.
    """

    is_shared = True

    def __init__(self, session: HookSession, subagent: Subagent | None = None, parent: UserHooks | None = None) -> None:
        self._session = session
        self._subagent = subagent
        self._main: UserHooks = parent._main if parent else self
        self._stop: Stop | None = None
        self._continuations = 0
        self._seen = set[str]()

    def for_run(self) -> Hooks:
        return UserHooks(self._session, self._subagent, self._main if self._subagent else None)

    def for_subagent(self, agent_id: str, role: str) -> Hooks:
        return UserHooks(self._session, Subagent(agent_id, role or _GENERAL), self)

    async def before_loop(self, messages: Sequence[Message], loop_index: int) -> Stop | None:
        if self._subagent is not None:
            # Its task is no prompt of the user.
            self._session.tasks.update(each.id for each in messages)
            return None
        await self._session.wait_started()
        self._session.deliver()
        return None

    async def before_turn(self, messages: Sequence[Message], turn: int) -> TurnVerdict:
        if self._main._stop is None and turn == 1 and self._subagent is not None:
            reply = await self._dispatcher.dispatch("SubagentStart", self._subagent.kind, self._about())
            return Inject(context_text("SubagentStart", reply.context)) if reply.context else None
        return self._main._stop

    async def after_turn(self, end: TurnEnd) -> TurnVerdict:
        if self._subagent is None:
            await self._session.count_turn()
            if end.results:
                await self._session.wait_started()
                self._session.deliver()
        return self._main._stop

    async def before_tool(self, call: ToolCall) -> Sequence[OneCallVerdict]:
        self._seen.add(call.id)
        if self._main._stop is not None:
            return (Block(_STOPPED_BEFORE),)
        if not self._dispatcher.listens("PreToolUse"):
            return ()
        seen = self._dispatcher.call_of(call)
        reply = await self._dispatcher.dispatch_call("PreToolUse", call, seen, self._about())
        verdicts: list[OneCallVerdict] = []
        if reply.context:
            verdicts.append(Inject(context_text("PreToolUse", reply.context)))
        if reply.updated_input is not None:
            arguments = own_arguments(seen.name, seen.given, seen.arguments, reply.updated_input)
            verdicts += [Modify(arguments)] if arguments != seen.arguments else []
        if self._stops(reply):
            verdicts.append(Block(f"A hook stopped the run: {reply.stop_reason or 'no reason given'}"))
        return (*verdicts, *_on_permission(reply))

    def reviews(self, tool_name: str) -> bool:
        return self._dispatcher.listens("PreToolUse", tool=tool_name)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> Inject | None:
        if call.id not in self._seen or not self._dispatcher.listens("PostToolUse", "PostToolUseFailure"):
            return None
        seen = self._dispatcher.call_of(call)
        event = _event_after(seen, result)
        if event is None:
            return None
        outcome: JsonObject = (
            {"tool_response": claude_response(seen.name, seen.given, result)}
            if event == "PostToolUse"
            else {"error": _error_of(result), "is_interrupt": False}
        )
        reply = await self._dispatcher.dispatch_call(event, call, seen, {**outcome, **self._about()})
        self._stops(reply)
        text = "\n".join(filter(None, (reply.reason, reply.context)))
        return Inject(context_text(event, f"About the call of {call.name}: {text}")) if text else None

    async def before_stop(self, reply: AssistantMessage) -> Inject | None:
        event: HookEvent = "Stop" if self._subagent is None else "SubagentStop"
        if self._main._stop is not None or not self._dispatcher.listens(event):
            return None
        jobs: list[JsonValue] = [
            {"id": job.id, "type": "shell", "status": "running", "description": job.spec.title}
            for job in self._dispatcher.agent.jobs.running
        ]
        fields: JsonObject = {
            "stop_hook_active": self._continuations > 0,
            "last_assistant_message": reply.text,
            "background_tasks": jobs,
            "session_crons": [],
            **self._about(),
        }
        if self._subagent is not None:
            # The messages of subagents are not stored in a file.
            fields["agent_transcript_path"] = ""
        decided = await self._dispatcher.dispatch(event, self._subagent.kind if self._subagent else "", fields)
        text = "\n".join(filter(None, (decided.reason, decided.context)))
        if decided.stops or not text:
            return None
        self._continuations += 1
        most = self._dispatcher.most_continuations
        if self._continuations > most:
            notice = f"{event} hooks have continued the run {most} times; now it ends."
            self._dispatcher.agent.notify(notice, "warning")
            return None
        return Inject(context_text(event, text))

    async def before_compact(self, trigger: CompactionTrigger, tokens: int) -> Block | Inject | None:
        kind = "manual" if trigger == "manual" else "auto"
        fields: JsonObject = {"trigger": kind, "custom_instructions": ""}
        reply = await self._dispatcher.dispatch("PreCompact", kind, fields)
        if reply.blocks or reply.stops:
            reason = reply.reason or reply.stop_reason or "no reason given"
            self._dispatcher.agent.notify(f"A hook prevented the compaction: {reason}", "warning")
            return Block(reason)
        return Inject(reply.context) if reply.context else None

    @property
    def _dispatcher(self) -> HookDispatcher:
        return self._session.dispatcher

    def _about(self) -> JsonObject:
        """Return the fields that identify a subagent."""
        who = self._subagent
        return {} if who is None else {"agent_id": who.agent_id, "agent_type": who.kind}

    def _stops(self, reply: HookReply) -> bool:
        """End the run after this turn if a hook wants it."""
        if reply.stops:
            self._main._stop = Stop(reply.stop_reason or _STOPPED)
        return reply.stops


class PromptHooks:
    """The UserPromptSubmit hooks, which see each message of the user before the model."""

    def __init__(self, session: HookSession) -> None:
        self._session = session

    async def check(self, message: UserMessage) -> GuardrailVerdict:
        dispatcher = self._session.dispatcher
        if message.id in self._session.tasks or not dispatcher.listens("UserPromptSubmit"):
            return Pass()
        text = self._session.prompt_text(message)
        fields: JsonObject = {"prompt": text.removeprefix(PREFIX)}
        reply = await dispatcher.dispatch("UserPromptSubmit", "", fields)
        if reply.blocks or reply.stops:
            return Reject(reply.reason or reply.stop_reason or _STOPPED)
        if reply.context and text.startswith(PREFIX):
            # A side question leaves nothing in the conversation.
            return AddContext(context_text("UserPromptSubmit", reply.context))
        # In a message of its own: the prompt stays as the user typed it.
        self._session.add_context("UserPromptSubmit", reply.context)
        self._session.deliver()
        return Pass()


def _on_permission(reply: HookReply) -> Sequence[OneCallVerdict]:
    match reply.permission:
        case "allow":
            return (AllowCall(reply.reason),)
        case "ask":
            return (AskUser(reply.reason or "a hook asks for approval"),)
        case "deny":
            return (Block(f"Blocked by a hook: {reply.reason}"),)
        case "":
            return ()


def _event_after(seen: HookCall, result: ToolResult) -> HookEvent | None:
    """Return the event after a call; None if it was not executed or the user interrupted it."""
    details = result.details or {}
    if details.get("denied") or was_interrupted(result) or (result.is_error and result.text in _NEVER_RAN):
        return None
    failed = result.is_error or (seen.name == "Bash" and details.get("exit_code") not in (0, None))
    return "PostToolUseFailure" if failed else "PostToolUse"


def _error_of(result: ToolResult) -> str:
    """Return the error of a failed call; Claude Code's begins with the exit code."""
    return result.text.replace("Exit code: ", "Exit code ", 1)


if TYPE_CHECKING:
    _: type[InputGuardrail] = PromptHooks
