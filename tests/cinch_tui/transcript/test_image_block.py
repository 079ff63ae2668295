from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from fakes.chat import until
from fakes.transcript_stage import Stage, screen
from PIL import Image as Pillow
from textual.pilot import Pilot

from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import ReplyBlock, ToolBlock
from cinch_tui.transcript.history_blocks import show_result, user_message_blocks
from cinch_tui.transcript.image import Cells, TranscriptImage, image_file
from cinch_tui.transcript.image_block import ImageBlock
from cinch_tui.transcript.styles import DisplayOptions, ImageMode
from cinch_tui.transcript.terminal_images import MARKS, MAX_STORED, TerminalImageStore
from cinch_tui.transcript.view import Transcript
from harness.messages import Image, Text, ToolResult, UserMessage
from harness.views import ImageView

SMALL = (60, 24)


def image(width: int = 80, height: int = 64, form: str = "PNG", colour: tuple[int, ...] = (200, 16, 16)) -> Image:
    out = BytesIO()
    Pillow.new("RGBA" if len(colour) == 4 else "RGB", (width, height), colour).save(out, form)
    return Image(f"image/{form.lower()}", b64encode(out.getvalue()).decode())


def shown(given: Image, name: str = "shot") -> ImageBlock:
    return ImageBlock(TranscriptImage.of(given, name))


async def seen(app: Stage, pilot: Pilot[None], holds: Callable[[], object]) -> None:
    await until(pilot, holds)
    await app.view.drained()


def colours(app: Stage, y: int) -> set[str]:
    styles = [segment.style for segment in app.view.render_line(y) if segment.style and "▀" not in segment.text]
    return {style.bgcolor.name for style in styles if style.bgcolor}


@pytest.mark.parametrize(
    ("pixels", "width", "cells"),
    [((80, 64), 80, (10, 4)), ((1280, 720), 80, (53, 15)), ((1280, 720), 30, (30, 8)), ((1, 5000), 80, (1, 15))],
)
def test_a_picture_keeps_its_shape_and_is_not_blown_up(pixels, width, cells) -> None:
    assert TranscriptImage("", "image/png", str, *pixels).cells(width) == cells


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_without_an_image_protocol_half_blocks_are_used(form: str) -> None:
    app = Stage(shown(image(form=form)))
    app.view.options = DisplayOptions(images="blocks")
    async with app.run_test(size=SMALL) as pilot:
        block = app.view.blocks[0]
        await seen(app, pilot, lambda: block.images[0].pixels)

        assert any(name.startswith("#c") for name in colours(app, 0))
        assert screen(app.view)[4].strip().startswith(f"shot · image/{form.lower()} · 80×64 · ")


async def test_nothing_moves_when_a_picture_has_been_decoded() -> None:
    app = Stage(shown(image()), ReplyBlock("after"))
    app.view.options = DisplayOptions(images="blocks")
    async with app.run_test(size=SMALL) as pilot:
        rows: set[int] = set()
        await app.view.drained()
        rows |= {y for y, row in enumerate(screen(app.view)) if "after" in row}
        await seen(app, pilot, lambda: app.view.blocks[0].images[0].pixels)

        assert rows | {screen(app.view).index("after")} == {6}


async def test_transparent_pixels_show_the_background() -> None:
    app = Stage(shown(image(colour=(1, 2, 3, 0))))
    app.view.options = DisplayOptions(images="blocks")
    async with app.run_test(size=SMALL) as pilot:
        await seen(app, pilot, lambda: app.view.blocks[0].images[0].pixels)

        assert len(colours(app, 0)) == 1
        assert screen(app.view)[0] == ""


