from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.dialogs import Host
from textual.widgets import Static

from cinch_tui.screens.plan_review import MarkdownText, PlanScreen
from cinch_tui.transcript.history_blocks import show_result
from cinch_tui.transcript.styles import BlockStyles
from cinch_tui.transcript.tool_block import ToolBlock
from cinch_tui.transcript.tool_lines import body_lines
from harness.messages import Text, ToolResult
from harness.user_requests import Choice, Plan, PlanDecision
from harness.views import TextView

PLAN = """# Move prices to cents

1. Change `Price.amount` to **cents**
2. Adapt `parse` and its tests
3. Run the suite

```python
def parse(text: str) -> Price: ...
```

- no new dependencies, [red]none[/red]
"""
ACCEPTED, REFUSED = PlanDecision(accepted=True), PlanDecision(accepted=False)


def host(plan: str = PLAN, grace: float = 0.0) -> Host:
    return Host(PlanScreen(Plan(plan), grace=grace))


@pytest.mark.parametrize(
    ("keys", "verdict"),
    [
        ("y", ACCEPTED),
        ("enter", ACCEPTED),
        ("escape", REFUSED),
        ("a", PlanDecision(accepted=True, allow_edits=True)),
        ("n", REFUSED),
        ("d enter", REFUSED),
        ("d l e s s enter", PlanDecision(accepted=False, feedback="less")),
        ("down down down enter l e s s enter", PlanDecision(accepted=False, feedback="less")),
        ("d l escape y", ACCEPTED),
        ("j k enter", ACCEPTED),
        ("j j enter", REFUSED),
    ],
)
async def test_each_key_gives_its_verdict(keys: str, verdict: PlanDecision):
    app = host()

    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press(*keys.split())

    assert app.results == [verdict]


async def test_a_long_plan_scrolls():
    app = host("\n\n".join(f"paragraph {number}" for number in range(60)))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("pagedown")
        down = app.screen.query_one("#plan").scroll_offset.y
        await pilot.press("pageup")
        up = app.screen.query_one("#plan").scroll_offset.y

    assert down > 0
    assert up == 0


async def test_typing_for_the_prompt_accepts_no_plan():
    app = host(grace=60)

    async with app.run_test() as pilot:
        await pilot.press("y", "enter")
        assert app.results == []


async def test_plan_is_drawn_like_a_reply_with_distinct_headings_and_coloured_diffs():
    app = host("# One\n\n## Two\n\n```diff\n+new\n-old\n```\n")

    async with app.run_test(size=(80, 24)):
        text = app.screen.query_one(MarkdownText)
        rows = [list(text.render_line(y)) for y in range(text.size.height)]

    style = {segment.text.strip(): segment.style for row in rows for segment in row if segment.style}
    assert (style["One"].underline, style["Two"].underline) == (True, None)
    assert style["One"].color == style["Two"].color
    assert len({style[line].color for line in ("One", "+new", "-old")}) == 3


def test_plan_in_the_conversation_is_drawn_like_a_reply():
    block = ToolBlock("1", "Plan", "Move prices to cents")
    show_result(
        block,
        ToolResult("1", "submit_plan", (Text("yes"),), view=TextView(PLAN, "markdown"), details={"accepted": True}),
    )

    lines = [line.text.strip() for line in body_lines(block, BlockStyles.bare(), 60)]

    assert lines[0] == "Move prices to cents"
    assert "1. Change Price.amount to cents" in lines


def test_picture_of_a_plan(snap_compare):
    assert snap_compare(host(), terminal_size=(80, 24))


async def test_unsent_text_goes_to_the_prompt_and_the_frame_shows_what_escape_does():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        frame = app.screen.query_one("#dialog")
        await pilot.press("d", *"less")
        writing = frame.border_subtitle
        await pilot.press("escape")
        read = frame.border_subtitle or ""
        await pilot.press("y")
        await pilot.pause()

    assert writing == "Enter sends · Esc goes back"
    assert read.endswith("Esc keeps planning")
    assert (app.results, app.typed) == ([ACCEPTED], ["less"])


async def test_plan_edited_in_the_editor_is_what_is_accepted(tmp_path: Path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf '# Only step 1\\n' > \"$1\"\n")
    editor.chmod(0o755)

    class Giving(Host):
        @contextmanager
        def suspend(self) -> Iterator[None]:
            yield

    app = Giving(PlanScreen(Plan(PLAN), grace=0, editor=str(editor)))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e")
        await app.workers.wait_for_complete()
        await pilot.pause()
        heading = str(app.screen.query_one("#heading", Static).render())
        await pilot.press("y")

    assert heading == "Plan (edited by you)"
    assert app.results == [PlanDecision(accepted=True, plan="# Only step 1\n")]


async def test_digit_chooses_an_option_and_the_first_is_the_default():
    options = (Choice("Patch", "small"), Choice("Rewrite", "large"))
    chosen: list[object] = []
    marks: list[str] = []
    for keys in ("y", "2 y", "2 1 y", "4 a"):
        app = Host(PlanScreen(Plan(PLAN, "Prices", options), grace=0))
        async with app.run_test(size=(80, 24)) as pilot:
            heading = str(app.screen.query_one("#heading", Static).render())
            await pilot.press(*keys.split()[:-1])
            marks += ["".join(str(each.render()) for each in app.screen.query(".mark").results(Static))]
            await pilot.press(keys[-1])
        chosen += [each.option for each in app.results if isinstance(each, PlanDecision)]

    assert heading == "Plan: Prices"
    assert marks == ["● 1○ 2", "○ 1● 2", "● 1○ 2", "● 1○ 2"]
    assert chosen == ["Patch", "Rewrite", "Patch", "Patch"]


async def test_plan_changed_by_another_program_is_shown_and_accepted(tmp_path: Path):
    file = tmp_path / "plan.md"
    file.write_text(PLAN)
    app = Host(PlanScreen(Plan(PLAN, file=file), grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        file.write_text("# Other\n")
        heading = app.screen.query_one("#heading", Static)
        while "edited by you" not in str(heading.render()):
            await pilot.pause(0.05)
        file.write_text("# Last\n")
        await pilot.press("y")

    assert app.results == [PlanDecision(accepted=True, plan="# Last\n")]


@pytest.mark.parametrize(("accepted", "status", "folded"), [(True, "done", False), (False, "failed", True)])
def test_accepted_plan_stays_visible_and_rejected_one_is_marked(accepted: bool, status: str, folded: bool):
    block = ToolBlock("1", "Plan", "Move prices to cents")
    text = (Text("The plan was not accepted: too big"),)

    show_result(block, ToolResult("1", "submit_plan", text, view=TextView(PLAN), details={"accepted": accepted}))

    assert (block.status, block.folded) == (status, folded)
    assert ("not accepted: too big" in block.search_text) is not accepted
