from __future__ import annotations

import io

from cinch_tui.print_mode.printers import ProgressReporter
from cinch_tui.print_mode.stream_json import event_lines
from harness.events import HookRan, ToolExecutionEnd
from harness.messages import Text, ToolResult

BLOCKED = HookRan(
    point="before_tool",
    outcome="blocked",
    call_id="1",
    result=ToolResult("1", "bash", (Text("not on a Friday"),), is_error=True),
)


def test_stream_json_has_the_answer_to_a_blocked_call():
    (line,) = event_lines(BLOCKED, "session")

    assert line["type"] == "user"
    (block,) = line["message"]["content"]
    assert (block["type"], block["tool_use_id"], block["is_error"]) == ("tool_result", "1", True)


def test_stream_json_has_no_line_for_what_else_hooks_do():
    assert list(event_lines(HookRan(point="before_tool", outcome="modified", call_id="1"), "session")) == []


def test_verbose_mode_reports_a_blocked_call():
    stream = io.StringIO()

    ProgressReporter(stream, verbose=True)(BLOCKED)

    assert stream.getvalue() == "cinch: bash was blocked: not on a Friday\n"


def test_verbose_print_mode_leaves_a_denied_call_to_the_end_of_the_run():
    stream = io.StringIO()
    denied = ToolResult("1", "bash", (Text("nobody could be asked"),), is_error=True, details={"denied": True})

    ProgressReporter(stream, verbose=True)(ToolExecutionEnd(result=denied, duration=0.0))

    assert stream.getvalue() == ""
