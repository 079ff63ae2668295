from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path

import pytest
from fakes.pictures import png

from cinch_tui.images.pasted_files import PasteContent, attach_named_images, dropped_paths, parse_paste, pasted_image
from cinch_tui.user_input import UserInput


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a b.png", "it's.txt", "c.png"):
        (tmp_path / name).write_bytes(png())
    return tmp_path


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("{root}/c.png", ["c.png"]),
        ("{root}/c.png \n", ["c.png"]),
        ("{root}/a b.png", ["a b.png"]),
        ("{root}/a\\ b.png", ["a b.png"]),
        ("'{root}/a b.png'", ["a b.png"]),
        ('"{root}/a b.png" {root}/c.png', ["a b.png", "c.png"]),
        ("'{root}/it'\\''s.txt'", ["it's.txt"]),
        ("{root}/it's.txt", ["it's.txt"]),
        ("file://{root}/a%20b.png", ["a b.png"]),
        ("file://{root}/c.png\r\nfile://{root}/a%20b.png\r\n", ["c.png", "a b.png"]),
        ("c.png", ["c.png"]),
        ("it's.txt", []),
        ("see {root}/c.png", []),
        ("{root}/gone.png", []),
        ("/tmp", []),
        ("/", []),
        ("", []),
        ("~nobody-of-that-name/c.png", []),
        ("x" * 5_000, []),
        ("a\0b.png", []),
    ],
)
def test_files_are_found_as_a_terminal_writes_them_and_nothing_else_is(root: Path, written: str, names: list[str]):
    assert dropped_paths(written.format(root=root), root) == [root / name for name in names]


async def test_pipe_that_is_dropped_is_named_and_never_waited_for(root: Path):
    os.mkfifo(root / "pipe.png")

    async with asyncio.timeout(10):
        intake = await parse_paste(str(root / "pipe.png"), root)

    assert intake == PasteContent(("@pipe.png ",))


def test_picture_is_read_from_base64_in_any_dress():
    data = png(64, 64, noise=True)
    plain = base64.b64encode(data).decode()
    broken = "\n".join(plain[at : at + 76] for at in range(0, len(plain), 76))

    for text in (plain, broken, f" data:image/png;base64,{plain}\n", base64.urlsafe_b64encode(data).decode()):
        assert pasted_image(text) == data


@pytest.mark.parametrize(
    "text", ["iVBORw0KGgo", "word " * 40, "data:text/plain;base64,aGk=", "/9j/ is how JPEG begins" * 4]
)
async def test_other_data_stays_text(root: Path, text: str):
    assert await parse_paste(text, root) is None


async def test_images_named_in_a_line_follow_their_paths(root: Path):
    words, refused = await attach_named_images(f"compare '{root}/a b.png' with {root}/c.png, not {root}/it's.txt", root)

    assert words.text == (f"compare '{root}/a b.png' [image 1: a b.png 4×3] with {root}/c.png, not {root}/it's.txt")
    assert ([each.mark for each in words.images], refused) == (["[image 1: a b.png 4×3]"], ())


async def test_line_without_a_picture_is_left_as_it_is(root: Path):
    assert await attach_named_images("what's \\ 'new", root) == (UserInput("what's \\ 'new"), ())


async def test_base64_of_other_data_stays_text(tmp_path: Path):
    text = "data:image/svg+xml;base64," + base64.b64encode(b"<svg/>").decode()

    intake = await parse_paste(text, tmp_path)

    assert intake is not None
    assert intake.pieces == (text,)
    assert intake.rejected
