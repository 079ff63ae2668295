from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.pdf_documents import pdf
from fakes.workplace import Workplace

from harness.views import ListingView
from tools.deadline import Deadline
from tools.documents import archive_listing
from tools.documents.archive_listing import read_archive
from tools.documents.outline import outline
from tools.edit import EditTool
from tools.read import ReadTool

READ = ReadTool()
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03" + b"\0" * 20).decode()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    return Workplace(tmp_path / "project")


async def test_pdf_is_read_by_pages_and_states_their_number(place: Workplace):
    place.put("report.pdf", pdf(*(f"Text {number}" for number in range(1, 31))))

    beginning = await place.call(READ, path="report.pdf")
    part = await place.call(READ, path="report.pdf", pages="29-30")
    past = await place.call(READ, path="report.pdf", pages="31")

    assert "Text 20" in beginning.text
    assert "Text 21" not in beginning.text
    assert beginning.lines[-1] == "[PDF, 30 pages · pages 1–20 · continue with pages=21-30]"
    assert part.text == "## Page 29\n\nText 29\n\n## Page 30\n\nText 30\n[PDF, 30 pages · pages 29–30]"
    assert past.output.is_error
    assert "30 pages" in past.text


@pytest.mark.parametrize("pages", ["1-21", "0", "5-2", "one", "1-2-3", "12 34"])
async def test_invalid_pages_are_refused(place: Workplace, pages: str):
    place.put("report.pdf", pdf("Text"))

    called = await place.call(READ, path="report.pdf", pages=pages)

    assert called.output.is_error
    assert pages in called.text


async def test_pdf_without_text_and_damaged_pdf_say_so(place: Workplace):
    place.put("scan.pdf", pdf("", ""))
    place.put("bad.pdf", b"%PDF-1.7 nothing")
    place.put("named.pdf", "only text\n")

    assert "2 pages" in (await place.call(READ, path="scan.pdf")).text
    assert "no text" in (await place.call(READ, path="scan.pdf")).text
    assert "damaged" in (await place.call(READ, path="bad.pdf")).text
    assert (await place.call(READ, path="named.pdf")).lines[0] == "1\tonly text"
    assert (await place.call(READ, path="named.pdf", pages="1")).output.is_error


async def test_long_pdf_is_cut_after_a_page(place: Workplace):
    place.put("report.pdf", pdf(*("word " * 3000 for _ in range(5))))

    called = await place.call(READ, path="report.pdf")

    assert len(called.text) < 51_000
    assert called.lines[-1] == "[PDF, 5 pages · pages 1–3 · continue with pages=4-5]"


def notebook(*cells: dict[str, object]) -> str:
    return json.dumps({"nbformat": 4, "metadata": {"kernelspec": {"language": "python"}}, "cells": cells}, indent=1)


async def test_notebook_is_shown_by_cells_with_outputs(place: Workplace):
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mline\x1b[0m\n"] * 500},
        {"output_type": "display_data", "data": {"image/png": PIXEL, "text/plain": ["<Figure>"]}},
        {"output_type": "error", "traceback": ["Traceback", "ValueError: x"]},
        {"output_type": "execute_result", "data": {"text/html": "<b>x</b>"}},
        "damage",
    ]
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "id": "intro", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "source": "x = 1", "outputs": outputs},
    ]
    place.put("a.ipynb", notebook(*cells))

    called = await place.call(READ, path="a.ipynb")

    assert called.text.startswith(
        "[cell 1 · markdown · id intro]\n# Title\ntext\n\n[cell 2 · code]\nx = 1\n[stdout]\nline\n"
    )
    assert "[... 460 lines truncated ...]" in called.text
    assert "[image/png, 44 bytes, 2 × 3 pixels]" in called.text
    assert (
        "[error]\nTraceback\nValueError: x\n[text/html, not shown]\n[notebook · cells 1–2 of 2 · python]" in called.text
    )
    assert "\x1b" not in called.text


async def test_notebook_is_continued_by_cell_and_counts_as_read(place: Workplace):
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "source": f"value = {'x' * 9000}  # {n}"} for n in range(12)
    ]
    place.put("a.ipynb", notebook(*cells))
    place.put("old.ipynb", '{"nbformat": 3, "worksheets": []}')

    first = await place.call(READ, path="a.ipynb")
    rest = await place.call(READ, path="a.ipynb", offset=6)
    edited = await place.call(EditTool(), path="a.ipynb", old_string="# 11", new_string="# eleven")

    assert first.lines[-1] == "[notebook · cells 1–5 of 12 · python · continue with offset=6]"
    assert rest.lines[0] == "[cell 6 · code]"
    assert not edited.output.is_error
    assert (await place.call(READ, path="old.ipynb")).lines[0].startswith("1\t{")


