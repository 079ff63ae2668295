from __future__ import annotations

from fakes.transcript_stage import Stage, screen

from cinch_tui.transcript.blocks import NoticeBlock, ReplyBlock, ThinkingBlock, UserBlock

ALL = frozenset(("thinking", "reminder"))


def thought(text: str) -> ThinkingBlock:
    block = ThinkingBlock(text)
    block.finish()
    return block


def reply(text: str) -> ReplyBlock:
    block = ReplyBlock(text)
    block.finish()
    return block


def reminder(text: str) -> NoticeBlock:
    block = NoticeBlock(text)
    block.channel = "reminder"
    return block


async def test_thoughts_and_reminders_are_hidden_and_shown_where_they_were() -> None:
    app = Stage(UserBlock("go"), thought("hm"), reply("One."), reminder("Be brief."), reply("Two."))

    async with app.run_test(size=(40, 14)):
        await app.view.drained()
        shown = screen(app.view)
        app.view.hidden_channels = ALL
        await app.view.drained()
        hidden = screen(app.view)
        app.view.hidden_channels = frozenset()
        await app.view.drained()

        assert "▸ Thought" in "\n".join(shown)
        assert [line.strip() for line in hidden if line.strip()] == ["❯ go", "One.", "Two."]
        assert screen(app.view) == shown


async def test_blocks_that_arrive_while_hidden_are_kept_hidden() -> None:
    app = Stage(UserBlock("go"))

    async with app.run_test(size=(40, 14)):
        app.view.hidden_channels = ALL
        arriving = ThinkingBlock()
        app.view.add(arriving)
        for word in ("first ", "then\n", "that"):
            arriving.append(word)
            app.view.changed(arriving)
            await app.view.drained()
        app.view.add(reply("Done."))
        await app.view.drained()
        hidden = "\n".join(screen(app.view))
        app.view.hidden_channels = frozenset()
        await app.view.drained()

        assert "then" not in hidden
        assert "Done." in hidden
        assert "first then" in "\n".join(screen(app.view))


async def test_a_view_that_starts_in_hidden_blocks_continues_after_them() -> None:
    app = Stage(*(block for number in range(20) for block in (thought(f"t{number}"), reply(f"Reply {number}"))))

    async with app.run_test(size=(40, 8)) as pilot:
        await app.view.drained()
        for _ in range(5):
            await pilot.press("pageup")
            await app.view.drained()
            app.view.hidden_channels = ALL
            await app.view.drained()
            lines = [line for line in screen(app.view) if line.strip()]
            app.view.hidden_channels = frozenset()

            assert len(lines) >= 3
            assert all("Reply" in line for line in lines)


async def test_hidden_blocks_are_not_found_or_selected() -> None:
    app = Stage(thought("a needle"), reply("Nothing."))

    async with app.run_test(size=(40, 8)) as pilot:
        app.view.hidden_channels = ALL
        app.view.find("needle")
        await app.view.drained()
        await pilot.press("shift+up", "shift+up", "y")

        assert app.heard[-1] == "Nothing."
