from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.runs import calls, results_of
from msgspec.structs import replace

from harness.agent.policies import LoopDetection
from harness.context.eviction import candidates_for_eviction
from harness.context.overlay import UNCHANGED_SINCE, Compaction, Eviction
from harness.context.policy import ContextPolicy
from harness.context.trimming import Trim
from harness.execution.context import Execution
from harness.messages import AssistantMessage, JsonObject, Message, Text, ToolCall, ToolResult, UserMessage, synthetic
from harness.views import TextView
from providers.demo import Call, Reply
from tools import builtin_tools

READ = calls("read_file", path="a.py")


@pytest.fixture(autouse=True)
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text("".join(f"value_{number} = {number}\n" for number in range(100)))
    return path


async def reads(make_agent, *script: Reply | str, **options: object) -> list[ToolResult]:
    agent = make_agent(*script, "done", tools=builtin_tools(), approval="off", **options)
    await agent.prompt("go")
    return [result for result in results_of(agent) if result.tool_name == "read_file"]


def is_short(result: ToolResult) -> bool:
    return result.text.startswith("[Unchanged since the same call above")


@pytest.mark.parametrize("earlier", [READ, calls("read_file", path="a.py", depends_on=[])])
async def test_second_read_of_an_unchanged_file_refers_to_the_first(make_agent, earlier: Reply):
    first, second = await reads(make_agent, earlier, READ)

    assert second.text == f"[Unchanged since the same call above ({first.call_id}): lines 1–100. Use that result.]"
    assert second.view == TextView(second.text)
    assert not second.is_error


async def test_model_that_insists_gets_the_text_again(make_agent):
    results = await reads(make_agent, READ, READ, READ, READ)

    assert list(map(is_short, results)) == [False, True, False, True]
    assert results[2].text == results[0].text


async def test_reference_does_not_depend_on_the_cache(make_agent):
    results = await reads(make_agent, READ, READ, execution=Execution(cache_entries=0))

    assert list(map(is_short, results)) == [False, True]


@pytest.mark.parametrize(
    ("again", "short"),
    [
        ({"path": "a.py", "offset": 1}, True),
        ({"file_path": "a.py"}, True),
        ({"path": "a.py", "offset": 2}, False),
        ({"path": "a.py", "limit": 90}, False),
    ],
)
async def test_only_the_same_range_counts(make_agent, again: dict[str, str | int], short: bool):
    results = await reads(make_agent, READ, Reply((Call("read_file", again),)))

    assert is_short(results[1]) is short


async def test_changed_file_is_shown_again(make_agent):
    edit = calls("edit_file", path="a.py", old_string="value_7 =", new_string="seven =")
    back = calls("edit_file", path="a.py", old_string="seven =", new_string="value_7 =")

    results = await reads(make_agent, READ, edit, READ, back, READ)

    assert list(map(is_short, results)) == [False, False, False]
    assert "seven" in results[1].text
    assert results[2].text == results[0].text


async def test_small_file_is_shown_again(make_agent, file: Path):
    file.write_text("one = 1\n")

    first, second = await reads(make_agent, READ, READ)

    assert first.text == second.text


async def shortened(messages: Sequence[Message], has_overflowed: bool) -> Sequence[Message]:
    """Evict all results but the latest."""
    return [
        replace(each, content=(Text("[Cleared]"),))
        if isinstance(each, ToolResult) and each is not messages[-1]
        else each
        for each in messages
    ]


async def summarized(messages: Sequence[Message], has_overflowed: bool) -> Sequence[Message]:
    """Replace all but the latest turn."""
    return messages if len(messages) < 5 else [UserMessage((Text("summary"),)), *messages[-2:]]


@pytest.mark.parametrize("transform", [shortened, summarized])
async def test_text_that_left_the_context_is_sent_again(make_agent, transform):
    look = calls("list_files", path=".")

    results = await reads(make_agent, READ, look, READ, transform_context=transform)

    assert list(map(is_short, results)) == [False, False]


