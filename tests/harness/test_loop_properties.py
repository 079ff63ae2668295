from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fakes.simple_tools import SimpleTool
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agent import Agent
from harness.context.normalise import normalise
from harness.errors import NetworkError, RequestRejected
from harness.events import (
    AgentEnd,
    AgentStart,
    Event,
    MessageDiscarded,
    MessageEnd,
    MessageStart,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from harness.limits import Limits
from harness.messages import AssistantMessage, JsonObject, UserMessage
from harness.options import AgentOptions
from harness.person import Always, Approval, ApprovalRequest, Denied, Edited, Nobody, Once, Session
from harness.retry import RetryPolicy
from harness.tool import ToolContext, ToolOutput
from harness.workspace import Workspace
from providers.demo import Break, Call, Reply, Say, Think, scripted

AT_ONCE = RetryPolicy(max_retries=1, initial=0.0, max_delay=0.0, empty_delay=0.0)
BEHAVIOURS = ("answer", "yield", "raise", "hang", "deaf", "cancel itself", "steer")
RISKS = ("read", "edit", "dangerous", "forbidden")


@dataclass
class Stage:
    """What the tools of one example share: `stuck` is set when one waits for ever, `over` lets them all go."""

    stuck: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    ran: list[str] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    typed: list[str] = field(default_factory=list)


def tool_of(behaviour: str, risk: str, stage: Stage, say: Callable[[str], None]) -> SimpleTool:
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        stage.ran.append(context.call_id)
        match behaviour:
            case "yield":
                await asyncio.sleep(0)
            case "raise":
                raise ValueError("broken")
            case "hang":
                stage.stuck.set()
                await asyncio.Event().wait()
            case "deaf":
                await ignore_everything(stage)
            case "cancel itself":
                raise asyncio.CancelledError
            case "steer":
                say("steering")
        return ToolOutput.text("done")

    return SimpleTool(f"{behaviour} {risk}".replace(" ", "_"), work, risk=risk, required=("needed",))


async def ignore_everything(stage: Stage) -> None:
    stage.stuck.set()
    while not stage.over.is_set():
        try:
            await stage.over.wait()
        except asyncio.CancelledError:
            continue


class Whimsical(Nobody):
    def __init__(self, stage: Stage, answers: list[Approval]) -> None:
        self._stage = stage
        self._answers = answers

    async def approve(self, request: ApprovalRequest) -> Approval:
        await asyncio.sleep(0)
        answer = self._answers.pop() if self._answers else Once()
        if isinstance(answer, Denied):
            self._stage.denied.add(request.call.id)
        return answer


names = st.sampled_from([f"{behaviour}_{risk}".replace(" ", "_") for behaviour in BEHAVIOURS for risk in RISKS])
a_call = st.builds(
    Call,
    names | st.just("unknown"),
    st.sampled_from([{"needed": 1}, {"needed": 2}, {}]),
    raw=st.none() | st.none() | st.sampled_from(["{", "[]", ""]),
)
a_break = st.builds(Break, st.builds(RequestRejected, st.just("no")) | st.builds(NetworkError, st.just("cut")))
a_part = st.builds(Say, st.just("words")) | st.builds(Think, st.just("thought")) | a_call | a_call | a_break
a_reply = st.builds(
    Reply, st.lists(a_part, min_size=1, max_size=4).map(tuple), st.sampled_from([None, None, None, "length", "error"])
)
an_answer = st.sampled_from(
    [Once(), Session(), Always(), Denied("no"), Denied(unasked=True), Edited({"needed": 3}), Edited({})]
)
an_act = st.tuples(st.integers(1, 40), st.sampled_from(["abort", "steer", "follow up"]), st.booleans())


def act(agent: Agent, stage: Stage, deed: str) -> None:
    match deed:
        case "abort":
            agent.abort()
        case "steer":
            stage.typed.append(f"steering {len(stage.typed)}")
            agent.steer(stage.typed[-1])
        case "follow up":
            stage.typed.append(f"follow-up {len(stage.typed)}")
            agent.follow_up(stage.typed[-1])


def meddle(agent: Agent, stage: Stage, deeds: list[tuple[int, str, bool]]) -> None:
    """Do each deed at its event: at once, inside the event, or when the loop next turns."""
    count = 0

    def see(event: Event) -> None:
        nonlocal count
        count += 1
        for at, deed, at_once in deeds:
            if at == count and at_once:
                act(agent, stage, deed)
            elif at == count:
                asyncio.get_running_loop().call_soon(act, agent, stage, deed)

    agent.subscribe(see)


async def run_to_its_end(agent: Agent, stage: Stage) -> None:
    run = asyncio.create_task(agent.prompt("go"))
    stuck = asyncio.create_task(stage.stuck.wait())
    async with asyncio.timeout(5):
        await asyncio.wait([run, stuck], return_when=asyncio.FIRST_COMPLETED)
        while not run.done():
            agent.abort()
            await asyncio.wait([run], timeout=0.02)
    stuck.cancel()
    await run
    stage.over.set()
    for _ in range(5):
        await asyncio.sleep(0)


def check_events(events: list[Event], stage: Stage) -> None:
    started = [event.call.id for event in events if isinstance(event, ToolExecutionStart)]
    ended = [event.result.call_id for event in events if isinstance(event, ToolExecutionEnd)]
    begun = [event.message_id for event in events if isinstance(event, MessageStart)]
    finished = [event.message.id for event in events if isinstance(event, MessageEnd)]
    discarded = [event.message_id for event in events if isinstance(event, MessageDiscarded)]

    assert [type(event) for event in events if isinstance(event, AgentStart | AgentEnd)] == [AgentStart, AgentEnd]
    assert isinstance(events[-1], AgentEnd)
    assert sorted(started) == sorted(ended) == sorted(set(ended))
    assert sorted(begun) == sorted([*finished, *discarded])
    assert not stage.denied & set(stage.ran)
    assert len(stage.ran) == len(set(stage.ran))


def check_history(agent: Agent, stage: Stage) -> None:
    said = tuple(each for each in agent.history if not (isinstance(each, AssistantMessage) and not each.content))
    heard = [each.text for each in agent.history if isinstance(each, UserMessage)]
    waiting = [each.text for each in agent.take_back()]

    assert normalise(agent.history.messages) == said
    assert heard[0] == "go"
    assert all((heard + waiting).count(text) == 1 for text in stage.typed)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(a_reply, max_size=4), st.lists(an_answer, max_size=6), st.lists(an_act, max_size=3), st.sampled_from("osf")
)
def test_whatever_happens_a_run_ends_once_and_leaves_everything_in_order(
    replies: list[Reply], answers: list[Approval], deeds: list[tuple[int, str, bool]], mode: str
) -> None:
    async def live() -> None:
        stage = Stage()
        tools = [
            tool_of(behaviour, risk, stage, lambda text: agent.steer(text))
            for behaviour in BEHAVIOURS
            for risk in RISKS
        ]
        options = AgentOptions(
            person=Whimsical(stage, list(answers)),
            workspace=Workspace(Path("/nowhere")),
            approval={"o": "on", "s": "smart", "f": "off"}[mode],
            retry=AT_ONCE,
            limits=Limits(max_turns=8),
            patience=0.01,
        )
        agent = Agent(scripted(*replies), tools, "You help.", options)
        events: list[Event] = []
        unsubscribe = agent.subscribe(events.append)
        meddle(agent, stage, deeds)

        await run_to_its_end(agent, stage)
        unsubscribe()

        check_events(events, stage)
        assert not any("forbidden" in event.call.name and event.call.id in stage.ran for event in starts(events))
        check_history(agent, stage)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        agent.state.model = scripted("still here")
        assert (await agent.prompt("next")).stop_reason in ("stop", "aborted")

    asyncio.run(live())


def starts(events: list[Event]) -> list[ToolExecutionStart]:
    return [event for event in events if isinstance(event, ToolExecutionStart)]
