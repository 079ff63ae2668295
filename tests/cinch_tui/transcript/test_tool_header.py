from __future__ import annotations

import pytest

from cinch_tui.transcript.blocks import NoticeBlock
from cinch_tui.transcript.styles import BlockStyles
from cinch_tui.transcript.tool_block import ToolBlock
from cinch_tui.transcript.tool_call_state import ToolStatus
from cinch_tui.transcript.tool_lines import body_lines, header_line
from harness.views import TerminalView, TextView
from tools.untrusted_text import framed


def header(block: ToolBlock, width: int) -> str:
    return header_line(block, BlockStyles.bare(), width, folded=True, selected=False).text.rstrip()


def ended(status: ToolStatus, summary: str, text: str) -> ToolBlock:
    block = ToolBlock("1", "Bash", summary)
    block.status, block.text = status, text
    return block


@pytest.mark.parametrize(("code", "mark"), [(0, "✓"), (1, "✗"), (None, "✓")])
def test_a_command_that_ended_with_a_status_is_marked_as_failed(code: int | None, mark: str):
    block = ended("done", "make", "")
    block.view = TerminalView("make", "out", code)

    assert header(block, 60).startswith(f"▸ {mark} Bash make")


@pytest.mark.parametrize("status", ["failed", "denied"])
def test_the_reason_of_a_missing_result_wraps_between_words(status: ToolStatus):
    block = ended(status, "a.py", "a.py has not been read in this session. Read it, then change it.")

    lines = [line.text.strip() for line in body_lines(block, BlockStyles.bare(), 40)]

    assert lines == ["a.py has not been read in this", "session. Read it, then change it."]


def test_first_problem_of_a_listed_failure_is_in_the_header():
    block = ended(
        "failed", "", "The arguments of edit_file do not fit its schema:\n- path: required and missing\nSend it again."
    )

    assert header(block, 60) == "▸ ✗ Bash  path: required and missing"


def test_a_failure_does_not_repeat_the_path_before_it():
    block = ended("failed", "src/a.py", "src/a.py: old_string is not in the file.")

    assert header(block, 60) == "▸ ✗ Bash src/a.py  old_string is not in the file."


def test_a_command_without_output_is_reported_as_such():
    block = ended("done", "git status --short", "Exit code: 0\n(no output)")
    block.view = TerminalView("git status --short", "", 0)

    assert header(block, 60) == "▸ ✓ Bash git status --short  no output"


def finished(output: str, code: int = 0, seconds: float = 4.0, summary: str = "make") -> ToolBlock:
    block = ended("done", summary, "")
    block.view, block.duration = TerminalView(summary, output, code), seconds
    return block


def test_folded_call_shows_its_first_line_of_output_before_the_counts():
    block = finished("\n\x1b[32mcollecting\x1b[0m ...\none\ntwo\nthree\n")

    assert header(block, 80) == "▸ ✓ Bash make  collecting ... · 4 lines · 4.0s"


def test_unfolded_call_leaves_its_first_line_to_the_body():
    line = header_line(finished("one\ntwo\n"), BlockStyles.bare(), 80, folded=False, selected=False)

    assert line.text.rstrip() == "▾ ✓ Bash make  2 lines · 4.0s"


def test_single_short_line_of_output_is_shown_once():
    assert header(finished("ready\n", seconds=0.1), 80) == "▸ ✓ Bash make  ready"


def test_long_first_line_is_cut_before_the_counts():
    block = finished("x" * 500 + "\nend\n")

    assert header(block, 200) == f"▸ ✓ Bash make  {'x' * 59}… · 2 lines · 4.0s"
    assert header(block, 48) == f"▸ ✓ Bash make  {'x' * 15}… · 2 lines · 4.0s"


def test_first_line_is_dropped_if_only_the_counts_fit():
    block = finished("first line\nend\n", summary="a long command that nearly fills the line")

    assert header(block, 50).endswith("…  2 lines · 4.0s")


@pytest.mark.parametrize("status", ["done", "failed"])
def test_failed_command_shows_its_last_line_which_says_why(status: ToolStatus):
    block = finished("tests/test_price.py F.\n\n1 failed, 1 passed in 0.1s\n", code=1, summary="pytest")
    block.status = status

    assert header(block, 80) == "▸ ✗ Bash pytest  1 failed, 1 passed in 0.1s · exit 1 · 4.0s"


def test_result_uses_the_width_that_a_short_summary_leaves():
    block = ended("failed", "a.py", "a.py does not exist; look for it with find_files")

    assert header(block, 60) == "▸ ✗ Bash a.py  a.py does not exist; look for it with find_f…"


def test_a_long_question_and_a_long_answer_share_the_line():
    block = ended("failed", "x" * 100, "y" * 100)

    line = header(block, 48)

    assert (line.count("x"), line.count("y")) == (18, 17)


@pytest.mark.parametrize(
    ("reported", "shown"),
    [
        ("there is no theme", "There is no theme"),
        ("approval: on", "Approval: on"),
        ("notes.md is gone", "notes.md is gone"),
        ("#copy takes all", "#copy takes all"),
        ("", ""),
    ],
)
def test_a_notice_starts_with_a_capital_unless_it_starts_with_a_name(reported: str, shown: str):
    assert NoticeBlock(reported).text == shown


@pytest.mark.parametrize("status", ["failed", "denied"])
def test_unfolded_call_shows_its_error_once(status: ToolStatus):
    block = ended(status, "a.py", "use the other file")

    line = header_line(block, BlockStyles.bare(), 60, folded=False, selected=False).text

    assert "use the other file" in header(block, 60)
    assert "use the other file" not in line


def test_denied_call_is_folded_at_once():
    block = ended("denied", "a.py", "The user denied this call.")
    block.is_fresh = True

    assert block.folded
    assert not block.is_fresh


def test_framed_error_is_shown_once_and_without_its_frame():
    block = ended("failed", "", framed("no such issue\nTry 7.", "MCP server github"))
    block.view = TextView("no such issue\nTry 7.")

    assert header(block, 60) == "▸ ✗ Bash  no such issue"
    assert [line.text.strip() for line in body_lines(block, BlockStyles.bare(), 60)] == ["no such issue", "Try 7."]


@pytest.mark.parametrize(
    ("paths", "outcome"), [(["src/a.py"], "src/a.py +2 −1"), (["src/a.py", "my docs/b.md"], "2 files +4 −2")]
)
def test_outcome_of_a_git_diff_is_its_size(paths: list[str], outcome: str):
    diff = "".join(
        f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n-1\n+2\n+3\n"
        for path in paths
    )
    block = ended("done", "git diff", diff)

    assert header(block, 60) == f"▸ ✓ Bash git diff  {outcome}"
