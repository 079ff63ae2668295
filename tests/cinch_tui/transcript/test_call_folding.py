from __future__ import annotations

import pytest
from fakes.chat import until
from fakes.transcript_stage import Stage, numbered, screen

from cinch_tui.transcript import view
from cinch_tui.transcript.blocks import ReplyBlock, ToolBlock, UserBlock
from harness.views import DiffView, ListingView, TerminalView, TextView, View

SMALL = (60, 14)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "SEEN_AFTER", 0.0)


def running(output: str = "") -> ToolBlock:
    block = ToolBlock("1", "Bash", "make")
    block.status, block.view = "running", TerminalView("make", output)
    return block


def over(block: ToolBlock, shown: View | None = None) -> None:
    block.status = "done"
    block.view = shown or block.view


async def test_a_call_is_open_while_it_runs_and_folds_once_it_is_over() -> None:
    app, call = Stage(UserBlock("Go")), running("one\ntwo\n")
    async with app.run_test(size=SMALL) as pilot:
        app.view.add_fresh(call)
        await app.view.drained()

        assert screen(app.view)[2:6] == ["▾ ◐ Bash make  two", "    $ make", "    one", "    two"]

        over(call)
        app.view.settle(call)
        await until(pilot, lambda: call.folded)
        await app.view.drained()

        assert screen(app.view)[2:4] == ["▸ ✓ Bash make  one · 2 lines", ""]
        assert app.view._folding is None


async def test_long_output_shows_its_end_and_a_list_its_start() -> None:
    app, call = Stage(), running("".join(f"row {number}\n" for number in range(10_000)))
    async with app.run_test(size=SMALL):
        app.view.add_fresh(call)
        await app.view.drained()

        assert screen(app.view)[1:10] == ["    $ make", *(f"    row {number}" for number in range(9_992, 10_000))]

        over(call, ListingView("", tuple(f"{number}.py" for number in range(30)), 30))
        app.view.changed(call)
        await app.view.drained()

        assert screen(app.view)[1:10] == [*(f"    {number}.py" for number in range(8)), "    … 22 more lines"]


async def test_a_change_and_what_a_user_opened_stay_open() -> None:
    app, edit, shell = Stage(), running(), running("x\n" * 9)
    async with app.run_test(size=SMALL) as pilot:
        app.view.add_fresh(edit)
        app.view.add_fresh(shell)
        await pilot.press("f2", "f2")
        over(edit, DiffView("a.py", "a\n", "b\n"))
        over(shell)
        for block in (edit, shell):
            app.view.settle(block)
        app.view.follow()
        await until(pilot, lambda: app.view._folding is None)

        assert not edit.folded
        assert not shell.folded
        await app.view.drained()
        assert screen(app.view).count("    x") == 9


@pytest.mark.parametrize("keys", [("shift+left",), ("up",)])
async def test_a_focused_call_is_not_folded(keys: tuple[str, ...]) -> None:
    app, call = Stage(*numbered(9)), running("one\n")
    async with app.run_test(size=SMALL) as pilot:
        app.view.add_fresh(call)
        await app.view.drained()
        await pilot.press(*keys)
        over(call)
        app.view.settle(call)

        app.view._fold_settled()

        assert not call.folded

        app.view._select(None)
        app.view.follow()
        await until(pilot, lambda: call.folded)


async def test_a_removed_call_is_not_folded() -> None:
    app, call = Stage(), running("one\n")
    async with app.run_test(size=SMALL):
        app.view.add_fresh(call)
        over(call)
        app.view.settle(call)
        app.view.drop(call)

        app.view._fold_settled()

        assert app.view._fresh == []


async def test_from_prompt_to_prompt_and_after_the_last_to_the_end() -> None:
    turns = [block for number in range(4) for block in (UserBlock(f"Ask {number}"), ReplyBlock("word\n\n" * 12))]
    app = Stage(*turns)
    async with app.run_test(size=SMALL):
        await app.view.drained()
        tops: list[str] = []
        for _ in range(5):
            app.view.action_previous_prompt()
            await app.view.drained()
            tops.append(screen(app.view)[0])

        assert tops == ["❯ Ask 3", "❯ Ask 2", "❯ Ask 1", "❯ Ask 0", "❯ Ask 0"]

        tops.clear()
        for _ in range(3):
            app.view.action_next_prompt()
            await app.view.drained()
            tops.append(screen(app.view)[0])

        assert tops == ["❯ Ask 1", "❯ Ask 2", "❯ Ask 3"]
        assert not app.view.following

        app.view.action_next_prompt()
        await app.view.drained()

        assert app.view.following


async def test_a_read_file_shows_its_end_while_it_is_fresh() -> None:
    app, call = Stage(), running()
    async with app.run_test(size=SMALL):
        app.view.add_fresh(call)
        over(call, TextView("".join(f"line {number}\n" for number in range(99))))
        app.view.changed(call)
        await app.view.drained()

        assert screen(app.view)[1] == "    line 91"
