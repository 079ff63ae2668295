from __future__ import annotations

from collections.abc import Callable

from fakes.transcript_stage import Stage, numbered
from textual.pilot import Pilot

from cinch_tui.keybindings.prompt_keys import FocusPrompt
from cinch_tui.transcript.blocks import ReplyBlock, ToolBlock, UserBlock
from harness.views import DiffView, TerminalView

SMALL = (60, 14)
CODES = "First:\n\n```python\na = 1\n```\n\nthen\n\n    b = 2\n\n- and\n  ```\n  c = 3\n  ```"


def call() -> ToolBlock:
    block = ToolBlock("1", "Bash", "make")
    block.status, block.view = "done", TerminalView("make -k", "one\ntwo\n", 0)
    return block


async def test_a_block_is_chosen_by_key_and_copied_as_it_was_written() -> None:
    app = Stage(UserBlock("Do **it**"), call(), ReplyBlock("Done, *really*."))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("shift+up", "y", "shift+up", "y", "shift+up", "y", "shift+down", "y")

        assert app.heard == [
            "Done, *really*.",
            "$ make -k\none\ntwo",
            "Do **it**",
            "$ make -k\none\ntwo",
        ]


async def test_copying_an_edit_copies_its_diff() -> None:
    edit = ToolBlock("1", "Edit", "a.py")
    edit.status, edit.text, edit.view = "done", "Replaced 1 line.", DiffView("a.py", "one\n", "two\n")
    app = Stage(edit)
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("shift+up", "y")

        assert app.heard == ["--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-one\n+two"]


async def test_line_selection_starts_in_the_visible_lines() -> None:
    app = Stage(*numbered(40))
    async with app.run_test(size=SMALL) as pilot:
        app.view.scroll_to(y=app.view.max_scroll_y // 2, animate=False)
        await app.view.drained()
        last_seen = app.view._rows[-1].block

        await pilot.press("shift+up", "y")

        assert app.heard[-1] == last_seen.source


async def test_each_press_copies_the_previous_code_block_and_wraps_around() -> None:
    app = Stage(UserBlock("Do"), call(), ReplyBlock(CODES))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("shift+up", "c", "c", "c", "c", "shift+left", "c")

        assert app.heard == ["c = 3", "b = 2", "a = 1", "c = 3", "make -k"]


async def test_keys_typed_over_the_conversation_go_to_the_prompt() -> None:
    app = Stage(UserBlock("Do"))
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("H", "i", "space", "escape")

        assert app.heard == [("typed", "H"), ("typed", "i"), ("typed", " "), FocusPrompt]


async def test_command_letters_are_prompt_text_while_no_block_is_selected() -> None:
    app = Stage(ReplyBlock("Some `code` in a reply."))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press(*"cvlyot")

        assert app.heard == [("typed", letter) for letter in "cvlyot"]


async def test_text_typed_over_a_selected_block_ends_the_selection() -> None:
    app = Stage(ReplyBlock("Some `code` in a reply."))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("shift+up", *"rely")

        assert app.heard == [("typed", letter) for letter in "rely"]


async def test_acting_keys_are_reported_for_the_selected_block() -> None:
    app = Stage(call(), ReplyBlock("Done."))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        hints = [app.keys_hint]
        for key in ("shift+up", "v", "escape", "shift+up", "escape"):
            await pilot.press(key)
            await pilot.pause()
            hints.append(app.keys_hint)

        reading, reply, marking, again, of_call, after = hints
        assert reading == after == "In the conversation: ↑ ↓ scroll · Shift+↑ selects a block · Esc back"
        assert reply == again == "Esc back · y copy · c code · v mark · l links · t times"
        assert marking == "↑ ↓ extend · y copy · Esc back"
        assert of_call == "Esc back · y copy · Enter open/fold · c code · v mark · l links · t times"


async def test_a_growing_reply_can_be_copied() -> None:
    reply = ReplyBlock()
    app = Stage(UserBlock("Do"), reply)
    async with app.run_test(size=SMALL) as pilot:
        reply.append("Half a sent")
        app.view.changed(reply)
        await app.view.drained()
        await pilot.press("shift+up", "y")
        reply.append("ence")
        app.view.changed(reply)
        await app.view.drained()
        await pilot.press("y")

        assert app.heard == ["Half a sent", "Half a sentence"]


async def test_a_dropped_block_is_chosen_no_more() -> None:
    reply = ReplyBlock("Gone.")
    app = Stage(ReplyBlock("Kept."), reply)
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("shift+up")
        app.view.drop(reply)
        await app.view.drained()
        await pilot.press("y", "shift+up", "y")

        assert app.heard == [("typed", "y"), "Kept."]


def test_a_chosen_reply(snap_compare: Callable[..., bool]) -> None:
    app = Stage(UserBlock("Do"), call(), ReplyBlock("Some **words**.\n\n- a\n- b"), UserBlock("More"))

    async def chosen(pilot: Pilot[None]) -> None:
        await app.view.drained()
        await pilot.press("shift+up", "shift+up")
        await app.view.drained()

    assert snap_compare(app, terminal_size=SMALL, run_before=chosen)
