"""Tool calls in the panel while the model writes their arguments."""

from __future__ import annotations

import pytest
from fakes.chat import until
from fakes.chat_stage import chat_stage
from fakes.widget_app import WidgetApp

from cinch_tui.controller import written_calls
from cinch_tui.controller.written_calls import SHOW_AFTER_S, WrittenCalls
from cinch_tui.widgets.tool_panel import ToolPanel
from harness.deltas import BlockDelta, BlockStart
from harness.events import (
    AgentEnd,
    Event,
    MessageDiscarded,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionStart,
)
from harness.messages import AssistantMessage, ToolCall
from tools.builtin import all_tools


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def start(name: str) -> BlockStart:
    return BlockStart(0, "tool_call", "1", name)


async def rows_of(name: str, *parts: str) -> list[str]:
    """Return the panel after each part; the first one comes at once, the others after a while."""
    clock = Clock()
    panel = ToolPanel(clock)
    calls = WrittenCalls(panel, all_tools, clock)
    rows: list[str] = []
    app = WidgetApp(panel, styles=("panel",))
    app.AUTO_FOCUS = ""
    async with app.run_test(size=(80, 24)) as pilot:
        calls.begin(start(name))
        for part in parts:
            calls.add(0, part)
            await pilot.pause()
            rows.append(str(panel.render()).rstrip() if panel.has_calls else "")
            clock.now += SHOW_AFTER_S * 2
    return rows


@pytest.mark.parametrize(
    ("name", "parts", "row"),
    [
        (
            "write_file",
            ['{"path": "src/a', '.py", "content": "def a():\\n    ret'],
            "○ Write file src/a.py  00:01  1 line",
        ),
        ("write_file", ['{"content": "{\\"path\\": \\"b.py\\"}\\n', "\\n"], "○ Write file   00:01  2 lines"),
        ("bash", ['{"command": ', '"make \\"all\\" ', '-j4", "timeout_s"'], '○ Run command make "all" -j4  00:02'),
        ("call_tool", ['{"name": "delete_file", ', '"arguments": {"path": "old.py"'], "○ Delete file old.py  00:01"),
        ("github_search", ['{"query": ', '"a"'], "○ github_search   00:01"),
        ("edit_file", ['["no object', '"path": "\\ud800"'], "○ Edit file ⟨U+D800⟩  00:01"),
    ],
)
async def test_call_is_shown_after_a_while_with_what_is_known_of_it(name: str, parts: list[str], row: str):
    rows = await rows_of(name, *parts)

    assert (rows[0], rows[-1]) == ("", row)


@pytest.fixture
def immediate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written_calls, "SHOW_AFTER_S", 0.0)


def written(name: str, arguments: str) -> list[Event]:
    return [
        MessageStart(message_id="m", role="assistant"),
        MessageUpdate(message_id="m", delta=start(name), kind="tool_call"),
        MessageUpdate(message_id="m", delta=BlockDelta(0, arguments), kind="tool_call"),
    ]


@pytest.mark.usefixtures("immediate")
@pytest.mark.parametrize(
    "after",
    [
        MessageEnd(message=AssistantMessage((ToolCall("1", "write_file", {}),))),
        MessageDiscarded(message_id="m", reason="retry"),
        AgentEnd(stop_reason="aborted"),
    ],
    ids=["written", "discarded", "stopped"],
)
async def test_call_leaves_the_panel_when_it_is_not_written_any_more(after: Event):
    app, widgets, bridge = chat_stage(all_tools)
    async with app.run_test() as pilot:
        for event in written("write_file", '{"path": "a.py", "content": "'):
            bridge.receive(event)
        await pilot.pause()
        before = str(widgets.tool_panel.render())

        bridge.receive(after)

        await until(pilot, lambda: not widgets.tool_panel.has_calls)
        assert before.startswith("○ Write file a.py")


@pytest.mark.usefixtures("immediate")
async def test_call_that_starts_takes_its_row():
    app, widgets, bridge = chat_stage(all_tools)
    call = ToolCall("1", "write_file", {"path": "a.py"})
    async with app.run_test() as pilot:
        for event in written("write_file", '{"path": "a.py", "content": "'):
            bridge.receive(event)
        bridge.receive(MessageEnd(message=AssistantMessage((call,))))
        bridge.receive(ToolExecutionStart(call=call, label="Write file", summary="a.py"))
        await pilot.pause()

        assert str(widgets.tool_panel.render()).startswith("● Write file a.py")


@pytest.mark.usefixtures("immediate")
async def test_changes_of_the_task_list_are_not_shown_while_they_are_written():
    app, widgets, bridge = chat_stage(all_tools)
    async with app.run_test():
        for event in written("todo", '{"items": ['):
            bridge.receive(event)

        assert not widgets.tool_panel.has_calls
