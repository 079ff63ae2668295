"""Stage on which the user, hooks and guardrails of a run act by a script; records the outcome."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from fakes.whim_model import Wire, model_of
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.guardrails import GuardrailVerdict, InputGuardrail, Pass, Reject, Warn
from harness.approval.modes import EXECUTE, PLAN
from harness.events import AgentEnd, Event, ToolCacheHit, ToolExecutionEnd, ToolExecutionStart, TurnEnd, TurnStart
from harness.messages import AssistantMessage, JsonObject, Message, ToolCall, ToolResult, UserMessage, user
from harness.ports.hooks import Block, CallVerdict, Hooks, Inject, Modify, Stop, TurnVerdict
from harness.ports.interaction import UserInteraction
from harness.ports.provider import Request
from harness.ports.tool import Tool
from harness.risk import Risk
from harness.user_requests import (
    AllowAlways,
    AllowForSession,
    AllowOnce,
    Answer,
    Approval,
    ApprovalRequest,
    Denied,
    Plan,
    PlanDecision,
    Question,
)
from harness.views import View


@dataclass(frozen=True, slots=True)
class Deed:
    """Action of the user at event number `at`: inside it, in the next loop iteration, or some seconds later."""

    at: int
    what: str
    when: Literal["now", "soon"] | float = "now"


@dataclass(eq=False, slots=True)
class Stage:
    """Shared state and outcome. `world` counts the changes made by tools."""

    agent: Agent = field(init=False)
    caller: asyncio.Task[object] | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)
    wire: Wire = field(default_factory=Wire)
    spare: Tool | None = None
    events: list[Event] = field(default_factory=list)
    hits: dict[str, int] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    said: list[UserMessage] = field(default_factory=list)
    steered: list[str] = field(default_factory=list)
    queued: list[str] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    unheard: tuple[UserMessage, ...] = ()
    taken: list[UserMessage] = field(default_factory=list)
    handed_back: set[str] = field(default_factory=set)
    ran: dict[str, JsonObject] = field(default_factory=dict)
    inside: dict[str, Risk] = field(default_factory=dict)
    approved: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    too_late: set[str] = field(default_factory=set)
    trusted: bool = False
    replanned: bool = False
    aborted: bool = False
    stopped: bool = False
    world: int = 0
    wrongs: list[str] = field(default_factory=list)

    def say(self, text: str) -> UserMessage:
        self.said.append(user(f"{text} {len(self.said)}"))
        return self.said[-1]

    def prompt(self, text: str) -> UserMessage:
        self.prompts.append(self.say(text).id)
        return self.said[-1]

    def see(self, event: Event) -> None:
        """Record every event, before any other subscriber."""
        self.events.append(event)
        self.times.append(asyncio.get_running_loop().time())
        match event:
            case TurnStart() | TurnEnd() | AgentEnd():
                self._see_turn(event)
            case ToolExecutionEnd(result=result):
                self.answered.add(result.call_id)
            case ToolExecutionStart(call=call) if self.agent.inbox.steering and self._interrupts:
                self.too_late.add(call.id)
            case ToolCacheHit(call_id=call_id):
                self.hits[call_id] = self.world
            case _:
                pass

    def _see_turn(self, event: TurnStart | TurnEnd | AgentEnd) -> None:
        """Record violations that are visible only at this moment."""
        waiting = self.agent.inbox.steering.messages
        match event:
            case TurnStart() if self.aborted:
                self.wrongs.append("a turn began after the abort")
            case TurnEnd(results=results):
                self.unheard = () if results else waiting
                if self.wire.open:
                    self.wrongs.append("a turn ended and its stream is open")
            case AgentEnd(limit="", stop_reason="stop" | "length" | "tool_use") if set(self.unheard) & set(waiting):
                self.wrongs.append("a run ended well and had not heard all")
            case _:
                pass

    @property
    def _interrupts(self) -> bool:
        return self.agent.options.steering_mode == "interrupt"

    def do(self, what: str) -> None:
        """Perform an action of the user: `steer`, `follow bad`, `mode plan`, ..."""
        kind, _, rest = what.partition(" ")
        deeds: dict[str, Callable[[str], None]] = {
            "abort": self.abort,
            "cancel": self._cancel,
            "steer": self._steer,
            "follow": self._follow_up,
            "take": lambda _: self.taken.extend(self.agent.drain_queues()),
            "model": lambda name: self.agent.set_model(model_of(self.wire, name or "another")),
            "mode": self._change_mode,
            "tools": self._change_tools,
            "notify": self.agent.notify,
        }
        deeds[kind](rest)

    def abort(self, _: str = "") -> None:
        self.aborted = self.agent.is_running
        self.stopped = True
        self.agent.abort()

    def _steer(self, text: str) -> None:
        self.agent.steer(self.say(text or "steering"))
        self.steered.append(self.said[-1].id)
        if self._interrupts:
            self.agent.interrupt()

    def _follow_up(self, text: str) -> None:
        self.agent.follow_up(self.say(text or "follow-up"))
        self.queued.append(self.said[-1].id)

    def _cancel(self, _: str) -> None:
        self.stopped = True
        if self.caller is not None:
            self.caller.cancel()

    def _change_mode(self, name: str) -> None:
        self.replanned = True
        self.agent.set_mode(PLAN if name == "plan" else EXECUTE)

    def _change_tools(self, how: str) -> None:
        if how == "less":
            self.agent.remove_tool("peek")
        elif self.spare is not None and self.spare not in self.agent.state.tools:
            self.agent.add_tool(self.spare)

    def enter(self, call_id: str, tool: Tool, arguments: JsonObject) -> None:
        risk = tool.risk(arguments)
        if self.agent.options.mode is PLAN and tool.mutates and not self.replanned:
            self.wrongs.append(f"{call_id} changes while all plan")
        if self.aborted:
            self.wrongs.append(f"{call_id} began after the abort")
        if call_id in self.too_late:
            self.wrongs.append(f"{call_id} began after steering")
        if call_id in self.ran:
            self.wrongs.append(f"{call_id} ran twice")
        for other, theirs in self.inside.items():
            if other not in self.answered and _clash(risk, theirs):
                self.wrongs.append(f"{call_id} ran beside {other}")
        self.ran[call_id] = arguments
        self.inside[call_id] = risk
        self.world += risk.changes

    def leave(self, call_id: str) -> None:
        self.world += self.inside.pop(call_id).changes


def _clash(one: Risk, other: Risk) -> bool:
    if "none" in (one.level, other.level) or not (one.changes or other.changes):
        return False
    blind = any(risk.changes and not risk.paths for risk in (one, other))
    return blind or bool(set(one.paths) & set(other.paths))


class RandomUser:
    """User that answers from a list; an answer can also be an action."""

    def __init__(self, stage: Stage, answers: Sequence[Approval | str]) -> None:
        self._stage = stage
        self._answers = list(answers)

    async def approve(self, request: ApprovalRequest) -> Approval:
        answer = self._answers.pop(0) if self._answers else AllowOnce()
        if isinstance(answer, str):
            await behave(self._stage, answer)
            answer = AllowOnce()
        (self._stage.refused if isinstance(answer, Denied) else self._stage.approved).add(request.call.id)
        self._stage.trusted |= isinstance(answer, AllowForSession | AllowAlways)
        return answer

    async def ask(self, question: Question) -> Answer:
        await behave(self._stage, self._next_word())
        return Answer("free_text", "this")

    async def review_plan(self, plan: Plan) -> PlanDecision:
        await behave(self._stage, self._next_word())
        return PlanDecision(accepted=True)

    def _next_word(self) -> str:
        return next((each for each in self._answers if isinstance(each, str)), "turn")


async def behave(stage: Stage, how: str) -> None:
    """Perform a side effect that third-party code can have while it is awaited."""
    match how:
        case "turn":
            await asyncio.sleep(0)
        case "nap":
            await asyncio.sleep(1)
        case "raise":
            raise ZeroDivisionError("by zero")
        case "hang":
            await stage.over.wait()
        case "swallow":
            with suppress(asyncio.CancelledError):
                await stage.over.wait()
        case "stumble":
            raise asyncio.CancelledError
        case _:
            stage.do(how)
            await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class Act:
    """Action of a hook at its `nth` call: it returns a decision, or misbehaves."""

    point: str
    nth: int
    what: Stop | Inject | Block | Modify | str


class WhimHooks(Hooks):
    """Hooks that act by a script; `asked` counts the calls of each hook."""

    def __init__(self, stage: Stage, acts: Sequence[Act]) -> None:
        self._stage = stage
        self._acts = acts
        self.asked: Counter[str] = Counter()

    async def before_loop(self, messages: Sequence[Message], loop_index: int) -> Stop | None:
        return await self._act("before_loop")

    async def before_turn(self, messages: Sequence[Message], turn: int) -> TurnVerdict:
        return await self._act("before_turn")

    async def after_turn(self, end: TurnEnd) -> TurnVerdict:
        return await self._act("after_turn")

    async def before_model(self, request: Request) -> Request:
        await self._act("before_model")
        return replace(request, temperature=0.5)

    async def after_model(self, reply: AssistantMessage) -> None:
        await self._act("after_model")

    async def before_tool(self, call: ToolCall) -> CallVerdict:
        try:
            verdict = await self._act("before_tool")
        except Exception:
            self._stage.refused.add(call.id)
            raise
        if isinstance(verdict, Block):
            self._stage.refused.add(call.id)
        return verdict

    async def after_tool(self, call: ToolCall, result: ToolResult) -> None:
        await self._act("after_tool")

    async def on_error(self, error: str) -> None:
        await self._act("on_error")

    async def after_loop(self, end: AgentEnd) -> None:
        await self._act("after_loop")

    def before_update(self, call: ToolCall, view: View) -> bool:
        acts = self._due("before_update")
        if "raise" in acts:
            raise ZeroDivisionError("by zero")
        return not acts

    async def _act(self, point: str) -> Any:
        for what in self._due(point):
            if not isinstance(what, str):
                return what
            await behave(self._stage, what)
        return None

    def _due(self, point: str) -> list[Stop | Inject | Block | Modify | str]:
        self.asked[point] += 1
        return [act.what for act in self._acts if (act.point, act.nth) == (point, self.asked[point])]


class Picky:
    """Guardrail that blocks `bad`, warns about `odd`, and fails on `awful`."""

    def check(self, message: UserMessage) -> GuardrailVerdict:
        if "awful" in message.text:
            raise ZeroDivisionError("by zero")
        return Reject("it is bad") if "bad" in message.text else Warn("it is odd") if "odd" in message.text else Pass()


def meddle(stage: Stage, deeds: Sequence[Deed]) -> Callable[[], None]:
    """Perform each action at its event, until the returned function is called."""
    count = 0

    def see(event: Event) -> None:
        nonlocal count
        count += 1
        for deed in deeds:
            if deed.at == count:
                _do_when(stage, deed)

    return stage.agent.subscribe(see)


def _do_when(stage: Stage, deed: Deed) -> None:
    loop = asyncio.get_running_loop()
    match deed.when:
        case "now":
            stage.do(deed.what)
        case "soon":
            loop.call_soon(stage.do, deed.what)
        case seconds:
            loop.call_later(seconds, stage.do, deed.what)


if TYPE_CHECKING:
    _: tuple[type[UserInteraction], type[InputGuardrail]] = (RandomUser, Picky)
