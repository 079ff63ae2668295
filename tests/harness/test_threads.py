from __future__ import annotations

import asyncio
import threading

from fakes.runs import calls, results_of, steer_now, texts_of
from fakes.simple_tools import SimpleTool

from harness.inbox import Queue
from harness.messages import user
from harness.ports.tool import ToolOutput
from providers.demo import Hang, Reply, Say

ANSWERED = ["RequestStart", "MessageStart", "MessageUpdate", "MessageUpdate", "MessageUpdate", "MessageEnd"]


def waiting_tool(begun: threading.Event) -> SimpleTool:
    async def work(arguments, context) -> ToolOutput:
        begun.set()
        await asyncio.Event().wait()
        return ToolOutput.text("never")

    return SimpleTool("wait", work)


def once(begun: threading.Event, *work) -> threading.Thread:
    """Start a thread that runs `work` once something has begun."""

    def watch() -> None:
        if begun.wait(5):
            for each in work:
                each()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


async def test_another_thread_can_steer(make_agent, record):
    begun = threading.Event()
    agent = make_agent(calls("wait"), "done", tools=[waiting_tool(begun)])
    events = record(agent)
    thread = once(begun, lambda: steer_now(agent, "leave it"))

    async with asyncio.timeout(5):
        result = await agent.prompt("go")
    thread.join()

    assert result.text == "done"
    assert texts_of(agent) == ["go", "leave it"]
    assert [each.text for each in results_of(agent)] == ["[interrupted after 0.0 s by the user]"]
    first, _, second = " ".join(events.names).partition(" TurnEnd ")
    assert first.endswith("ToolExecutionStart ToolExecutionEnd MessageStart MessageEnd")
    assert second.split() == [
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        *ANSWERED,
        "UsageUpdate",
        "TurnEnd",
        "AgentEnd",
    ]


async def test_another_thread_can_abort(make_agent, record):
    begun = threading.Event()
    agent = make_agent(calls("wait"), tools=[waiting_tool(begun)])
    events = record(agent)
    thread = once(begun, agent.abort)

    async with asyncio.timeout(5):
        result = await agent.prompt("go")
    thread.join()

    assert result.stop_reason == "aborted"
    assert events.names[-6:] == [
        "ToolExecutionStart",
        "ToolExecutionEnd",
        "MessageStart",
        "MessageEnd",
        "TurnEnd",
        "AgentEnd",
    ]


async def test_another_thread_can_abort_a_reply(make_agent, record):
    begun = threading.Event()
    agent = make_agent(Reply((Say("Once"), Hang())))
    events = record(agent)
    agent.subscribe(lambda event: begun.set() if type(event).__name__ == "MessageUpdate" else None)
    thread = once(begun, agent.abort)

    async with asyncio.timeout(5):
        result = await agent.prompt("go")
    thread.join()

    assert result.stop_reason == "aborted"
    assert events.names[-3:] == ["MessageEnd", "TurnEnd", "AgentEnd"]


async def test_another_thread_can_queue_a_follow_up_for_a_run_in_a_third(make_agent):
    begun = threading.Event()
    agent = make_agent(calls("wait"), "first", "second", tools=[waiting_tool(begun)])
    thread = once(begun, lambda: agent.follow_up("and then"), lambda: steer_now(agent, "leave it"))

    async with asyncio.timeout(5):
        result = await asyncio.to_thread(agent.prompt_sync, "go")
    thread.join()

    assert result.text == "second"
    assert texts_of(agent) == ["go", "leave it", "and then"]


def test_abort_after_the_event_loop_was_closed_does_nothing(make_agent):
    agent = make_agent("done")
    agent.prompt_sync("go")

    agent.abort()
    agent.steer("too late")

    assert agent.drain_queues()[0].text == "too late"


def test_messages_sent_by_many_threads_are_delivered_exactly_once():
    queue = Queue("all")
    done = threading.Event()
    taken = []

    def take() -> None:
        while not done.is_set():
            taken.extend(queue.take())

    taker = threading.Thread(target=take)
    taker.start()
    speakers = [
        threading.Thread(target=lambda who=who: [queue.put(user(f"{who}.{n}")) for n in range(300)]) for who in range(4)
    ]
    for speaker in speakers:
        speaker.start()
    for speaker in speakers:
        speaker.join()
    done.set()
    taker.join()

    said = [message.text for message in (*taken, *queue.clear())]
    assert sorted(said) == sorted(f"{who}.{n}" for who in range(4) for n in range(300))
