from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from fakes.workplace import Workplace

from harness.errors import FileMissing, NotAFile, OutsideWorkspace
from harness.messages import Image
from harness.risk import Risk
from harness.views import ImageView, TextView
from tools.read import ReadTool

READ = ReadTool()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    return Workplace(tmp_path / "project")


async def test_lines_are_numbered_and_counted(place: Workplace):
    place.put("a.py", "x = 1\ny = 2\n")

    called = await place.call(READ, file_path="a.py")

    assert called.text == "1\tx = 1\n2\ty = 2\n[lines 1–2 of 2]"
    assert called.output.view == TextView("x = 1\ny = 2", "python")
    assert called.output.details == {"path": "a.py", "first": 1, "last": 2, "total": 2}


async def test_long_file_is_read_in_parts(place: Workplace):
    place.put("a.txt", "".join(f"line {number}\n" for number in range(1, 101)))

    part = await place.call(READ, path="a.txt", offset=11, limit=2)
    end = await place.call(READ, path="a.txt", offset=-2)
    past = await place.call(READ, path="a.txt", offset=200)

    assert part.lines == ["11\tline 11", "12\tline 12", "[lines 11–12 of 100 · continue with offset=13]"]
    assert end.lines[0] == "99\tline 99"
    assert past.output.is_error
    assert "100 lines" in past.text


async def test_result_is_bounded_in_bytes_and_in_each_line(place: Workplace):
    place.put("wide.txt", ("é" * 1500 + "\n") * 100)
    place.put("long.txt", "x" * 10_000)

    wide = await place.call(READ, path="wide.txt")
    long = await place.call(READ, path="long.txt")

    assert len(wide.text.encode()) < 51_000
    assert "continue with offset=17]" in wide.lines[-1]
    assert len(long.text) < 2100
    assert "line cut at 2000 characters" in long.text


async def test_unusual_encoding_and_line_endings_are_reported(place: Workplace):
    place.put("a.txt", "größe\r\nx\r\n".encode("latin-1"))

    called = await place.call(READ, path="a.txt")

    assert called.lines == ["1\tgröße", "2\tx", "[lines 1–2 of 2 · cp1252 · CRLF line endings]"]


async def test_two_gigabytes_are_read_in_parts(place: Workplace):
    file = place.put("huge.log", "first\nsecond\n")
    os.truncate(file, 2 * 1024**3)
    place.put("big.log", "line\n" * 3_000_000)

    binary = await place.call(READ, path="huge.log")
    text = await place.call(READ, path="big.log", offset=2_000_000, limit=1)

    assert "binary" in binary.text
    assert text.lines[0] == "2000000\tline"
    assert "of more · 15,000,000 bytes in total · continue with offset=2000001" in text.lines[1]


@pytest.mark.parametrize("name", ["empty.txt", "marked.txt"])
async def test_empty_file_is_reported(place: Workplace, name: str):
    place.put(name, b"" if name == "empty.txt" else b"\xef\xbb\xbf")

    assert "is empty" in (await place.call(READ, path=name)).text


async def test_a_folder_is_read_as_the_list_of_what_is_in_it(place: Workplace):
    place.put("src/a.py")

    assert (await place.call(READ, path="src")).lines == ["src/", "a.py", "[1 entry]"]


async def test_binary_is_named_with_its_size_only(place: Workplace):
    place.put("a.zip", b"PK\x03\x04\0\0\0\0")

    called = await place.call(READ, path="a.zip")

    assert "a ZIP archive" in called.text
    assert "8 bytes" in called.text


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480), "image/png"),
        (b"GIF89a" + struct.pack("<HH", 640, 480), "image/gif"),
        (b"\xff\xd8\xff\xe0\0\4ab\xff\xc0\0\x11\x08" + struct.pack(">HH", 480, 640) + b"\0\0", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + b"\x7f\x02\0\xdf\x01\0", "image/webp"),
    ],
)
async def test_picture_is_shown_with_its_size(place: Workplace, head: bytes, media_type: str):
    file = place.put("picture", head + b"\0" * 20)

    called = await place.call(READ, path="picture")

    assert "640 × 480 pixels" in called.text
    assert isinstance(called.output.content[1], Image)
    assert called.output.view == ImageView(str(file), media_type, 640, 480)


async def test_escape_sequences_do_not_reach_the_screen(place: Workplace):
    place.put("a.txt", "\x1b[31mred\n")

    called = await place.call(READ, path="a.txt")

    assert "\x1b[31m" in called.text
    assert called.output.view == TextView("red")


async def test_unreadable_file_is_rejected_at_once(place: Workplace):
    os.mkfifo(place.root / "pipe")
    place.put("settings.py")

    with pytest.raises(NotAFile):
        await place.call(READ, path="pipe")
    with pytest.raises(FileMissing, match=r"settings\.py"):
        await place.call(READ, path="setings.py")
    with pytest.raises(OutsideWorkspace):
        await place.call(READ, path="/etc/passwd")


def test_read_is_cacheable():
    assert READ.risk(READ.validate({"file_path": "a.txt"})) == Risk("read", paths=("a.txt",), cacheable=True)
