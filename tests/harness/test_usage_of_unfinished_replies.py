"""Usage that services report before the end of a reply counts, before and after a resume."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest
from fakes.contests import model
from fakes.family import cast, delegates
from fakes.model_server import Cut, Failure, Hang, ModelServer
from fakes.model_server import Reply as Sent
from fakes.runs import until

from harness.agent.agent import Agent
from harness.agent.limits import Limits
from harness.agent.retry import RetryPolicy
from harness.events import Event, MessageDiscarded, MessageUpdate, UsageAdded
from harness.messages import AssistantMessage, Usage
from harness.parallel.run import run_parallel
from harness.parallel.selection import LlmJudge
from harness.parallel.variant import ParallelVariant
from harness.ports.provider import Model
from harness.ports.session_store import InMemorySessionStore
from providers import connect
from providers.demo import Reply, Say
from tools.delegate import DelegateTool

SENT = Sent("Once upon a time", usage=Usage(70, 40, cache_read=30))
SERVICES = {"anthropic": (Usage(70, 1, 30), 5), "gemini": (Usage(70, 40, 30), 2)}
"""Usage known before the end by service, and the number of events that contain a piece of text."""

Open = Callable[[str, Sequence[object]], Model]


@pytest.fixture
async def model_of() -> AsyncIterator[Open]:
    servers: list[ModelServer] = []
    models: list[Model] = []

    def start(service: str, script: Sequence) -> Model:
        servers.append(ModelServer(script).__enter__())
        models.append(connect(f"{service}/some-model", base_url=servers[-1].url))
        return models[-1]

    yield start
    for each in models:
        await each.provider.close()
    for server in servers:
        server.__exit__()


async def restored(store: InMemorySessionStore, agent: Agent) -> Agent:
    other = Agent(agent.state.model)
    assert await other.open_session(store, agent.session_id)
    return other


@pytest.mark.parametrize("service", SERVICES)
async def test_aborted_reply_carries_the_usage_reported_so_far(make_agent, model_of, service):
    known, events = SERVICES[service]
    agent, store = make_agent(model=model_of(service, [Hang(SENT, events)])), InMemorySessionStore()
    await agent.open_session(store)
    agent.subscribe(lambda event: agent.abort() if isinstance(event, MessageUpdate) else None)

    result = await agent.prompt("go")

    reply = agent.history.last_reply()
    assert reply is not None
    assert (reply.stop_reason, reply.usage) == ("aborted", known)
    assert result.usage == agent.state.usage == known
    assert (await restored(store, agent)).state.usage == known


async def test_reply_aborted_before_its_first_block_carries_its_usage(make_agent, model_of):
    agent, store = make_agent(model=model_of("anthropic", [Hang(SENT, 2)])), InMemorySessionStore()
    await agent.open_session(store)
    running = asyncio.create_task(agent.prompt("go"))
    await until(lambda: agent.state.reply and agent.state.reply.usage.input)
    agent.abort()
    await running

    assert agent.state.usage == Usage(70, 1, 30)
    assert (await restored(store, agent)).state.usage == Usage(70, 1, 30)


async def test_discarded_and_failed_replies_count(make_agent, model_of, record):
    script = [Cut(SENT, after_events=5), Cut(SENT, after_events=5), Failure(400, "no")]
    retry = RetryPolicy(max_retries=1, initial=0.0, max_delay=0.0)
    agent, store = make_agent(model=model_of("anthropic", script), retry=retry), InMemorySessionStore()
    await agent.open_session(store)
    seen = record(agent)

    result = await agent.prompt("go")

    assert result.stop_reason == "error"
    assert [(each.usage, each.source) for each in seen.of(UsageAdded)] == [(Usage(70, 1, 30), "aborted")]
    assert agent.state.usage == Usage(140, 2, 60)
    assert (await restored(store, agent)).state.usage == Usage(140, 2, 60)


async def test_limit_counts_an_aborted_reply(make_agent, model_of):
    agent = make_agent(model=model_of("anthropic", [Hang(SENT, 5), Sent("two")]), limits=Limits(max_tokens=100))
    seen: list[MessageUpdate] = []

    def steer(event: object) -> None:
        if isinstance(event, MessageUpdate) and not seen:
            seen.append(event)
            agent.steer("stop that")
            agent.interrupt()

    agent.subscribe(steer)
    result = await agent.prompt("go")

    assert (result.limit, result.usage.context) == ("tokens", 101)


async def test_aborted_side_question_counts(make_agent, model_of):
    script = [Sent("One.", usage=Usage(10, 2)), Hang(SENT, 5)]
    agent, store = make_agent(model=model_of("anthropic", script)), InMemorySessionStore()
    await agent.open_session(store)
    await agent.prompt("go")
    begun = asyncio.Event()
    asking = asyncio.create_task(agent.ask_side_question("why?", lambda _: begun.set()))
    await begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await agent.close()

    assert agent.state.usage == Usage(80, 3, 30)
    assert (await restored(store, agent)).state.usage == Usage(80, 3, 30)


async def test_judge_that_is_aborted_in_its_answer_counts(make_agent, model_of, monkeypatch):
    judges: list[Agent] = []

    class Judge(Agent):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            judges.append(self)

    monkeypatch.setattr("harness.parallel.selection.Agent", Judge)
    agent, store = make_agent(), InMemorySessionStore()
    await agent.open_session(store)
    branches = [ParallelVariant(model(name, Reply((Say(name),), usage=Usage(1_000)))) for name in "ab"]
    strategy = LlmJudge(model_of("anthropic", [Hang(SENT, 5)]))
    running = asyncio.create_task(run_parallel(agent, "which?", branches, strategy))
    await until(lambda: judges and judges[0].state.reply and judges[0].state.reply.usage.input)
    agent.abort()
    await running

    used = agent.state.usage
    assert (used.input, used.cache_read) == (2_070, 30)
    after = (await restored(store, agent)).state.usage
    assert (after.input, after.cache_read) == (used.input, used.cache_read)


async def test_equal_usage_counts_as_often_as_it_was_used(make_agent, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    agent, store = (
        make_agent(*(Reply((Say("Because."),), usage=Usage(10, 2)) for _ in range(3))),
        InMemorySessionStore(),
    )
    await agent.open_session(store)
    await agent.prompt("go")
    for _ in range(2):
        await agent.ask_side_question("why?")
    await agent.close()
    data = await store.read(agent.session_id)
    (*_, repeated) = (line for line in data.splitlines(keepends=True) if line.startswith(b'{"type":"cinch-usage"'))
    await store.append(agent.session_id, repeated)

    usage = (await restored(store, agent)).state.usage
    assert (usage.input, usage.output) == (agent.state.usage.input, agent.state.usage.output) == (30, 6)


async def test_all_usage_is_the_same_after_a_resume(make_agent, model_of):
    agent, store = make_agent("never asked", tools=[DelegateTool()]), InMemorySessionStore()
    await agent.open_session(store)

    task = cast({"go": [delegates("dig"), "Thanks."], "dig": [Reply((Say("Found."),), usage=Usage(1_000, 1))]})
    agent.set_model(task)
    await agent.prompt("go")
    agent.set_model(model("a", Reply((Say("Because."),), usage=Usage(2_000, 1))))
    await agent.ask_side_question("why?")
    branches = [
        ParallelVariant(model("a", Reply((), usage=Usage(4_000)), Reply((Say("A"),), usage=Usage(8_000)))),
        ParallelVariant(model("b", Reply((Say("B"),), usage=Usage(16_000)))),
    ]
    judge = model("judge", Reply((Say("1, it is better."),), usage=Usage(32_000)))
    await run_parallel(agent, "which?", branches, LlmJudge(judge))
    agent.set_model(model_of("anthropic", [Cut(SENT, after_events=5), Hang(SENT, 5)]))
    discarded: list[MessageDiscarded] = []

    def abort_second_reply(event: Event) -> None:
        if isinstance(event, MessageDiscarded):
            discarded.append(event)
        elif discarded and isinstance(event, MessageUpdate):
            agent.abort()

    agent.subscribe(abort_second_reply)
    await agent.prompt("once more")

    before, after = agent.state.usage, (await restored(store, agent)).state.usage
    assert before.input // 1_000 == 63
    assert (after.input, after.output, after.cache_read) == (before.input, before.output, before.cache_read)
    assert after.cost == before.cost
    aborted = agent.history.last_reply()
    assert isinstance(aborted, AssistantMessage)
    assert aborted.usage == Usage(70, 1, 30)
