"""Sessions in a store of the program (phi 1): written in order, restored, and nothing lost when the store fails."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from fakes.family import cast, delegates
from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool
from fakes.talk import rounded
from filelock import FileLock

from harness.approval.modes import PLAN
from harness.context.normalize import MAY_HAVE_RUN
from harness.errors import SessionError, SessionMissing
from harness.events import Notice
from harness.messages import Cost, CustomMessage, ToolResult, Usage, user
from harness.ports.session_store import InMemorySessionStore, SessionStore
from harness.ports.tool import ToolOutput
from harness.session.resume import load_session
from harness.session.stores import FileSessionStore, StoreJournal, load_stored_session
from providers.demo.provider import Reply, Say
from tools.delegate import DelegateTool

ID = "customer-42"


class SlowStore(InMemorySessionStore):
    """Store that writes when `gate` is open and raises while `problem` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.problem = ""
        self.is_waiting = False

    async def append(self, session_id: str, lines: bytes) -> None:
        self.is_waiting = True
        await self.gate.wait()
        if self.problem:
            raise ConnectionError(self.problem)
        await super().append(session_id, lines)


@pytest.fixture(params=["files", "memory"])
def store(request, tmp_path: Path) -> SessionStore:
    return FileSessionStore(tmp_path / "sessions") if request.param == "files" else InMemorySessionStore()


async def test_session_is_stored_and_continued_by_another_agent(make_agent, requests, store):
    agent = make_agent(
        calls("look"), Reply((Say("one"),), usage=Usage(10, 2, cost=Cost(0.5))), tools=[SimpleTool("look")]
    )
    assert not await agent.open_session(store, ID)
    await agent.prompt("go")
    agent.set_mode(PLAN)
    await agent.close()

    other = make_agent("two")
    assert await other.open_session(store, ID)
    before = other.messages
    await other.prompt("more")

    assert before == tuple(rounded(agent.messages))
    assert requests(other)[0].messages[: len(before)] == before
    assert (other.session_id, other.state.mode) == (ID, PLAN)
    assert other.identity.run_count == 2
    loaded = await load_stored_session(store, ID)
    assert list(loaded.messages) == rounded(other.messages)
    assert loaded.warnings == ()


async def test_usage_is_restored(make_agent, store):
    agent = make_agent(
        Reply((Say("one"),), usage=Usage(10, 2, cost=Cost(0.5))),
        Reply((Say("aside"),), usage=Usage(20, 3, cost=Cost(0.25))),
    )
    await agent.open_session(store, ID)
    await agent.prompt("go")
    await agent.ask_side_question("why?")
    await agent.close()

    other = make_agent()
    await other.open_session(store, ID)

    assert other.state.usage == agent.state.usage == Usage(30, 5, cost=Cost(0.75))


async def test_sessions_are_listed_latest_first_and_deleted(store, tmp_path):
    with pytest.raises(SessionMissing):
        await store.read("first")
    for time, session_id in enumerate(("first", "second", "first")):
        await store.append(session_id, b"{}\n")
        for path in tmp_path.rglob(f"{session_id}.jsonl"):
            os.utime(path, (time, time))  # the clock of a file system may not distinguish them

    assert await store.list_ids() == ["first", "second"]
    assert await store.read("first") == b"{}\n{}\n"
    await store.delete("first")
    assert await store.list_ids() == ["second"]
    for missing in (store.read, store.delete):
        with pytest.raises(SessionMissing):
            await missing("first")


async def test_failed_opening_leaves_the_session_that_is_open(make_agent, store):
    class Broken(InMemorySessionStore):
        async def read(self, session_id: str) -> bytes:
            raise ConnectionError("no database")

    agent = make_agent("one")
    await agent.open_session(store, ID)

    with pytest.raises(ConnectionError):
        await agent.open_session(Broken(), "other")
    await agent.prompt("go")

    assert [message.text for message in (await load_stored_session(store, ID)).messages] == ["go", "one"]