def packed_zip(names: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in names.items():
            archive.writestr(name, data)
    return file.getvalue()


def packed_tar(names: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in names.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


END_OF_LARGE_DIRECTORY = b"PK\x05\x06" + b"\0" * 6 + b"\xff\0" + (9_000_000).to_bytes(4, "little") + b"\0" * 6
FILES = {"src/a.py": b"x = 1\n", "../../evil\n\x1b[31m.txt": b"", "zeros": b"\0" * 3_000_000}


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.zip", packed_zip),
        ("a-1.0.whl", packed_zip),
        ("a.jar", packed_zip),
        ("a.tar", packed_tar),
        ("a.tar.gz", lambda files: gzip.compress(packed_tar(files))),
        ("a.tgz", lambda files: gzip.compress(packed_tar(files))),
        ("a.tar.bz2", lambda files: bz2.compress(packed_tar(files))),
        ("a.tar.xz", lambda files: lzma.compress(packed_tar(files))),
    ],
)
async def test_archive_is_listed_without_extracting(
    place: Workplace, name: str, pack: Callable[[dict[str, bytes]], bytes]
):
    place.put(name, pack(FILES))
    before = sorted(place.root.parent.rglob("*"))

    called = await place.call(READ, path=name)

    assert called.lines[0].split() == ["6", "src/a.py"]
    assert called.lines[2].split() == ["3,000,000", "zeros"]
    assert "entries 1–3 of 3 · 3,000,006 bytes unpacked" in called.lines[3]
    assert "../../evil␊" in called.lines[1]
    assert "\x1b" not in called.text
    assert isinstance(called.output.view, ListingView)
    assert sorted(place.root.parent.rglob("*")) == before


async def test_listing_of_an_archive_is_continued(place: Workplace):
    place.put("a.zip", packed_zip({f"folder/file-with-a-long-name-{number:05}": b"" for number in range(3000)}))

    first = await place.call(READ, path="a.zip")
    rest = await place.call(READ, path="a.zip", offset=2999)

    assert len(first.text) < 51_000
    assert "of 3000 · 0 bytes unpacked · continue with offset=" in first.lines[-1]
    assert len(rest.lines) == 3


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cut.zip", packed_zip(FILES)[:200]),
        ("cut.tar.gz", gzip.compress(packed_tar(FILES))[:20]),
        ("empty.tar.xz", lzma.compress(b"no archive")),
        ("directory.zip", b"PK\x03\x04" + b"\0" * 9_000_000 + END_OF_LARGE_DIRECTORY),
    ],
    ids=["zip", "tar.gz", "tar.xz", "directory"],
)
async def test_damaged_archive_is_an_error(place: Workplace, name: str, data: bytes):
    place.put(name, data)

    called = await place.call(READ, path=name)

    assert called.output.is_error
    assert "damaged" in called.text


def test_archive_bombs_end_within_their_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archive_listing, "MOST_DECOMPRESSED", 1_000_000)
    monkeypatch.setattr(archive_listing, "MOST_ENTRIES", 100)
    bomb, many = tmp_path / "bomb.tar.gz", tmp_path / "many.zip"
    bomb.write_bytes(gzip.compress(packed_tar({"first": b"x", "zeros": b"\0" * 5_000_000, "last": b""}), 1))
    many.write_bytes(packed_zip({str(number): b"" for number in range(200)}))

    found = read_archive(bomb, "tar archive, gzip", Deadline(10))
    listed = read_archive(many, "ZIP archive", Deadline(10))

    assert [entry.name for entry in found.entries] == ["first", "zeros"]
    assert not found.is_complete
    assert (len(listed.entries), listed.is_complete) == (100, False)


async def test_long_code_is_shown_by_its_beginning_and_outline(place: Workplace):
    methods = "".join(f"    async def method_{n}(self):\n        return {n}\n\n" for n in range(900))
    place.put("long.py", f'"""Text.\n\ndef not_code():\n"""\n\nclass Thing:\n{methods}')

    whole = await place.call(READ, path="long.py")
    part = await place.call(READ, path="long.py", offset=300, limit=2)

    lines = whole.lines
    assert lines[200] == "[lines 1–200 of 2706 · continue with offset=201]"
    assert lines[201].startswith("[outline of long.py: line and definition; 651 more definitions;")
    assert lines[202:205] == ["6\tclass Thing:", "7\t  async def method_0(self):", "10\t  async def method_1(self):"]
    assert "outline" not in part.text


async def test_long_file_without_an_outline_is_shown_as_far_as_possible(place: Workplace):
    place.put("data.csv", "1,2\n" * 3000)

    called = await place.call(READ, path="data.csv")

    assert called.lines[-1] == "[lines 1–2000 of 3000 · continue with offset=2001]"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "class A:\n  def b(s):\n    pass\nasync def d(): ...\n", [(1, 0), (2, 1), (4, 0)]),
        ("a.md", "# A\n```\n# no\n```\n## B\n#no\n", [(1, 0), (5, 1)]),
        ("a.ts", "export class A {\n}\nfunction g() {}\n", [(1, 0), (3, 0)]),
        ("a.bin", "def a(): ...\n", []),
    ],
)
def test_outline_names_definitions_and_headings(path: str, text: str, expected: list[tuple[int, int]]):
    assert [(entry.line, entry.depth) for entry in outline(path, text)] == expected
