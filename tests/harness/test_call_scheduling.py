from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.runs import calls, deeds, results_of, until
from fakes.simple_tools import SimpleTool
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.execution.context import Execution
from harness.execution.schedule import Claim, ResourceLocks
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from providers.demo import Call, Reply
from tools import builtin_tools

READ_BOTH = Reply((Call("read_file", {"path": "a.txt"}), Call("read_file", {"path": "b.txt"})))


def together(name: str, meeting: asyncio.Barrier, **options) -> SimpleTool:
    """Return a tool that ends only if the expected number of calls run concurrently."""

    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        async with asyncio.timeout(2):
            await meeting.wait()
        return ToolOutput.text(f"{name} met")

    return SimpleTool(name, work, **options)


def breather(name: str, **options) -> SimpleTool:
    """Return a tool that yields to the event loop a few times before it ends."""

    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        for _ in range(20):
            await asyncio.sleep(0)
        return ToolOutput.text(f"{name} ran")

    return SimpleTool(name, work, **options)


def on(path: str, *names: str) -> Reply:
    return Reply(tuple(Call(name, {"path": path}) for name in names))


def edit(path: str, old: str, new: str) -> Call:
    return Call("edit_file", {"path": path, "old_string": old, "new_string": new})


async def test_waiting_calls_run_concurrently_and_answer_in_call_order(make_agent, record):
    meeting = asyncio.Barrier(2)
    later = asyncio.Event()

    async def first(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await meeting.wait()
        await later.wait()
        return ToolOutput.text("first")

    async def second(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await meeting.wait()
        asyncio.get_running_loop().call_soon(later.set)
        return ToolOutput.text("second")

    agent = make_agent(calls("one", "two"), "done", tools=[SimpleTool("one", first), SimpleTool("two", second)])
    happened = record(agent)

    async with asyncio.timeout(2):
        await agent.prompt("go")

    assert deeds(happened.events) == ["start one", "start two", "end two", "end one"]
    assert [result.text for result in results_of(agent)] == ["first", "second"]


async def test_sequential_calls_start_after_the_previous_has_ended(make_agent, record):
    tools = [breather("one"), breather("two")]
    agent = make_agent(calls("one", "two"), "done", tools=tools, execution=Execution("sequential"))
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start one", "end one", "start two", "end two"]


async def test_concurrency_limit_runs_that_many_calls_at_once(make_agent, record):
    meeting = asyncio.Barrier(2)
    tools = [together("one", meeting), together("two", meeting), breather("three")]
    agent = make_agent(calls("one", "two", "three"), "done", tools=tools, execution=Execution(2))
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events)[:2] == ["start one", "start two"]
    assert deeds(happened.events)[-2:] == ["start three", "end three"]
    assert [result.is_error for result in results_of(agent)] == [False, False, False]


async def test_two_edits_of_a_file_and_a_read_elsewhere_all_complete(make_agent, record, tmp_path: Path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").write_text("other\n")
    batch = Reply((edit("a.txt", "one", "1"), edit(str(tmp_path / "a.txt"), "two", "2"), *READ_BOTH.parts[1:]))
    agent = make_agent(READ_BOTH, batch, "done", tools=builtin_tools(), approval="off")
    happened = record(agent)

    await agent.prompt("go")

    done = deeds(happened.events)[4:]
    assert (tmp_path / "a.txt").read_text() == "1\n2\n"
    assert [result.is_error for result in results_of(agent)] == [False] * 5
    assert "other" in results_of(agent)[-1].text
    assert [each for each in done if each.endswith("edit_file")] == ["start edit_file", "end edit_file"] * 2
    assert done.index("start read_file") < done.index("end edit_file")


async def test_read_after_an_edit_in_the_same_reply_sees_it(make_agent, tmp_path: Path):
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt").write_text("other\n")
    batch = Reply((edit("a.txt", "one", "1"), Call("read_file", {"path": "./a.txt"})))
    agent = make_agent(READ_BOTH, batch, "done", tools=builtin_tools(), approval="off")

    await agent.prompt("go")

    assert "1\t1\n" in results_of(agent)[-1].text


async def test_command_runs_exclusively_except_with_calls_that_touch_nothing(make_agent, record):
    meeting = asyncio.Barrier(2)
    tools = [
        breather("read"),
        together("shell", meeting, risk="execute"),
        breather("late_read"),
        together("note", meeting, risk="none"),
    ]
    agent = make_agent(calls("read", "shell", "late_read", "note"), "done", tools=tools, approval="off")
    happened = record(agent)

    await agent.prompt("go")

    done = deeds(happened.events)
    assert [each for each in done if not each.endswith("note")] == [
        "start read",
        "end read",
        "start shell",
        "end shell",
        "start late_read",
        "end late_read",
    ]
    assert done.index("start note") < done.index("start shell")


async def test_search_waits_for_edits_of_the_files_in_its_folder(make_agent, tmp_path: Path):
    (tmp_path / "a.txt").write_text("old\n")
    searches = (Call("grep", {"pattern": "old|new"}), Call("find_files", {"pattern": "*.txt"}))
    reply = Reply((Call("read_file", {"path": "a.txt"}),))
    changes = Reply((edit("a.txt", "old", "new"), Call("write_file", {"path": "b.txt", "content": "x"}), *searches))
    agent = make_agent(reply, changes, "done", tools=builtin_tools(), approval="off")

    await agent.prompt("go")

    *_, found, files = results_of(agent)
    assert "1: new" in found.text
    assert "b.txt" in files.text


async def test_edits_of_different_files_run_concurrently(make_agent):
    meeting = asyncio.Barrier(2)
    tools = [together("one", meeting, risk="edit"), together("two", meeting, risk="edit")]
    batch = Reply((Call("one", {"path": "a"}), Call("two", {"path": "b"})))
    agent = make_agent(batch, "done", tools=tools, approval="off")

    await agent.prompt("go")

    assert [result.text for result in results_of(agent)] == ["one met", "two met"]


@pytest.mark.parametrize(("one", "other"), [("a", "link"), ("a", "x/../a"), (".", "a"), ("x/deep/file", "x")])
async def test_file_under_two_names_is_one_file(make_agent, record, tmp_path: Path, one: str, other: str):
    (tmp_path / "link").symlink_to("a")
    tools = [breather("change", risk="edit"), breather("look")]
    agent = make_agent(
        Reply((Call("change", {"path": one}), Call("look", {"path": other}))), "done", tools=tools, approval="off"
    )
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start change", "end change", "start look", "end look"]


async def test_reads_of_the_same_file_run_concurrently(make_agent):
    meeting = asyncio.Barrier(2)
    agent = make_agent(on("a", "one", "two"), "done", tools=[together("one", meeting), together("two", meeting)])

    await agent.prompt("go")

    assert [result.text for result in results_of(agent)] == ["one met", "two met"]


async def test_call_with_an_unresolvable_path_conflicts_with_everything(make_agent, record):
    tools = [breather("change", risk="edit"), breather("look")]
    batch = Reply((Call("change", {"path": "\0"}), Call("look", {"path": "a"})))
    agent = make_agent(batch, "done", tools=tools, approval="off")
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start change", "end change", "start look", "end look"]


async def test_unassessable_call_does_not_block_the_others(make_agent, record):
    class Broken(SimpleTool):
        def risk(self, arguments: JsonObject) -> Risk:
            raise RuntimeError("a bug")

    agent = make_agent(
        calls("look", "broken", "see"), "done", tools=[breather("look"), Broken("broken"), breather("see")]
    )
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start broken", "fail broken", "start look", "start see", "end look", "end see"]
    assert [result.text for result in results_of(agent)] == [
        "look ran",
        "broken failed: RuntimeError: a bug",
        "see ran",
    ]


async def test_terminating_output_skips_the_next_turn(make_agent, record, requests):
    async def finish(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput((), terminate=True)

    agent = make_agent(calls("look", "finish"), "never", tools=[SimpleTool("look"), SimpleTool("finish", finish)])
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.stop_reason == "stop"
    assert len(requests(agent)) == 1
    assert deeds(happened.events) == ["start look", "end look", "start finish", "end finish"]
    assert happened.names[-2:] == ["TurnEnd", "AgentEnd"]


async def test_waiting_call_gets_a_result_on_abort(make_agent, record):
    async def hang(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await asyncio.Event().wait()
        return ToolOutput.text("never")

    tools = [SimpleTool("hang", hang, risk="edit"), SimpleTool("wait", risk="edit")]
    agent = make_agent(on("a", "hang", "wait"), tools=tools, approval="off")
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[0].ran)
    agent.abort()
    await run

    assert deeds(happened.events) == ["start hang", "fail hang", "start wait", "fail wait"]
    assert not tools[1].ran


paths = st.sampled_from(["/a", "/a/b", "/a/b/c", "/d"])
claims = st.builds(Claim, st.just(False) | st.booleans(), st.booleans(), st.lists(paths, max_size=2).map(tuple))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(claims, st.integers(0, 3)), min_size=1, max_size=7))
def test_conflicting_calls_never_overlap_and_all_complete(visits: list[tuple[Claim, int]]):
    async def visit(floor: ResourceLocks, place: int, inside: dict[int, Claim]) -> None:
        claim, steps = visits[place]
        await floor.acquire(place)
        assert not any(claim.conflicts(theirs) for theirs in inside.values())
        inside[place] = claim
        for _ in range(steps):
            await asyncio.sleep(0)
        del inside[place]
        floor.release(place)

    async def live() -> None:
        floor = ResourceLocks([claim for claim, _ in visits])
        inside: dict[int, Claim] = {}
        async with asyncio.timeout(2), asyncio.TaskGroup() as group:
            for place in range(len(visits)):
                group.create_task(visit(floor, place, inside))

    asyncio.run(live())
