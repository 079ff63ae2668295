from __future__ import annotations

from collections.abc import Set
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.conversations import FakeConversation
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.context.tokens import estimate_messages
from harness.errors import InvalidArguments
from harness.messages import AssistantMessage, JsonObject, Message, Text, ToolCall, ToolResult, synthetic, user
from harness.ports.tool import ToolOutput
from harness.risk import Risk
from tools.prun import PrunTool, PrunWithMemoTool
from tools.revert import RevertTool
from tools.typed import Parameters, TypedTool


def turn(number: int, size: int = 400) -> list[Message]:
    call = ToolCall(f"c{number}", "read_file", {"path": f"{number}.py"})
    reply = AssistantMessage((call,), id=f"reply-{number}")
    return [reply, ToolResult(call.id, "read_file", (Text("x" * 4 * size),), id=f"result-{number}")]


def conversation(pinned: Set[str] = frozenset()) -> FakeConversation:
    """Return a prompt, turns 1 and 2, another prompt, turns 3 to 5, and the reply with the call that runs."""
    current = AssistantMessage((ToolCall("call/1", "prun", {}),), id="current")
    messages = [user("first"), *turn(1), *turn(2), user("second"), *turn(3), *turn(4), *turn(5), current]
    return FakeConversation(messages, pinned)


async def run(tool: TypedTool[Parameters], folder: Path, found: FakeConversation, **arguments: object) -> ToolOutput:
    context = replace(tool_context(folder), conversation=found)
    return await tool.run(tool.validate(dict(arguments)), context)


def text_of(output: ToolOutput) -> str:
    return "".join(block.text for block in output.content if isinstance(block, Text))


def shown(found: FakeConversation) -> list[str]:
    return [each.text if not isinstance(each, ToolResult) and each.text else each.id for each in found.context()]


async def test_prun_removes_the_latest_turns_first(tmp_path: Path):
    found = conversation()

    output = await run(PrunTool(), tmp_path, found, tokens=500)

    (note,) = found.notes
    assert text_of(output) == "Removed 4 messages, about 816 tokens, from the context."
    assert note.startswith("[4 messages were removed from the context with prun.")
    assert shown(found) == [
        "first", "reply-1", "result-1", "reply-2", "result-2", "second", "reply-3", "result-3", note, "current",
    ]  # fmt: skip


async def test_prun_never_removes_messages_of_the_user_or_pinned_ones(tmp_path: Path):
    found = conversation(pinned={"result-4"})

    await run(PrunWithMemoTool(), tmp_path, found, tokens=100_000, memo="The lexer is in 1.py.")

    (note,) = found.notes
    assert note.startswith("[Memo: The lexer is in 1.py.]\n[8 messages were removed")
    assert shown(found) == ["first", note, "second", "reply-4", "result-4", "current"]


async def test_prun_without_turns_fails(tmp_path: Path):
    found = FakeConversation([user("first"), AssistantMessage((ToolCall("call/1", "prun", {}),))])

    output = await run(PrunTool(), tmp_path, found, tokens=10)

    assert output.is_error
    assert not found.notes


@pytest.mark.parametrize("step", ["n3", "3", "-3", "[n3]"])
async def test_revert_leaves_a_tagged_note_after_the_step(step: str, tmp_path: Path):
    found = conversation()

    output = await run(RevertTool(), tmp_path, found, category="failure", step=step, summary="The regex is too slow.")

    (note,) = found.notes
    assert note.startswith("[Lesson: The regex is too slow.]\n[4 messages after n3 were removed from the context.")
    assert text_of(output).startswith("Removed 4 messages after n3, about 816 tokens")
    assert shown(found)[-4:] == ["reply-3", "result-3", note, "current"]


@pytest.mark.parametrize(
    ("category", "tag"), [("tangent", "Finding"), ("completion", "Outcome"), ("step-summary", "Checkpoint")]
)
async def test_note_is_tagged_by_category(category: str, tag: str, tmp_path: Path):
    found = conversation()

    await run(RevertTool(), tmp_path, found, category=category, step="n4", summary="s")

    assert found.notes[0].startswith(f"[{tag}: s]")


async def test_revert_refuses_to_remove_a_message_of_the_user(tmp_path: Path):
    found = conversation()

    output = await run(RevertTool(), tmp_path, found, category="failure", step="n1", summary="s")

    assert output.is_error
    assert text_of(output).endswith("must stay: 'second'. The earliest step to return to is n3.")
    assert not found.notes


@pytest.mark.parametrize("step", ["n9", "n0", "-9", "here"])
async def test_unknown_step_lists_the_steps(step: str, tmp_path: Path):
    output = await run(RevertTool(), tmp_path, conversation(), category="failure", step=step, summary="s")

    assert output.is_error
    assert "n4: read_file(4.py)\nn5: read_file(5.py)" in text_of(output)


async def test_last_step_leaves_nothing_to_remove(tmp_path: Path):
    output = await run(RevertTool(), tmp_path, conversation(), category="failure", step="n5", summary="s")

    assert output.is_error


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (PrunTool(), {"tokens": 0}),
        (PrunWithMemoTool(), {"tokens": 5, "memo": ""}),
        (RevertTool(), {"category": "mistake", "step": "n1", "summary": "s"}),
    ],
)
def test_unusable_arguments_are_rejected(tool: TypedTool[Parameters], arguments: JsonObject):
    with pytest.raises(InvalidArguments):
        tool.validate(arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (PrunTool(), {"tokens": 1}),
        (PrunWithMemoTool(), {"tokens": 1, "memo": "m"}),
        (RevertTool(), {"category": "failure", "step": "n1", "summary": "s"}),
    ],
)
def test_editing_the_context_needs_no_approval(tool: TypedTool[Parameters], arguments: JsonObject):
    assert tool.risk(arguments) == Risk("none")


MESSAGES = st.lists(st.sampled_from(["user", "turn", "reply", "note"]), max_size=14)


@settings(max_examples=100, deadline=None)
@given(MESSAGES, st.integers(1, 3_000), st.data())
async def test_context_stays_valid_whatever_is_removed(kinds: list[str], tokens: int, data: st.DataObject):
    messages: list[Message] = []
    for at, kind in enumerate(kinds):
        made = {
            "user": [user("u")],
            "turn": turn(at),
            "reply": [AssistantMessage((Text("r"),))],
            "note": [synthetic("n")],
        }
        messages += made[kind]
    pinned = set(data.draw(st.lists(st.sampled_from([each.id for each in messages])))) if messages else set()
    messages.append(AssistantMessage((ToolCall("call/1", "prun", {}),)))
    found = FakeConversation(messages, pinned)
    kept = [each.id for each in messages if each.id in pinned or not isinstance(each, AssistantMessage | ToolResult)]

    await run(PrunTool(), Path("/tmp"), found, tokens=tokens)

    left = found.context()
    replies = [call.id for each in left if isinstance(each, AssistantMessage) for call in each.tool_calls]
    assert replies == [*(each.call_id for each in left if isinstance(each, ToolResult)), "call/1"]
    assert set(kept) <= {each.id for each in left}
    assert estimate_messages(left) <= estimate_messages(messages) + 40
