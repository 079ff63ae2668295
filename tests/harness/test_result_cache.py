from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from fakes.runs import calls, deeds, results_of
from fakes.simple_tools import SimpleTool

from harness.events import Event, ToolCacheHit, ToolExecutionEnd
from harness.execution.cache import ResultCache, lookup_of
from harness.execution.context import Execution
from harness.messages import JsonObject, ToolCall
from harness.ports.hooks import Hooks, Modify
from harness.ports.tool import ToolContext, ToolOutput
from providers.demo import Call, Reply
from tools import builtin_tools

READ = Reply((Call("read_file", {"path": "a.txt"}),))
HIT = ["start read_file", "hit read_file", "end read_file"]
MISS = ["start read_file", "end read_file"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    os.utime(path, (1, 1))
    return path


async def test_repeated_call_is_answered_from_the_cache(make_agent, record):
    look = SimpleTool("look", cacheable=True)
    agent = make_agent(calls("look", a="1", b="2"), Reply((Call("look", {"b": "2", "a": "1"}),)), "done", tools=[look])
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start look", "end look", "start look", "hit look", "end look"]
    assert [result.text for result in results_of(agent)] == ["look ran", "look ran"]
    assert len({result.call_id for result in results_of(agent)}) == 2
    assert len(look.ran) == 1


@pytest.mark.parametrize("second", [calls("look", a="2"), calls("see", a="1")], ids=["arguments", "tool"])
async def test_different_call_is_executed(make_agent, record, second: Reply):
    tools = [SimpleTool("look", cacheable=True), SimpleTool("see", cacheable=True)]
    agent = make_agent(calls("look", a="1"), second, "done", tools=tools)
    happened = record(agent)

    await agent.prompt("go")

    assert happened.of(ToolCacheHit) == []


async def test_nondeterministic_call_is_executed_again(make_agent, record):
    look = SimpleTool("look")
    agent = make_agent(calls("look"), calls("look"), "done", tools=[look])
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start look", "end look"] * 2


async def test_error_is_not_cached(make_agent, record):
    async def fail(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput.failure("not now")

    agent = make_agent(calls("look"), calls("look"), "done", tools=[SimpleTool("look", fail, cacheable=True)])
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start look", "fail look"] * 2


@pytest.mark.parametrize("outcome", ["ends", "fails", "breaks"])
async def test_mutating_call_clears_the_cache_however_it_ends(make_agent, record, outcome: str):
    async def change(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        if outcome == "breaks":
            raise RuntimeError("half-way")
        return ToolOutput.failure("no") if outcome == "fails" else ToolOutput.text("yes")

    tools = [SimpleTool("look", cacheable=True), SimpleTool("change", change, risk="edit")]
    agent = make_agent(calls("look"), calls("change"), calls("look"), "done", tools=tools, approval="off")
    happened = record(agent)

    await agent.prompt("go")

    assert happened.of(ToolCacheHit) == []
    assert len(tools[0].ran) == 2


async def test_denied_change_clears_nothing(make_agent, user, record):
    user.deny()
    tools = [SimpleTool("look", cacheable=True), SimpleTool("change", risk="edit")]
    agent = make_agent(calls("look"), calls("change"), calls("look"), "done", tools=tools)
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events)[-3:] == ["start look", "hit look", "end look"]


async def test_cached_result_expires_after_ten_turns(make_agent, record):
    looks = [calls("look"), *["yes"] * 9, calls("look"), "done", calls("look"), "done"]
    agent = make_agent(*looks, tools=[SimpleTool("look", cacheable=True)])
    happened = record(agent)

    await agent.prompt("turns 1 and 2")
    for _ in range(8):
        await agent.prompt("turns 3 to 10")
    await agent.prompt("turns 11 and 12")
    await agent.prompt("turns 13 and 14")

    look = ["start look", "end look"]
    assert deeds(happened.events) == [*look, "start look", "hit look", "end look", *look]


async def test_new_session_starts_with_an_empty_cache(make_agent, record):
    agent = make_agent(calls("look"), "done", calls("look"), "done", tools=[SimpleTool("look", cacheable=True)])
    happened = record(agent)

    await agent.prompt("go")
    agent.new_session()
    await agent.prompt("go")

    assert happened.of(ToolCacheHit) == []


async def test_zero_capacity_disables_the_cache(make_agent, record):
    agent = make_agent(
        calls("look"),
        calls("look"),
        "done",
        tools=[SimpleTool("look", cacheable=True)],
        execution=Execution(cache_entries=0),
    )
    happened = record(agent)

    await agent.prompt("go")

    assert happened.of(ToolCacheHit) == []


async def test_unchanged_file_is_not_read_again_and_can_be_edited(make_agent, record, file: Path):
    edit = Reply((Call("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "1"}),))
    agent = make_agent(READ, READ, edit, READ, "done", tools=builtin_tools(), approval="off")
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == [*MISS, *HIT, "start edit_file", "end edit_file", *MISS]
    first, second, _, last = results_of(agent)
    assert first.text == second.text
    assert "1\t1\n" in last.text


@pytest.mark.parametrize(("command", "last"), [("test -f a.txt; true", HIT), ("touch b.txt", MISS)])
@pytest.mark.usefixtures("file")
async def test_command_clears_the_cache_unless_it_only_reads(make_agent, record, command: str, last: list[str]):
    agent = make_agent(READ, calls("bash", command=command), READ, "done", tools=builtin_tools(), approval="off")
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == [*MISS, "start bash", "end bash", *last]


def rewrite(file: Path) -> None:
    file.write_text("two\n")


def rewrite_at_the_same_time(file: Path) -> None:
    before = file.stat()
    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_rename(file: Path) -> None:
    other = file.with_name("other")
    other.write_text("two\n")
    os.utime(other, (1, 1))
    other.rename(file)


@pytest.fixture(params=["long ago", "just now", "just now, by a coarse clock"])
def age(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the modification times that the cache sees."""
    if request.param == "long ago":
        later = time.time_ns() + 3600 * 10**9
        monkeypatch.setattr(time, "time_ns", lambda: later)
    elif request.param == "just now, by a coarse clock":
        monkeypatch.setattr(os, "lstat", partial(coarse, os.lstat))


def coarse(lstat: Callable[[object], os.stat_result], path: object) -> os.stat_result:
    """Return the status of a file on a disk that stores times in steps of two seconds."""
    status = lstat(path)
    step = 2 * 10**9
    times = {"st_mtime_ns": status.st_mtime_ns // step * step, "st_ctime_ns": status.st_ctime_ns // step * step}
    return os.stat_result(tuple(status), times)


@pytest.mark.parametrize("change", [rewrite, rewrite_at_the_same_time, replace_by_rename])
@pytest.mark.usefixtures("age")
async def test_file_changed_on_disk_is_read_again(make_agent, record, file: Path, change):
    agent = make_agent(READ, READ, "done", tools=builtin_tools())
    happened = record(agent)

    def meddle(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd) and len(happened.of(ToolExecutionEnd)) == 1:
            change(file)

    agent.subscribe(meddle)
    await agent.prompt("go")

    assert deeds(happened.events) == [*MISS, *MISS]
    assert "two" in results_of(agent)[-1].text


async def test_retargeted_link_is_followed_again(make_agent, record, file: Path, tmp_path: Path):
    (tmp_path / "b.txt").write_text("two\n")
    (tmp_path / "link").symlink_to("a.txt")
    read = Reply((Call("read_file", {"path": "link"}),))
    agent = make_agent(read, "done", read, "done", tools=builtin_tools())
    happened = record(agent)

    await agent.prompt("go")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("b.txt")
    await agent.prompt("go")

    assert happened.of(ToolCacheHit) == []
    assert "two" in results_of(agent)[-1].text


@pytest.mark.usefixtures("age")
async def test_unchanged_file_is_detected_by_times_or_content(make_agent, record, file: Path):
    file.write_text("one\n")
    agent = make_agent(READ, READ, "done", tools=builtin_tools())
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == [*MISS, *HIT]


async def test_folder_is_listed_again(make_agent, record, tmp_path: Path):
    read = Reply((Call("read_file", {"path": "."}),))
    agent = make_agent(read, "done", read, "done", tools=builtin_tools())
    happened = record(agent)

    await agent.prompt("go")
    (tmp_path / "new.txt").touch()
    await agent.prompt("go")

    assert happened.of(ToolCacheHit) == []
    assert "new.txt" in results_of(agent)[-1].text


def slowly(name: str, begins_after: list[JsonObject], **options) -> SimpleTool:
    """Return a tool that starts while the other tool runs, and takes its time."""

    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        while not begins_after:
            await asyncio.sleep(0)
        for _ in range(10):
            await asyncio.sleep(0)
        return ToolOutput.text("done")

    return SimpleTool(name, work, **options)


CHANGE, LOOK = Call("change", {"path": "a"}), Call("look", {})


@pytest.mark.parametrize("slow", ["look", "change"])
async def test_result_computed_during_a_change_is_not_cached(make_agent, record, slow: str):
    other = SimpleTool("change", risk="edit") if slow == "look" else SimpleTool("look", cacheable=True)
    options = {"cacheable": True} if slow == "look" else {"risk": "edit"}
    tools = [slowly(slow, other.ran, **options), other]
    both = (LOOK, CHANGE) if slow == "look" else (CHANGE, LOOK)
    agent = make_agent(Reply(both), Reply((LOOK,)), "done", tools=tools, approval="off")
    happened = record(agent)

    await agent.prompt("go")

    assert happened.of(ToolCacheHit) == []


async def test_no_cached_result_is_returned_during_a_change(make_agent, record):
    look = SimpleTool("look", cacheable=True)
    change = slowly("change", [{}], risk="edit")
    agent = make_agent(Reply((LOOK,)), Reply((CHANGE, LOOK)), "done", tools=[look, change], approval="off")
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events)[2:] == ["start change", "start look", "end look", "end change"]


async def test_mutating_call_is_always_executed(make_agent, record):
    tool = SimpleTool("change", risk="edit", cacheable=True)
    agent = make_agent(calls("change"), calls("change"), "done", tools=[tool], approval="off")
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start change", "end change"] * 2


async def test_arguments_changed_by_a_hook_are_the_cache_key(make_agent, record):
    class Same(Hooks):
        async def before_tool(self, call: ToolCall) -> Modify:
            return Modify({"a": "always"})

    look = SimpleTool("look", cacheable=True)
    agent = make_agent(calls("look", a="1"), calls("look", a="2"), "done", tools=[look], hooks=[Same()])
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events)[-4:] == ["modified", "start look", "hit look", "end look"]
    assert look.ran == [{"a": "always"}]


def test_least_recently_used_results_are_evicted():
    cache = ResultCache(2, 10)
    lookups = [lookup_of("look", {"n": n}, ()) for n in range(3)]

    for lookup in lookups[:2]:
        cache.keep(cache.attempt(lookup), ToolOutput.text("x"), 1)
    cache.find(lookups[0], 1)
    cache.keep(cache.attempt(lookups[2]), ToolOutput.text("x"), 1)

    assert [cache.find(lookup, 1) is not None for lookup in lookups] == [True, False, True]
    assert len(cache) == 2


def test_folder_content_is_never_considered_unchanged():
    cache = ResultCache()

    cache.keep(cache.attempt(lookup_of("look", {}, ("/",))), ToolOutput.text("bin etc usr"), 1)

    assert len(cache) == 0


def test_arguments_without_a_canonical_form_are_not_cached():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]

    assert lookup_of("look", {"a": object()}, ()) is None
    assert lookup_of("look", {"a": deep}, ()) is None
