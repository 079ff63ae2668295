from __future__ import annotations

import asyncio
import contextlib
import threading
import time

import pytest
from fakes.runs import calls, results_of

from harness import Agent, ToolContext, tool
from harness.execution.context import Execution


def stop(agent: Agent, how: str) -> None:
    """Stop the call that runs; its time is up on its own."""
    match how:
        case "abort":
            agent.abort()
        case "interrupt":
            agent.interrupt()
        case "cancel":
            agent.cancel_call(agent.history.last_reply().tool_calls[0].id)
        case _:
            pass


async def wait_in_thread(event: threading.Event) -> None:
    await asyncio.to_thread(event.wait, 5)


@pytest.mark.parametrize("how", ["abort", "interrupt", "cancel", "timeout"])
async def test_sync_function_tool_sees_its_cancellation(make_agent, how: str):
    begun, stopped = threading.Event(), threading.Event()
    seen: list[bool] = []

    @tool(risk="none")
    def work(context: ToolContext) -> None:
        """Works until it is cancelled."""
        seen.append(context.cancelled)
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                context.raise_if_cancelled()
                time.sleep(0.001)
        seen.append(context.cancelled)
        stopped.set()

    limits = Execution(timeouts={"work": 0.02}) if how == "timeout" else Execution()
    agent = make_agent(calls("work"), "done", tools=[work], execution=limits)

    run = asyncio.create_task(agent.prompt("go"))
    await wait_in_thread(begun)
    stop(agent, how)
    await run
    await wait_in_thread(stopped)

    assert stopped.is_set()
    assert seen == [False, True]
    assert results_of(agent)[0].is_error


async def test_async_tool_sees_the_abort_of_its_run(make_agent):
    seen: list[bool] = []

    @tool(risk="none")
    async def work(context: ToolContext) -> str:
        """Works."""
        agent.abort()
        seen.append(context.cancelled)
        with pytest.raises(asyncio.CancelledError):
            context.raise_if_cancelled()
        await asyncio.sleep(30)
        return "never"

    agent = make_agent(calls("work"), "done", tools=[work])

    result = await agent.prompt("go")

    assert result.stop_reason == "aborted"
    assert seen == [True]


def test_prompt_sync_returns_after_an_abort_while_a_function_still_runs(make_agent):
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    @tool(risk="none")
    def work() -> str:
        """Does not look whether it is cancelled."""
        begun.set()
        release.wait(30)
        ended.set()
        return "too late"

    agent = make_agent(calls("work"), "done", tools=[work])

    def abort() -> None:
        begun.wait(5)
        agent.abort()

    threading.Thread(target=abort).start()
    result = agent.prompt_sync("go")

    assert result.stop_reason == "aborted"
    assert not ended.is_set()
    release.set()
    assert ended.wait(5)
    assert results_of(agent)[0].text.startswith("[interrupted after")
