from __future__ import annotations

from pathlib import Path

import pytest
from fakes.workplace import Workplace

from harness.errors import FileNotRead
from harness.ports.tool import ToolOutput
from harness.views import DiffView
from tools.read import ReadTool
from tools.write import WriteTool

WRITE = WriteTool()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    return Workplace(tmp_path / "project")


async def test_new_file_is_distinguished_from_a_replaced_one(place: Workplace):
    made = await place.call(WRITE, path="a/new.txt", content="é\n")
    replaced = await place.call(WRITE, path="a/new.txt", content="one\ntwo")

    assert made.text == "Created a/new.txt: 1 lines, 3 bytes."
    assert made.output.details == {"path": "a/new.txt", "bytes_written": 3, "is_new_file": True}
    assert made.output.view == DiffView("a/new.txt", None, "é\n")
    assert replaced.text == "Replaced a/new.txt: 2 lines, 7 bytes."
    assert replaced.output.view == DiffView("a/new.txt", "é\n", "one\ntwo")


async def test_an_unread_file_is_kept_without_asking(place: Workplace):
    file = place.put("a.txt", "old\n")

    foreseen = await place.foresee(WRITE, path="a.txt", content="new\n")
    with pytest.raises(FileNotRead):
        await place.call(WRITE, path="a.txt", content="new\n")

    assert isinstance(foreseen, ToolOutput)
    assert "has not been read" in foreseen.content[0].text  # type: ignore[union-attr]  # failures are text
    assert file.read_text() == "old\n"


async def test_encoding_and_line_endings_are_kept(place: Workplace):
    file = place.put("a.txt", "größe\r\nb\r\n".encode("latin-1"))
    await place.call(ReadTool(), path="a.txt")

    await place.call(WRITE, path="a.txt", content="süß\nb\nc\n")

    assert file.read_bytes() == "süß\r\nb\r\nc\r\n".encode("latin-1")
