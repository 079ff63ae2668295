"""Sample conversation in a shop: deterministic blocks, requests and lists for snapshots."""

from __future__ import annotations

from pathlib import Path

from fakes.decisions import needs_approval
from msgspec.structs import replace

from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import NoticeBlock, ReplyBlock, ThinkingBlock, ToolBlock, UserBlock
from cinch_tui.transcript.tool_call_state import ToolStatus
from harness.messages import AssistantMessage, Text, ToolCall, ToolResult, Usage, user
from harness.risk import Risk
from harness.user_requests import ApprovalRequest, Choice, Question
from harness.views import DiffView, TerminalView, TextView, TodoItem, TodoView, View

OLD = '''"""Prices of a shop."""

from dataclasses import dataclass


@dataclass
class Price:
    amount: int
    currency: str = "EUR"

    def total(self, count):
        # how much for many
        return self.amount * count


def parse(text):
    amount, currency = text.split()
    return Price(int(amount), currency)
'''
NEW = OLD.replace("total(self, count):", "total(self, count: int) -> int:").replace(
    "    return Price(int(amount), currency)\n",
    "    if not amount.isdigit():\n"
    '        raise ValueError(f"not a number: {amount!r}")\n'
    "    return Price(int(amount), currency.upper())\n",
)
CHANGE = DiffView("src/shop/price.py", OLD, NEW)
REPLY = """## Where the time goes

`load` reads **every** line *before* the first is used, see [the notes](https://example.org).

1. read line by line
2. keep the offset of the last
   - [x] in `load`
   - [ ] in `save`

> Measure first.

| file | lines | 说明 |
|------|------:|------|
| a.py |    12 | 读取每一行 |
| price.py | 1200 | 写 |

```python
def load(path: Path) -> list[str]:  # all of it
    return path.read_text().splitlines()
```

中文和 emoji 👩‍👩‍👧 と日本語, e\u0301 and שלום."""
TESTS = "tests/test_price.py F.\n\x1b[31mE   AssertionError: 90 != 90.0\x1b[0m\n1 failed, 1 passed in 0.02s\n"


def call(label: str, summary: str, status: ToolStatus, view: View | None = None, text: str = "") -> ToolBlock:
    block = ToolBlock(label + summary, label, summary)
    block.status, block.view, block.text = status, view, text
    return block


def talk() -> list[TranscriptBlock]:
    """Return a prompt, thinking, and a reply with every Markdown element."""
    thought = ThinkingBlock("The reader wants to know why.\nFirst the loader.")
    return [UserBlock("Why is it slow?\nLook at @src/load.py first."), thought, ReplyBlock(REPLY)]


def work() -> list[TranscriptBlock]:
    """Return tool calls in every state."""
    return [
        UserBlock("Mend the prices, please."),
        ReplyBlock("I look first."),
        call("Read file", "src/shop/price.py  18 lines", "done", TextView(OLD, "python")),
        call("Run command", "python -m pytest -q", "failed", TerminalView("python -m pytest -q", TESTS, 1)),
        call("Edit file", "src/shop/price.py", "done", CHANGE),
        call("Run command", "rm -rf build", "denied", None, "use make clean instead"),
        call("Plan", "3 steps", "done", TodoView((TodoItem("Read", "completed"), TodoItem("Mend", "in_progress")))),
        call("Run command", "make serve", "running", TerminalView("make serve", "building\nlistening on 8000\n")),
        NoticeBlock("Trying again in 4 s (1 of 3): the service is overloaded", "warning"),
        NoticeBlock("The key from environment variable ANTHROPIC_API_KEY was rejected; see #keys.", "error"),
    ]


def _request(tool: str, label: str, summary: str, risk: Risk, view: View) -> ApprovalRequest:
    return ApprovalRequest(
        ToolCall("1", tool, {}),
        label,
        summary,
        needs_approval(risk),
        view,
        cwd=Path("/home/ada/shop"),
    )


EDIT = _request("edit_file", "Edit file", "src/shop/price.py", Risk("edit", "inside the workspace"), CHANGE)
COMMAND = _request(
    "bash",
    "Run command",
    "python -m pytest -q tests",
    Risk("execute"),
    TerminalView("python -m pytest -q tests", ""),
)
DANGER = _request(
    "bash",
    "Run command",
    'git push --force && rm -rf "$HOME/build"',
    Risk("dangerous", "rm deletes files outside the workspace"),
    TerminalView('git push --force && \\\n  rm -rf "$HOME/build"  # [bold]clean[/bold]', ""),
)
SEVERAL = replace(COMMAND, total=3, others=(replace(EDIT, position=2), replace(DANGER, position=3)))
PLAN = """# Move prices to cents

1. Change `Price.amount` to **cents**
2. Adapt `parse` and its tests
3. Run the suite

```python
def parse(text: str) -> Price: ...
```
"""
QUESTION = Question(
    "Which database should the shop use? It decides how the tests run.",
    (Choice("SQLite", "no server, one file"), Choice("PostgreSQL", "as in production"), Choice("Both")),
    editable=True,
)
OPEN_QUESTION = Question("How is the shop to be called?")
FORM = (
    replace(QUESTION, header="Database"),
    Question("Which parts?", (Choice("till"), Choice("stock"), Choice("web")), header="Parts", multi_select=True),
    replace(OPEN_QUESTION, header="Name"),
)
TODO = TodoView((TodoItem("Read", "completed"), TodoItem("Mend", "in_progress"), TodoItem("Test", "pending")))
CHANGED = (("M src/shop/price.py", "+4 −2"), ("A notes.md", "+3 −0"), ("D src/old.py", "+0 −40"))
SAID = (
    user("Mend the prices, please."),
    AssistantMessage(
        (Text("I look first."), ToolCall("1", "read_file", {"path": "src/shop/price.py"})),
        "m",
        "p",
        Usage(input=2, output=60, cache_read=1_500, cache_write=340),
    ),
    ToolResult("1", "read_file", (Text(OLD),)),
)
