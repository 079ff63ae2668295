from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

from fakes.runs import calls
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.limits import Limits
from harness.events import MessageUpdate
from harness.messages import Usage
from harness.ports.provider import ModelInfo, Price
from providers.demo import Call, Hang, Reply, Say, scripted

ROOT = Path(__file__).parents[2]


async def test_leaving_a_stream_early_aborts_the_run(make_agent):
    agent = make_agent(Reply((Say("a long story"), Hang())))

    events = agent.stream("hi")
    async for event in events:
        if isinstance(event, MessageUpdate):
            break
    await events.aclose()

    assert not agent.is_running


def test_prompt_sync_works_twice_without_an_event_loop(make_agent):
    agent = make_agent(calls("look"), "first", calls("look"), "second", tools=[SimpleTool("look")])

    assert agent.prompt_sync("hi").text == "first"
    assert agent.prompt_sync("hi").text == "second"


async def test_prompt_sync_works_while_another_event_loop_runs(make_agent):
    agent = make_agent("hello")

    assert agent.prompt_sync("hi").text == "hello"


async def test_raising_subscriber_is_removed_and_the_run_continues(make_agent):
    agent = make_agent("hello")
    heard = []

    def broken(event):
        heard.append(event)
        raise RuntimeError("no")

    agent.subscribe(broken)

    assert (await agent.prompt("hi")).text == "hello"
    assert len(heard) == 1


class SlowFacts:
    """Model information that is known only after it has been awaited."""

    def __init__(self) -> None:
        self.now: ModelInfo | None = None

    async def load(self) -> ModelInfo:
        self.now = ModelInfo(price=Price(input=1_000_000.0, output=0.0))
        return self.now


async def test_usage_before_the_price_was_known_counts_against_the_limit(make_agent):
    spent = Reply((Call("look", {}),), usage=Usage(input=3))
    model = replace(scripted(spent, spent, "never"), info=SlowFacts())
    agent = make_agent(model=model, tools=[SimpleTool("look")], limits=Limits(max_cost=2.0))

    result = await agent.prompt("go")

    assert result.limit == "cost"
    assert result.usage.cost is not None
    assert result.usage.cost.total == 3.0


def test_ctrl_c_during_prompt_sync_aborts_the_run():
    # A background process of a script ignores Ctrl+C.
    code = """
import signal
from harness import Agent
from providers.demo import scripted

signal.signal(signal.SIGINT, signal.default_int_handler)
agent = Agent(scripted("word " * 100_000, delay=0.01))
agent.subscribe(lambda event: print(type(event).__name__, flush=True))
agent.prompt_sync("go")
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout is not None
        while process.stdout.readline().strip() != "RequestStart":
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)

    assert out.split()[-1] == "AgentEnd"
    assert "KeyboardInterrupt" in err
