from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from random import Random

import pytest
from fakes.transcript_stage import Stage, numbered
from PIL import Image as Pillow

from cinch_tui.transcript.blocks import ReplyBlock, ToolBlock, UserBlock
from cinch_tui.transcript.history_blocks import show_result
from cinch_tui.transcript.styles import DisplayOptions
from cinch_tui.transcript.terminal_images import TerminalImageStore
from harness.messages import Image, Text, ToolResult
from harness.views import DiffView

KEYS = [
    *("shift+up", "shift+down", "shift+left", "shift+right", "up", "down", "pageup", "pagedown", "alt+up"),
    *("v", "y", "c", "l", "o", "t", "f2", "enter", "escape"),
]
WORDS = [
    "word ",
    "中文 ",
    "שלום ",
    "👩‍👩‍👧 ",
    "https://example.org/a ",
    "\n\n",
    "- item\n",
    "```py\nx = 1\n```\n",
    "[x](",
]


def picture() -> Image:
    out = BytesIO()
    Pillow.new("RGB", (90, 50), (9, 9, 9)).save(out, "PNG")
    return Image("image/png", b64encode(out.getvalue()).decode())


def call(number: int) -> ToolBlock:
    block = ToolBlock(str(number), "Edit", "a.py")
    view = DiffView("a.py", "a\n", "b\n") if number % 2 else None
    show_result(block, ToolResult(str(number), "edit", (Text("ok"), *(() if view else (picture(),))), view=view))
    return block


@pytest.mark.parametrize("seed", range(4))
async def test_random_keys_clicks_and_sizes_while_text_streams_break_nothing(seed: int) -> None:
    chance = Random(seed)
    reply = ReplyBlock()
    app = Stage(*numbered(4), call(0), call(1), UserBlock("Go"), reply)
    app.view.options = DisplayOptions(images=chance.choice(["off", "blocks", "kitty"]))
    app.view.terminal_images = TerminalImageStore(lambda _: None)
    async with app.run_test(size=(60, 20)) as pilot:
        for step in range(40):
            reply.append(chance.choice(WORDS))
            app.view.changed(reply)
            match chance.randrange(6):
                case 0:
                    await pilot.resize_terminal(chance.randint(14, 120), chance.randint(3, 40))
                case 1:
                    x, y = chance.randrange(10), chance.randrange(3)
                    await pilot.mouse_down(app.view, offset=(x, y))
                    await pilot.hover(app.view, offset=(chance.randrange(12), chance.randrange(3)))
                    await pilot.mouse_up(app.view, offset=(chance.randrange(12), chance.randrange(3)))
                case 2 if step % 4 == 0:
                    app.view.drop(chance.choice(app.view.blocks[:-1]))
                    app.view.add(call(step))
                case _:
                    await pilot.press(chance.choice(KEYS))
            app.screen.get_selected_text()
            region = app.view.region.size.region
            shown = [strip.text for strip in app.view.render_lines(region)]
            app.view.refresh()
            assert [strip.text for strip in app.view.render_lines(region)] == shown
        reply.finish()
        await app.view.drained()

        assert {app.view.render_line(y).cell_length for y in range(app.view.size.height)} == {app.view.size.width}