@pytest.mark.parametrize("way", ["blocks", "kitty"])
async def test_a_picture_that_cannot_be_decoded_is_a_frame(way: ImageMode) -> None:
    broken = Image("image/png", b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x50\0\0\0\x40junk").decode())
    app = Stage(shown(broken), shown(Image("image/png", "not base64!")))
    app.view.options = DisplayOptions(images=way)
    app.view.terminal_images = TerminalImageStore(lambda _: None)
    async with app.run_test(size=SMALL) as pilot:
        await seen(app, pilot, lambda: app.view.blocks[0].images[0].is_broken)

        assert [row.strip() for row in screen(app.view) if "│" in row][:2] == [
            "│ shot                         │",
            "│ image/png · 80×64 · 28 bytes │",
        ]


async def test_every_row_is_as_wide_as_the_view_with_a_picture_in_cells() -> None:
    app = Stage(shown(image(2000, 900)))
    app.view.options = DisplayOptions(images="kitty")
    async with app.run_test(size=SMALL):
        await app.view.drained()

        strips = [app.view.render_line(y) for y in range(SMALL[1])]
        assert {strip.cell_length for strip in strips} == {app.view.size.width}
        # Cut anywhere, as a dialog over it does, each cell still says where it belongs.
        rest = strips[3].crop(20, 30).text
        assert rest == "".join(f"\U0010eeee{MARKS[3]}{MARKS[column]}" for column in range(16, 26))


async def test_an_image_is_sent_once_then_placed_and_freed_when_removed() -> None:
    reported: list[str] = []
    block = shown(image(800, 160))
    app = Stage(block)
    app.view.options = DisplayOptions(images="kitty")
    app.view.terminal_images = TerminalImageStore(reported.append)
    async with app.run_test(size=SMALL) as pilot:
        number = block.image.number
        await seen(app, pilot, lambda: any("a=p" in each for each in reported))
        await pilot.resize_terminal(40, 24)
        await seen(app, pilot, lambda: reported[-1].endswith("c=34,r=3\x1b\\"))
        app.view.drop(block)
        await app.view.drained()

        assert sum("a=t" in each for each in reported) == 1
        assert reported[-1] == f"\x1b_Ga=d,d=I,q=2,i={number}\x1b\\"


def test_the_oldest_of_many_is_freed() -> None:
    reported: list[str] = []
    gallery = TerminalImageStore(reported.append)

    for number in range(1, MAX_STORED + 3):
        gallery.send(number, b"png", Cells(1, 1))

    assert [each for each in reported if "d=I" in each] == [f"\x1b_Ga=d,d=I,q=2,i={number}\x1b\\" for number in (1, 2)]


def test_tmux_output_is_wrapped_for_passthrough() -> None:
    reported: list[str] = []
    gallery = TerminalImageStore(reported.append)
    gallery.is_in_tmux = True

    gallery.send(7, b"png", Cells(1, 1))

    assert all(each.startswith("\x1bPtmux;\x1b\x1b_G") and each.endswith("\x1b\x1b\\\x1b\\") for each in reported)


def test_images_are_below_the_text_of_their_prompt() -> None:
    message = UserMessage((Text("Look at [image 1: a b.png 80×64]"), image(), Text(" and"), image(8, 8)))

    said, first, second = user_message_blocks(message)

    assert said.source == "Look at [image 1: a b.png 80×64] and"
    assert (first.source, second.source) == ("[image: a b.png 80×64]", "[image: picture 8×8]")


async def test_image_of_a_tool_stays_unfolded_and_opens_by_key(tmp_path: Path) -> None:
    block = ToolBlock("1", "Read", "shot.png")
    path = str(tmp_path / "shot.png")
    show_result(block, ToolResult("1", "read_file", (Text("A picture."), image()), view=ImageView(path, "image/png")))
    app = Stage(block)
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("shift+left", "o")

        message = app.heard[-1]
        assert isinstance(message, Transcript.ImageOpened)
        assert message.image.path == path
        assert not block.folded
        assert block.source == "A picture.\n[image: shot.png 80×64]"


def test_a_picture_without_a_file_gets_one_that_others_cannot_read() -> None:
    picture = TranscriptImage.of(image(), "shot")

    file = image_file(picture)

    with Pillow.open(file) as read:
        assert read.size == (80, 64)
    assert file.stat().st_mode & 0o777 == 0o600
    file.unlink()


def test_pictures_in_half_blocks_and_as_a_frame(snap_compare: Callable[..., bool]) -> None:
    two = Pillow.new("RGB", (160, 96), (30, 60, 160))
    two.paste((230, 180, 40), (40, 24, 120, 72))
    out = BytesIO()
    two.save(out, "PNG")
    blocks: list[TranscriptBlock] = [shown(Image("image/png", b64encode(out.getvalue()).decode()), "flag.png")]
    app = Stage(*blocks, shown(Image("image/tiff", "AAAA"), "scan.tiff"))
    app.view.options = DisplayOptions(images="blocks")

    async def decoded(pilot: Pilot[None]) -> None:
        await seen(app, pilot, lambda: blocks[0].images[0].pixels)

    assert snap_compare(app, terminal_size=(60, 18), run_before=decoded)
