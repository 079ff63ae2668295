from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.leftovers import break_off_runs, held, model_server
from fakes.runs import until

from harness.agent.agent import Agent
from harness.events import MessageUpdate
from providers import connect


async def test_interrupted_runs_leak_no_task_command_socket_or_file(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    with model_server(tmp_path) as base_url:
        first = await break_off_runs(base_url, tmp_path, 1)
        before = held()
        second = await break_off_runs(base_url, tmp_path, 2)
        after = held()

    assert first + second == ["aborted"] * 36
    # Asyncio keeps the threads that read files; they end with the event loop.
    assert replace(after, threads=0) == replace(before, threads=0)
    assert after.commands == 0


def test_interrupted_runs_leak_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    before = held().threads
    with model_server(tmp_path) as base_url:
        ends = asyncio.run(break_off_runs(base_url, tmp_path, 1))

    assert ends == ["aborted"] * 12
    assert held().threads == before


@pytest.mark.parametrize("how", ["abort", "cancel"])
async def test_repeatedly_stopped_run_leaves_no_connection(tmp_path: Path, monkeypatch, how: str):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    begun = asyncio.Event()
    with model_server(tmp_path) as base_url:
        agent = Agent(connect("openai-chat/m", base_url=base_url))
        agent.subscribe(lambda event: begun.set() if isinstance(event, MessageUpdate) else None)
        before = held().sockets

        run = asyncio.create_task(agent.prompt("go"))
        await begun.wait()
        stop = agent.abort if how == "abort" else run.cancel
        while not run.done():
            stop()
            await asyncio.sleep(0)

        await until(lambda: held().sockets == before)
        await agent.close()
