from __future__ import annotations

import asyncio
import gc
import threading
import tracemalloc

from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.deltas import BlockDelta, BlockEnd, BlockStart
from harness.events import (
    AgentEnd,
    BranchEvent,
    Event,
    MessageUpdate,
    Notice,
    SubagentEvent,
    ToolExecutionEnd,
    ToolExecutionUpdate,
)
from harness.messages import ToolResult
from harness.ports.tool import ToolOutput
from harness.publishing import Channel
from harness.views import TextView


def said(text: str, message: str = "m", index: int = 0) -> MessageUpdate:
    return MessageUpdate(message_id=message, delta=BlockDelta(index, text))


def shown(text: str, call_id: str = "c") -> ToolExecutionUpdate:
    return ToolExecutionUpdate(call_id=call_id, view=TextView(text))


def ended(call_id: str = "c") -> ToolExecutionEnd:
    return ToolExecutionEnd(result=ToolResult(call_id, "tool", ()))


def fill(channel: Channel, *events: Event) -> None:
    """Return numbered events, as a bus would publish them."""
    for number, event in enumerate(events, start=1):
        channel.put(replace(event, seq=number))


async def drained(channel: Channel) -> list[Event]:
    channel.close()
    events = []
    while (event := await channel.get()) is not None:
        events.append(event)
    return events


async def test_idle_reader_holds_few_events_and_no_copies():
    channel = Channel(capacity=8)
    channel.put(Notice(text="first"))
    tracemalloc.start()

    for number in range(100_000):
        channel.put(said(f"{number} ", index=number % 2))
    channel.put(Notice(text="last"))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(channel) <= 8 + 3
    assert held < 2 * sum(len(f"{number} ") for number in range(100_000))
    events = await drained(channel)
    assert (events[0].text, events[-1].text) == ("first", "last")
    for index in (0, 1):
        heard = "".join(each.delta.text for each in events[1:-1] if each.delta.index == index)
        assert heard == "".join(f"{number} " for number in range(index, 100_000, 2))


async def test_deltas_are_not_merged_while_the_buffer_has_room():
    channel = Channel(capacity=3)

    fill(channel, said("a"), said("b"), said("c"), said("d"))

    assert [event.delta.text for event in await drained(channel)] == ["a", "b", "cd"]


async def test_progress_replaces_older_progress_of_the_same_call_only():
    channel = Channel(capacity=2)

    fill(channel, shown("a1", "a"), shown("b1", "b"), shown("a2", "a"), Notice(text="n"), shown("b2", "b"))

    events = await drained(channel)
    assert [getattr(event, "text", None) or event.view.text for event in events] == ["a2", "n", "b2"]


async def test_progress_after_an_end_does_not_replace_earlier_progress():
    channel = Channel(capacity=1)

    fill(channel, shown("first"), ended(), shown("second, of a call with the same id"))

    assert [type(event) for event in await drained(channel)] == [
        ToolExecutionUpdate,
        ToolExecutionEnd,
        ToolExecutionUpdate,
    ]


async def test_concurrent_text_is_merged_per_agent():
    channel = Channel(capacity=1)
    parts = [
        BranchEvent(event=replace(said("x", "m"), run_id="s.a.1")),
        SubagentEvent(call_id="1", event=replace(said("y", "m"), run_id="t.a.1")),
        BranchEvent(event=BranchEvent(event=replace(shown("z"), run_id="s.b.1"))),
    ]

    fill(channel, *parts, *parts, *parts)

    branch, subagent, tool = await drained(channel)
    assert branch.event.delta.text == "xxx"
    assert subagent.event.delta.text == "yyy"
    assert tool.event.event.view.text == "z"


events = st.one_of(
    st.builds(said, st.text(max_size=3), st.sampled_from("mn"), st.integers(0, 1)),
    st.builds(lambda index: MessageUpdate(message_id="m", delta=BlockStart(index, "text")), st.integers(0, 1)),
    st.builds(lambda index: MessageUpdate(message_id="m", delta=BlockEnd(index)), st.integers(0, 1)),
    st.builds(shown, st.text(max_size=3), st.sampled_from("ab")),
    st.builds(ended, st.sampled_from("ab")),
    st.builds(lambda text: Notice(text=text), st.text(max_size=3)),
)