async def test_agent_with_a_history_starts_a_session_with_it(make_agent, store):
    agent = make_agent(calls("look"), "one", tools=[SimpleTool("look")])
    await agent.prompt("before")

    await agent.open_session(store, ID)

    assert list((await load_stored_session(store, ID)).messages) == rounded(agent.messages)


async def test_prompt_is_stored_before_it_is_sent_and_a_call_before_it_runs(make_agent, requests):
    store = SlowStore()
    executed: list[bytes] = []

    async def look(arguments, context):
        executed.append(await store.read(ID))
        return ToolOutput.text("seen")

    agent = make_agent(calls("look"), "done", tools=[SimpleTool("look", look)])
    await agent.open_session(store, ID)
    store.gate.clear()
    running = asyncio.create_task(agent.prompt("go"))
    await until(lambda: store.is_waiting)
    for _ in range(20):
        await asyncio.sleep(0)
    assert requests(agent) == []

    store.gate.set()
    await running

    assert b'"cinch-call"' in executed[0]
    assert len(requests(agent)) == 2
    assert list((await load_stored_session(store, ID)).messages) == rounded(agent.messages)


async def test_call_that_was_running_when_the_process_died_may_have_been_executed(make_agent):
    store, died = InMemorySessionStore(), InMemorySessionStore()

    async def look(arguments, context):
        await died.append(ID, await store.read(ID))
        return ToolOutput.text("seen")

    agent = make_agent(calls("look"), "done", tools=[SimpleTool("look", look)])
    await agent.open_session(store, ID)
    await agent.prompt("go")

    other = make_agent()
    await other.open_session(died, ID)

    assert [each.text for each in other.messages if isinstance(each, ToolResult)] == [MAY_HAVE_RUN]


async def test_failure_is_reported_once_and_its_lines_are_stored_in_order_later(make_agent, record):
    store = SlowStore()
    agent = make_agent("one", "two", "three")
    await agent.open_session(store, ID)
    seen = record(agent)
    await agent.prompt("first")
    store.problem = "the database is down"
    result = await agent.prompt("second")

    assert result.text == "two"
    assert len((await load_stored_session(store, ID)).messages) == 2
    with pytest.raises(SessionError):
        await agent.open_session(store, "another")

    store.problem = ""
    await agent.prompt("third")
    assert list((await load_stored_session(store, ID)).messages) == rounded(agent.messages)
    assert [event.text for event in seen.of(Notice)] == [
        "The session cannot be saved: the database is down. It is kept in memory and retried.",
        "The session is saved again; nothing is missing.",
    ]


async def test_store_that_does_not_answer_does_not_stop_a_run():
    store, problems = SlowStore(), []
    store.gate.clear()
    journal = StoreJournal(store, ID, problems.append)

    journal.append(b"1\n")
    await journal.drain(0.01)
    journal.append(b"2\n")
    await asyncio.wait_for(journal.drain(60), 5)

    assert problems == ["The session cannot be saved: no answer within 0.01 seconds. It is kept in memory and retried."]
    store.gate.set()
    await until(lambda: journal.is_saved)
    assert await store.read(ID) == b"1\n2\n"


async def test_events_of_another_session_are_not_stored(make_agent, store):
    agent = make_agent("one", "two")
    await agent.open_session(store, ID)
    await agent.prompt("first")

    agent.new_session()
    await agent.prompt("second")

    assert await store.list_ids() == [ID]
    assert len((await load_stored_session(store, ID)).messages) == 2


async def test_subagent_is_part_of_its_session(make_agent, store):
    found = Reply((Say("Found it."),), usage=Usage(30, 4))
    agent = make_agent(model=cast({"go": [delegates("dig"), "Thanks."], "dig": [found]}), tools=[DelegateTool()])
    await agent.open_session(store, ID)
    await agent.prompt("go")

    other = make_agent()
    await other.open_session(store, ID)

    assert other.messages == tuple(rounded(agent.messages))
    assert other.state.usage == agent.state.usage
    assert b'"isSidechain":true' in await store.read(ID)