async def test_reference_counts_as_the_same_result_for_loop_detection(make_agent):
    agent = make_agent(*[READ] * 5, "done", tools=builtin_tools(), hooks=(LoopDetection(),))

    await agent.prompt("go")

    prompts = [each.text for each in agent.messages if isinstance(each, UserMessage)]
    assert any("has returned the same result 5 times" in text for text in prompts)


async def test_file_that_was_only_referred_to_can_be_edited(make_agent, file: Path):
    edit = calls("edit_file", path="a.py", old_string="value_7 =", new_string="seven =")

    await reads(make_agent, READ, READ, edit)

    assert "seven = 7" in file.read_text()


def conversation(*turns: tuple[str, JsonObject | None]) -> list[Message]:
    """Return turns that each read a file; a turn with details has a short result."""
    messages: list[Message] = []
    for number, (path, details) in enumerate(turns):
        call = ToolCall(f"call-{number}", "read_file", {"path": path})
        text = Text("[Unchanged]" if details else "x" * 4000)
        messages += [AssistantMessage((call,)), ToolResult(call.id, call.name, (text,), details=details, id=call.id)]
    return messages


def test_eviction_keeps_the_text_that_a_young_reference_needs() -> None:
    others = [(f"{number}.py", None) for number in range(4)]
    messages = conversation(("a.py", None), *others, ("a.py", {UNCHANGED_SINCE: "call-0"}))

    candidates = {each.id: each for each in candidates_for_eviction(messages, ContextPolicy(evict_min_age=3), set())}

    assert candidates.keys() == {"call-1", "call-2"}


def test_eviction_does_not_take_a_reference_for_newer_text() -> None:
    others = [(f"{number}.py", None) for number in range(4)]
    messages = conversation(("a.py", None), ("a.py", {UNCHANGED_SINCE: "call-0"}), *others)
    again = conversation(("a.py", None), ("a.py", None), *others)

    first, second = (
        {each.id: each for each in candidates_for_eviction(each, ContextPolicy(evict_min_age=3), set())}["call-0"]
        for each in (messages, again)
    )

    assert [each.rank[0] for each in (first, second)] == [False, True]
    assert first.rank[1] < second.rank[1]


async def test_reference_becomes_a_stub_when_its_original_leaves_the_context(make_agent):
    others = [calls("read_file", path="a.py", limit=90 - number) for number in range(4)]
    agent = make_agent(READ, READ, *others, READ, "done", tools=builtin_tools(), approval="off")
    await agent.prompt("go")
    first, second, *_, last = results_of(agent)
    state = agent.state.context

    def shown(result: ToolResult) -> str:
        messages = state.overlay.shown(agent.messages)
        return next(each.text for each in messages if each.id == result.id)

    before = shown(second)
    state.add_eviction(Eviction(frozenset({first.id})))
    evicted = shown(second)
    agent.pin(first.id)
    restored = shown(second)

    assert (is_short(second), is_short(last), before, restored) == (True, False, second.text, second.text)
    assert evicted == f"[Cleared: read_file(a.py) — {len(first.text):,} chars. Repeat the call if you need it.]"


@pytest.mark.parametrize("change", ["summary", "trim"])
async def test_summary_and_trimming_leave_no_reference_without_its_original(make_agent, change: str):
    agent = make_agent(READ, READ, "done", READ, "done", tools=builtin_tools(), approval="off")
    await agent.prompt("go")
    first = results_of(agent)[0]
    context, ids = agent.state.context, frozenset(each.id for each in agent.messages[1:3])
    if change == "summary":
        context.add_compaction(Compaction(synthetic("A file was read."), ids), 0)
    else:
        context.overlay = replace(context.overlay, trim=Trim(dropped=ids, limit=1_000_000))

    await agent.prompt("again")

    sent = [each for each in agent.state.model.provider.requests[-1].messages if isinstance(each, ToolResult)]
    assert first.id not in {each.id for each in sent}
    assert [is_short(each) for each in sent] == [False, False]
    assert sent[0].text.startswith("[Cleared: read_file")
    assert sent[1].text == first.text
