from __future__ import annotations

from collections.abc import Callable

from fakes.transcript_stage import Stage
from textual.pilot import Pilot

from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import NoticeBlock, ReplyBlock, ThinkingBlock, ToolBlock, UserBlock
from cinch_tui.transcript.tool_call_state import ToolStatus
from harness.views import DiffView, ListingView, TerminalView, TextView, TodoItem, TodoView, View

SIZE = (80, 24)
OLD = "def load(path):\n    text = path.read_text()\n    return text.split(',')\n"
NEW = "def load(path: Path) -> list[str]:\n    text = path.read_text()\n    return text.splitlines()\n"


def call(label: str, summary: str, status: ToolStatus, view: View | None = None, text: str = "") -> ToolBlock:
    block = ToolBlock(label, label, summary)
    block.status, block.view, block.text = status, view, text
    return block


async def settled(pilot: Pilot[None]) -> None:
    assert isinstance(pilot.app, Stage)
    await pilot.app.view.drained()
    await pilot.pause()


def picture(snap_compare: Callable[..., bool], *blocks: TranscriptBlock) -> bool:
    return snap_compare(Stage(*blocks), terminal_size=SIZE, run_before=settled)


def test_a_reply_in_markdown(snap_compare: Callable[..., bool]) -> None:
    reply = """## What was found

`load` reads **every** line *before* the first is used, see [the notes](https://example.org).

1. read line by line
2. keep the offset
   - of the last line
   - of the first

> Measure first.

| file | lines |
|------|------:|
| a.py |    12 |

```python
def load(path: Path) -> list[str]:  # all of it
    return path.read_text().splitlines()
```"""
    thinking = ThinkingBlock("hm")
    assert picture(snap_compare, UserBlock("Why is it slow?"), thinking, ReplyBlock(reply))


def test_calls_folded_to_one_line_each(snap_compare: Callable[..., bool]) -> None:
    blocks = [
        UserBlock("Mend the loader, please.\nAnd run the tests."),
        call("Read", "src/loader.py", "done", TextView("x\n" * 84, "python")),
        call("Grep", "load\\(", "done", ListingView("12 matches", ("a.py:1:load()",) * 12, 12)),
        call("Bash", "pytest -q " + "tests/a_long_path_of_a_test.py " * 4, "failed", TerminalView("pytest", "no", 1)),
        call("Bash", "make serve", "running", TerminalView("make serve", "building\nlistening on 8000\n")),
        call("Write", "src/new.py", "waiting"),
        call("Bash", "rm -rf build", "denied", None, "use make clean"),
        call("Todo", "", "done", TodoView((TodoItem("a", "completed"), TodoItem("b", "pending")))),
        NoticeBlock("Waiting 4 s, the service is overloaded", "warning"),
        NoticeBlock("The connection was cut", "error"),
    ]
    assert picture(snap_compare, *blocks)


def test_calls_unfolded(snap_compare: Callable[..., bool]) -> None:
    todo = TodoView((TodoItem("Read", "completed"), TodoItem("Mend", "in_progress"), TodoItem("Test", "pending")))
    note = "src/loader.py: formatted by ruff format; the file now differs from what you wrote at line 3."
    problem = "New errors after this edit:\nsrc/loader.py:3:5: error: 'os' is not defined [F821]"
    blocks = [
        call("Edit", "src/loader.py", "done", DiffView("src/loader.py", OLD, NEW, note, problem)),
        call("Bash", "pytest -q", "failed", TerminalView("pytest -q", "\x1b[31m1 failed\x1b[0m\n\t2 passed\n", 1)),
        call("Todo", "three steps", "done", todo),
        call("Read", "a.py", "done", TextView("import os\n\nprint(os.name)  # which\n", "python")),
    ]
    for block in blocks:
        block.folded = False
    blocks[1].selected = True
    assert picture(snap_compare, *blocks)


def test_wide_characters_and_emoji(snap_compare: Callable[..., bool]) -> None:
    text = (
        "他说：「请修改这个文件，然后运行测试。」" * 3
        + "\n\n- 項目一 👍\n- 👩‍👩‍👧 family, e\u0301 and ≤ 5\n\n| 名 | 值 |\n|---|---|\n| 中文 | 1 |"
    )
    assert picture(snap_compare, UserBlock("翻译一下：" + "很长的一句话，" * 8), ReplyBlock(text))
