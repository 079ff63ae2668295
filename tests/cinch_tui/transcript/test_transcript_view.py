from __future__ import annotations

from fakes.transcript_stage import Stage, drawn_parts, numbered, screen

from cinch_tui.transcript.blocks import NoticeBlock, ReplyBlock, ThinkingBlock, ToolBlock, UserBlock
from harness.views import DiffView, TerminalView, TextView

SMALL = (60, 12)


async def test_only_what_is_visible_is_drawn_of_ten_thousand_blocks() -> None:
    app = Stage(*numbered(10_000))
    async with app.run_test(size=SMALL):
        await app.view.drained()

        assert screen(app.view)[-1] == "The end of 9999."
        assert drawn_parts(app.view) < 30

        app.view.action_scroll_home()
        await app.view.drained()

        assert screen(app.view)[0] == "Reply 0"
        assert drawn_parts(app.view) < 60


async def test_paging_up_shows_every_line_once_whatever_was_guessed() -> None:
    app = Stage(*numbered(40))
    async with app.run_test(size=SMALL):
        await app.view.drained()
        app.view.action_page_up()
        await app.view.drained()
        before = screen(app.view)

        app.view.action_page_up()
        await app.view.drained()

        assert screen(app.view)[-1] == before[0]
        assert drawn_parts(app.view) < 60