@given(st.lists(events, max_size=60), st.integers(0, 10), st.integers(0, 20))
async def test_all_published_content_arrives_in_order(put: list[Event], capacity: int, read_first: int):
    channel = Channel(capacity)
    fill(channel, *put[:read_first])
    got = [await channel.get() for _ in range(min(len(channel), read_first // 2))]
    for number, event in enumerate(put[read_first:], start=read_first + 1):
        channel.put(replace(event, seq=number))

    got += await drained(channel)

    assert [event.seq for event in got] == sorted(event.seq for event in got)
    assert kept(got) == kept(put)
    for stream in (("m", 0), ("m", 1), ("n", 0), ("n", 1)):
        assert text_of(got, *stream) == text_of(put, *stream)


def kept(events: list[Event]) -> list[Event]:
    """Return the events that may never be merged or replaced."""
    streamed = [event for event in events if not is_joinable(event)]
    return [replace(event, seq=0) for event in streamed]


def is_joinable(event: Event) -> bool:
    return isinstance(event, ToolExecutionUpdate) or (
        isinstance(event, MessageUpdate) and isinstance(event.delta, BlockDelta)
    )


def text_of(events: list[Event], message: str, index: int) -> str:
    """Return the text of a block, with the block boundaries in it."""
    ours = [each.delta for each in events if isinstance(each, MessageUpdate) and each.message_id == message]
    return "".join(
        delta.text if isinstance(delta, BlockDelta) else f"<{type(delta).__name__}>"
        for delta in ours
        if delta.index == index
    )


async def test_reader_in_another_thread_receives_everything():
    channel = Channel(capacity=4)
    heard: list[str] = []

    async def read() -> None:
        while (event := await channel.get()) is not None:
            heard.append(event.delta.text)

    reader = threading.Thread(target=lambda: asyncio.run(read()))
    reader.start()
    for number in range(2000):
        channel.put(said(f"{number} "))
        if number % 100 == 0:
            await asyncio.sleep(0)
    channel.close()
    await asyncio.to_thread(reader.join)

    assert "".join(heard) == "".join(f"{number} " for number in range(2000))


async def test_interrupted_reader_can_resume():
    channel = Channel()
    reading = asyncio.create_task(channel.get())
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait([reading])

    channel.put(Notice(text="here"))

    assert await channel.get() == Notice(text="here")


async def test_listeners_receive_every_run_at_their_own_pace_until_the_agent_is_closed(make_agent, record):
    agent = make_agent("one", "two")
    recorder = record(agent)
    eager: list[Event] = []

    async def read_eagerly(listener) -> None:
        async for event in listener:
            eager.append(event)

    late = agent.listen()
    reading = asyncio.create_task(read_eagerly(agent.listen()))
    await agent.prompt("first")
    await agent.prompt("second")
    await agent.close()
    await reading

    assert eager == recorder.events
    assert [event async for event in late] == recorder.events
    assert recorder.names.count("AgentEnd") == 2


async def test_slow_listener_never_blocks_a_run_and_loses_no_text(make_agent):
    async def work(arguments, context) -> ToolOutput:
        for number in range(500):
            context.update(TextView(f"line {number}"))
        return ToolOutput.text("done")

    story = "once upon a time " * 500
    agent = make_agent(calls("work"), story, tools=[SimpleTool("work", work)])

    with agent.listen(capacity=4) as slow:
        await agent.prompt("go")
        held = slow.waiting
        events = [await anext(slow)]
        while not isinstance(events[-1], AgentEnd):
            events.append(await anext(slow))

    assert held < 40
    texts = [e.delta.text for e in events if isinstance(e, MessageUpdate) and isinstance(e.delta, BlockDelta)]
    assert "".join(texts) == "{}" + story
    assert [event.view.text for event in events if isinstance(event, ToolExecutionUpdate)][-1] == "line 499"


async def test_departed_listener_is_forgotten(make_agent):
    agent = make_agent("one")
    before = channels()

    with agent.listen() as kept:
        dropped = agent.listen()
        async for _ in started(agent):
            break
        del dropped
    del kept

    assert channels() == before


def channels() -> int:
    gc.collect()
    return sum(isinstance(each, Channel) for each in gc.get_objects())


def started(agent):
    listener = agent.listen()
    agent.notify("hello")
    return listener


async def test_concurrent_sync_calls_do_not_end_a_listener(make_agent):
    agent = make_agent("one", "two")
    listener = agent.listen()

    await asyncio.to_thread(agent.prompt_sync, "first")
    await asyncio.to_thread(agent.prompt_sync, "second")
    await agent.close()

    assert [type(event).__name__ async for event in listener].count("AgentEnd") == 2


async def test_listener_wakes_on_events_from_a_run_in_another_thread(make_agent):
    agent = make_agent("one")
    heard: list[Event] = []

    async def read() -> None:
        async for event in agent.listen():
            heard.append(event)

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    await asyncio.to_thread(agent.prompt_sync, "first")
    await until(lambda: heard and isinstance(heard[-1], AgentEnd))
    await agent.close()
    await reading