def test_session_is_stored_without_an_event_loop_of_the_program(make_agent, store):
    agent = make_agent("one", "two")
    asyncio.run(agent.open_session(store, ID))
    agent.prompt_sync("first")
    agent.prompt_sync("second")

    loaded = asyncio.run(load_stored_session(store, ID))
    assert [each.text for each in loaded.messages] == ["first", "one", "second", "two"]


async def test_file_of_the_file_store_is_a_session_file(make_agent, tmp_path):
    store = FileSessionStore(tmp_path)
    agent = make_agent("one", "two")
    await agent.open_session(store, ID)
    seen: list[Notice] = []
    agent.subscribe(lambda event: seen.append(event) if isinstance(event, Notice) else None)
    path = tmp_path / f"{ID}.jsonl"

    with FileLock(path.with_name(f"{path.name}.lock")):
        await agent.prompt("first")
    await agent.prompt("second")

    assert "open in another cinch" in seen[0].text
    assert list(load_session(path).messages) == rounded(agent.messages)
    with pytest.raises(SessionMissing):
        await store.read("../elsewhere")


async def test_loaded_file_is_restored(make_agent, tmp_path, store):
    agent = make_agent("one")
    files = FileSessionStore(tmp_path)
    await agent.open_session(files, ID)
    await agent.prompt("first")

    other = make_agent()
    other.restore_session(load_session(tmp_path / f"{ID}.jsonl"))

    assert other.messages == tuple(rounded(agent.messages))
    assert other.session_id == ID


async def test_damaged_line_of_a_stored_session_is_reported(make_agent):
    store = InMemorySessionStore()
    agent = make_agent("one")
    await agent.open_session(store, ID)
    await agent.prompt("first")
    await store.append(ID, b'{"parentUuid":nonsense\n')
    seen: list[Notice] = []

    other = make_agent("two")
    other.subscribe(lambda event: seen.append(event) if isinstance(event, Notice) else None)
    await other.open_session(store, ID)
    other.append_messages([user("second")])
    await other.close()

    assert "cannot be read" in seen[0].text
    assert len((await load_stored_session(store, ID)).messages) == 3


async def test_resumed_session_keeps_the_order_of_its_tools(make_agent, requests, store):
    look, run, write = (SimpleTool(name) for name in ("look", "run", "write"))
    agent = make_agent("one", tools=[look, run, write])
    await agent.open_session(store, ID)
    await agent.prompt("go")
    await agent.close()

    other = make_agent("two", tools=[SimpleTool("new"), write, look])
    await other.open_session(store, ID)
    await other.prompt("more")

    assert [tool.name for tool in requests(other)[0].tools] == ["look", "write", "new"]
    loaded = await load_stored_session(store, ID)
    assert [*loaded.tools] == ["look", "write", "new"]


async def test_replaced_history_is_what_a_resume_restores(make_agent, store):
    read = calls("look", where="here")
    agent = make_agent(read, "seen", read, "again", "more", tools=[SimpleTool("look")])
    await agent.open_session(store, ID)
    for prompt in ("one", "two"):
        await agent.prompt(prompt)
    agent.append_messages([CustomMessage("note", {"page": 1})])
    first, *rest = agent.messages
    kept = [first, *rest[3:-1], CustomMessage("note", {"page": 2})]

    agent.replace_messages(kept)
    await agent.prompt("three")
    await agent.close()
    other = make_agent()
    await other.open_session(store, ID)

    assert [each.id for each in other.messages] == [each.id for each in agent.messages]
    assert [each.id for each in other.messages[: len(kept)]] == [each.id for each in kept]


async def test_cleared_history_stays_empty_after_a_resume(make_agent, store):
    agent = make_agent("done")
    await agent.open_session(store, ID)
    await agent.prompt("one")
    agent.clear_messages()
    await agent.close()

    other = make_agent()
    await other.open_session(store, ID)

    assert other.messages == ()
