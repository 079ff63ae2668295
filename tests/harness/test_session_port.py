"""Recorded sessions behind an async port, so that a program can store them elsewhere (H10: phi 1)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.runs import calls
from fakes.simple_tools import SimpleTool
from filelock import FileLock

from harness.errors import SessionError, SessionLocked, SessionMissing
from harness.parallel.run import ParallelVariant, run_parallel
from harness.parallel.selection import PickFirst
from harness.tracing.recorder import TraceRecorder
from harness.tracing.records import SessionTrace
from harness.tracing.store import AsyncSessionStore, FileSessionStore
from providers.demo import scripted


class InMemory:
    """Store as a program would write it, for example for a database."""

    def __init__(self) -> None:
        self._sessions: dict[str, SessionTrace] = {}

    async def save(self, session: SessionTrace) -> None:
        self._sessions.pop(session.session_id, None)
        self._sessions[session.session_id] = session

    async def load(self, session_id: str) -> SessionTrace:
        if session_id not in self._sessions:
            raise SessionMissing(session_id)
        return self._sessions[session_id]

    async def list_ids(self) -> list[str]:
        return list(reversed(self._sessions))

    async def list_for_agent(self, agent_id: str) -> list[SessionTrace]:
        return [self._sessions[each] for each in await self.list_ids() if self._sessions[each].agent_id == agent_id]

    async def delete(self, session_id: str) -> None:
        if self._sessions.pop(session_id, None) is None:
            raise SessionMissing(session_id)


@pytest.fixture(params=["files", "memory"])
def store(request, tmp_path: Path) -> AsyncSessionStore:
    return FileSessionStore(tmp_path / "sessions", 0.0) if request.param == "files" else InMemory()


async def saved(agent, store: AsyncSessionStore, *prompts: str) -> SessionTrace:
    recorder = TraceRecorder()
    agent.subscribe(recorder.on_event)
    for prompt in prompts:
        await agent.prompt(prompt)
    session = recorder.get_session(agent.session_id)
    assert session is not None
    await store.save(session)
    return session


async def test_session_is_saved_loaded_and_continued_by_another_agent(make_agent, requests, store):
    agent = make_agent(calls("look"), "one", "two", tools=[SimpleTool("look")])
    session = await saved(agent, store, "go", "again")

    loaded = await store.load(agent.session_id)
    assert loaded == session
    assert loaded.history() == agent.messages
    other = make_agent("three", messages=loaded.history(), session_id=loaded.session_id)
    await other.prompt("more")

    assert requests(other)[0].messages[:-1] == agent.messages
    assert other.session_id == agent.session_id


async def test_sessions_are_listed_latest_first_and_by_agent_and_deleted(make_agent, store):
    first, second = make_agent("one"), make_agent("two")
    one = await saved(first, store, "go")
    two = await saved(second, store, "go")

    assert await store.list_ids() == [two.session_id, one.session_id]
    assert await store.list_for_agent(first.agent_id) == [one]
    await store.delete(two.session_id)
    assert await store.list_ids() == [one.session_id]
    with pytest.raises(SessionMissing):
        await store.load(two.session_id)
    with pytest.raises(SessionMissing):
        await store.delete(two.session_id)


async def test_history_of_parallel_runs_is_that_of_the_chosen_one(make_agent):
    agent = make_agent("never asked", tools=[SimpleTool("look")])
    recorder = TraceRecorder()
    agent.subscribe(recorder.on_event)
    branches = [ParallelVariant(scripted(calls("look"), "first")), ParallelVariant(scripted("second"))]

    await run_parallel(agent, "go", branches, PickFirst())

    session = recorder.get_session(agent.session_id)
    assert session is not None
    assert len(session.runs) == 3
    assert session.history() == agent.messages


async def test_locked_session_and_invalid_name_are_reported(make_agent, tmp_path):
    folder = tmp_path / "sessions"
    store = FileSessionStore(folder, lock_timeout_s=0.0)
    session = await saved(make_agent("one"), store, "go")
    path = folder / f"{session.session_id}.json"

    with FileLock(path.with_name(f"{path.name}.lock")), pytest.raises(SessionLocked):
        await store.save(session)
    with pytest.raises(SessionError):
        await store.load("../elsewhere")


async def test_file_access_does_not_block_the_event_loop(make_agent, tmp_path):
    folder = tmp_path / "sessions"
    store = FileSessionStore(folder, lock_timeout_s=30.0)
    session = await saved(make_agent("one"), store, "go")
    lock = FileLock(folder / f"{session.session_id}.json.lock")
    lock.acquire()

    saving = asyncio.create_task(store.save(session))
    await asyncio.sleep(0)
    assert not saving.done()
    lock.release()
    await saving

    assert await store.load(session.session_id) == session