async def test_a_resize_keeps_the_reading_position_and_draws_little() -> None:
    blocks = [ReplyBlock(f"Paragraph {number}: " + "many words to wrap " * 12) for number in range(2_000)]
    app = Stage(*blocks)
    async with app.run_test(size=SMALL) as pilot:
        app.view.scroll_to(y=app.view.max_scroll_y // 2, animate=False)
        await app.view.drained()
        number = next(line.split(":")[0] for line in screen(app.view) if line.startswith("Paragraph"))

        await pilot.resize_terminal(44, 14)
        await app.view.drained()

        assert any(line.startswith(number) for line in screen(app.view))
        assert drawn_parts(app.view) < 60


async def test_streaming_while_scrolled_up_moves_nothing_and_reports_new_lines() -> None:
    app = Stage(*numbered(30))
    async with app.run_test(size=SMALL):
        reply = ReplyBlock()
        app.view.add(reply)
        app.view.action_page_up()
        await app.view.drained()
        before = screen(app.view)

        for number in range(50):
            reply.append(f"line {number}\n\n")
            app.view.changed(reply)
        reply.finish()
        await app.view.drained()

        assert screen(app.view) == before
        assert isinstance(app.heard[-1], int)
        assert app.heard[-1] >= 90

        app.view.follow()
        await app.view.drained()

        assert screen(app.view)[-1] == "line 49"
        assert app.heard[-1] == 0


async def test_the_end_of_a_flood_is_on_the_screen_when_it_is_drained() -> None:
    app = Stage(UserBlock("Say a lot"))
    async with app.run_test(size=SMALL):
        reply = ReplyBlock()
        app.view.add(reply)

        for number in range(5_000):
            reply.append(f"word{number} " + ("\n\n" if number % 10 == 9 else ""))
            app.view.changed(reply)
        reply.append("The very end.")
        reply.finish()
        app.view.changed(reply)
        await app.view.drained()

        assert screen(app.view)[-1] == "The very end."
        assert drawn_parts(app.view) < 100


async def test_the_end_is_followed_until_the_reader_leaves_it_and_again_when_they_return() -> None:
    app = Stage(*numbered(20))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("up")
        app.view.add(NoticeBlock("new"))
        await app.view.drained()

        assert "· new" not in screen(app.view)

        await pilot.press("pagedown", "pagedown")
        app.view.add(NoticeBlock("Newer"))
        await app.view.drained()

        assert screen(app.view)[-1] == "· Newer"


async def test_a_growing_tail_does_not_scroll_for_every_line() -> None:
    app = Stage(*numbered(20))
    async with app.run_test(size=(60, 24)):
        reply = ReplyBlock()
        app.view.add(reply)
        tops: set[float] = set()
        for number in range(16):
            reply.append(f"line {number}\n\n")
            app.view.changed(reply)
            await app.view.drained()
            tops.add(app.view.scroll_y)

        assert len(tops) <= 10


async def test_thinking_is_open_while_it_arrives_and_one_line_after() -> None:
    thought = ThinkingBlock()
    app = Stage(thought)
    async with app.run_test(size=SMALL):
        for fragment in ("First this.\nThen ", "that.\n", "\nAnd so on."):
            thought.append(fragment)
            app.view.changed(thought)
            await app.view.drained()

        assert screen(app.view)[:4] == ["│ First this.", "│ Then that.", "│", "│ And so on.▍"]

        thought.finish()
        app.view.changed(thought)
        await app.view.drained()

        assert screen(app.view)[:2] == ["▸ Thought for 1s", ""]


async def test_a_discarded_reply_leaves_nothing_and_can_start_again() -> None:
    reply = ReplyBlock()
    app = Stage(UserBlock("Go"), reply)
    async with app.run_test(size=SMALL):
        reply.append("Half a sent")
        app.view.changed(reply)
        await app.view.drained()

        reply.discard()
        app.view.changed(reply)
        await app.view.drained()

        assert screen(app.view)[:3] == ["❯ Go", "", ""]

        reply.append("The whole.")
        app.view.changed(reply)
        await app.view.drained()

        assert screen(app.view)[2] == "The whole.▍"


def tool(label: str, status: str = "done") -> ToolBlock:
    block = ToolBlock(label, label, f"the {label}")
    block.status = status  # type: ignore[assignment]  # the tests name it as text
    return block


async def test_tools_are_one_line_until_unfolded_and_diffs_stay_open() -> None:
    read, edit, shell = tool("Read"), tool("Edit"), tool("Bash", "failed")
    read.view = TextView("one\ntwo\n")
    edit.view = DiffView("a.py", "a\n", "b\n")
    shell.view = TerminalView("make", "no rule", 2)
    app = Stage(read, edit, shell)
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()

        assert screen(app.view)[:8] == [
            "▸ ✓ Read the Read  one · 2 lines",
            "",
            "▾ ✓ Edit the Edit  +1 −1",
            "    1 - a",
            "    1 + b",
            "",
            "▸ ✗ Bash the Bash  no rule · exit 2",
            "",
        ]

        await pilot.press("f2")
        await app.view.drained()

        assert screen(app.view)[6:10] == ["▾ ✗ Bash the Bash  exit 2", "    $ make", "    no rule", "    exit 2"]

        await pilot.press("shift+left", "shift+left", "shift+left", "f2")
        await app.view.drained()

        assert screen(app.view)[:3] == ["▾ ✓ Read the Read  2 lines", "    one", "    two"]


async def test_a_click_folds_and_unfolds() -> None:
    read = tool("Read")
    read.view = TextView("one\ntwo\n")
    app = Stage(UserBlock("Go"), read)
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()

        await pilot.click(app.view, offset=(5, 2))
        await app.view.drained()

        assert screen(app.view)[2:5] == ["▾ ✓ Read the Read  2 lines", "    one", "    two"]

        await pilot.click(app.view, offset=(5, 2))
        await app.view.drained()

        assert screen(app.view)[3] == ""


async def test_a_clicked_link_is_reported() -> None:
    app = Stage(ReplyBlock("See [the docs](https://example.org/a?b=c) now."))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()

        await pilot.click(app.view, offset=(8, 0))
        await pilot.pause()

        assert app.heard == ["https://example.org/a?b=c"]


async def test_a_long_body_is_truncated_with_the_omitted_size() -> None:
    read = tool("Read")
    read.view = TextView("x\n" * 1_234)
    read.folded = False
    app = Stage(read)
    async with app.run_test(size=SMALL):
        await app.view.drained()

        assert screen(app.view)[-1] == "    … 1,034 more lines"


async def test_a_long_change_is_cut_after_fifty_lines() -> None:
    write = tool("Write")
    write.view = DiffView("a.py", None, "x\n" * 62)
    write.folded = False
    app = Stage(write)
    async with app.run_test(size=SMALL):
        await app.view.drained()

        assert screen(app.view)[-1].strip() == "… 12 more lines"


async def test_markup_and_control_sequences_are_only_text() -> None:
    evil = "[bold]x[/] \x1b[2J[link=a]"
    shell = tool("Bash")
    shell.summary = evil
    app = Stage(UserBlock(evil), ReplyBlock(evil), NoticeBlock(evil, "error"), shell)
    async with app.run_test(size=SMALL):
        await app.view.drained()

        lines = screen(app.view)

        assert not any("\x1b" in line for line in lines)
        assert all("[bold]x[/]" in line for line in lines if line)


async def test_a_block_that_is_dropped_takes_its_lines_with_it() -> None:
    blocks = numbered(3)
    app = Stage(*blocks)
    async with app.run_test(size=(60, 30)):
        app.view.drop(blocks[1])
        app.view.drop(blocks[1])
        app.view.changed(blocks[1])
        await app.view.drained()

        assert [line for line in screen(app.view) if line.startswith("Reply")] == ["Reply 0", "Reply 2"]

        app.view.clear()
        await app.view.drained()

        assert not any(screen(app.view))


async def test_nothing_is_due_when_nothing_changed() -> None:
    app = Stage(*numbered(3))
    async with app.run_test(size=SMALL):
        await app.view.drained()

        assert app.view._due is None


async def test_a_new_theme_colours_what_is_already_there() -> None:
    app = Stage(ReplyBlock("# Heading"))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        before = next(iter(app.view.render_line(0))).style

        app.theme = "textual-light"
        await pilot.pause()
        await app.view.drained()

        assert next(iter(app.view.render_line(0))).style != before


async def test_any_size_of_terminal_is_survived() -> None:
    edit = tool("Edit")
    edit.view = DiffView("a.py", "a\n" * 9, "b\n" * 9)
    table = "| a | b |\n|---|---|\n| some words | 中文 |\n\n> - 1. x\n\n```\ncode that is long\n```"
    app = Stage(UserBlock("Some words"), edit, ReplyBlock(table), *numbered(9))
    async with app.run_test(size=(40, 10)) as pilot:
        for size in ((1, 1), (3, 2), (14, 3), (200, 60), (40, 10)):
            await pilot.resize_terminal(*size)
            await pilot.press("up")
            await app.view.drained()

        await pilot.press("end")
        await app.view.drained()

        assert screen(app.view)[-1] == "The end of 8."


async def test_moving_the_focus_redraws_nothing() -> None:
    app = Stage(*numbered(3))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        before = app.view.blocks[0].parts[0].lines(app.view._layout.styles, app.view._layout.width)

        app.view.blur()
        app.view.notify_style_update()
        await pilot.pause()
        await app.view.drained()

        assert app.view.blocks[0].parts[0].lines(app.view._layout.styles, app.view._layout.width) is before


async def test_blocks_that_arrive_while_hidden_appear_when_shown() -> None:
    reply = ReplyBlock()
    app = Stage(reply)
    async with app.run_test(size=SMALL) as pilot:
        app.view.display = False
        await pilot.pause()
        reply.append("Said in the dark.")
        app.view.changed(reply)
        await app.view.drained()

        app.view.display = True
        await pilot.pause()
        await app.view.drained()

        assert screen(app.view)[0] == "Said in the dark.▍"


async def test_a_closed_view_blocks_nothing() -> None:
    reply = ReplyBlock()
    app = Stage(reply)
    async with app.run_test(size=SMALL):
        await app.view.drained()
        await app.view.remove()

        reply.append("Too late.")
        app.view.changed(reply)

        await app.view.drained()


async def test_a_block_dropped_above_moves_nothing_that_is_read() -> None:
    blocks = numbered(40)
    app = Stage(*blocks)
    async with app.run_test(size=SMALL):
        await app.view.drained()
        app.view.action_page_up()
        await app.view.drained()
        before = screen(app.view)

        app.view.drop(blocks[3])
        await app.view.drained()

        assert screen(app.view) == before


async def test_block_unfolded_at_the_end_is_shown_from_its_top() -> None:
    read = tool("Read")
    read.view = TextView("".join(f"row {number}\n" for number in range(50)))
    app = Stage(*numbered(5), read)
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()

        await pilot.press("f2")
        await app.view.drained()

        assert "▾ ✓ Read the Read  50 lines" in screen(app.view)
        assert not app.view.following
