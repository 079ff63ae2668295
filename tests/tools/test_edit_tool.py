from __future__ import annotations

from pathlib import Path

import pytest
from fakes.workplace import Workplace
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import FileMissing, FileNotRead, InvalidArguments
from harness.ports.tool import ToolOutput
from harness.views import DiffView
from harness.workspace.file_text import file_text
from tools.edit import EditTool
from tools.editing.edits import AppliedEdits, Edit, RejectedEdits, apply_edits

EDIT = EditTool()
CODE = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    return Workplace(tmp_path / "project")


async def opened(place: Workplace, content: str | bytes = CODE) -> Path:
    file = place.put("a.py", content)
    await place.workspace.read("a.py")
    return file


async def test_edit_reports_where_the_new_lines_are(place: Workplace):
    file = await opened(place)

    called = await place.call(EDIT, path="a.py", old_string="return 1", new_string="x = 1\n        return x")

    assert called.text == "Edited a.py: 1 place, now lines 3–4."
    assert called.output.view == DiffView("a.py", CODE, file.read_text())
    assert "        x = 1\n        return x\n" in file.read_text()


async def test_several_edits_are_made_in_order_all_or_none(place: Workplace):
    file = await opened(place)

    missed = await place.call(
        EDIT, path="a.py", edits=[{"old": "return 1", "new": "return 9"}, {"old": "nothing", "new": "x"}]
    )
    assert missed.output.is_error
    assert "old_string of edit 2 is not in the file" in missed.text
    assert file.read_text() == CODE

    made = await place.call(
        EDIT, path="a.py", edits=[{"old": "return 1", "new": "return 9"}, {"old": "return 9", "new": "return 8"}]
    )
    assert made.text == "Edited a.py: 2 places, now line 3."
    assert "return 8" in file.read_text()


@pytest.mark.parametrize("names", [("old_text", "new_text"), ("oldText", "newText"), ("old", "new")])
async def test_other_names_of_the_parameters_are_taken(place: Workplace, names: tuple[str, str]):
    file = await opened(place)

    await place.call(EDIT, **{"file_path": "a.py", names[0]: "return 1", names[1]: "return 7"})

    assert "return 7" in file.read_text()


async def test_text_that_occurs_twice_needs_replace_all(place: Workplace):
    file = await opened(place)

    refused = await place.call(EDIT, path="a.py", old_string="return", new_string="yield")
    assert "occurs 2 times, at lines 3, 6" in refused.text

    made = await place.call(EDIT, path="a.py", old_string="return", new_string="yield", replace_all=True)
    assert made.text == "Edited a.py: 2 places, now lines 3, 6."
    assert file.read_text().count("yield") == 2


async def test_an_impossible_edit_asks_for_no_approval(place: Workplace):
    place.put("a.py", CODE)
    unread = await place.foresee(EDIT, path="a.py", old_string="return 1", new_string="x")
    assert isinstance(unread, ToolOutput)
    assert unread.is_error

    await opened(place)
    missed = await place.foresee(EDIT, path="a.py", old_string="nowhere", new_string="x")
    possible = await place.foresee(EDIT, path="a.py", old_string="return 1", new_string="pass")

    assert isinstance(missed, ToolOutput)
    assert isinstance(possible, DiffView)
    assert (place.root / "a.py").read_text() == CODE


async def test_unread_and_missing_files_are_refused(place: Workplace):
    place.put("a.py", CODE)

    with pytest.raises(FileNotRead):
        await place.call(EDIT, path="a.py", old_string="return 1", new_string="x")
    with pytest.raises(FileMissing):
        await place.call(EDIT, path="b.py", old_string="return 1", new_string="x")


def test_incomplete_arguments_are_rejected():
    for arguments in ({"path": "a"}, {"path": "a", "old_string": "x"}, {"path": "a", "edits": []}):
        with pytest.raises(InvalidArguments):
            EDIT.validate(arguments)


def edited(data: bytes, old: str, new: str) -> AppliedEdits | RejectedEdits:
    return apply_edits(file_text(data), [Edit(old, new)])


@pytest.mark.parametrize(
    ("data", "old", "new", "result", "ignoring"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "A\nB\nX", b"A\r\nB\r\nX\r\nc\r\n", "line endings"),
        (b"a\rb\rc\r", "b\n", "B\n", b"a\rB\rc\r", "line endings"),
        (b"a\nb\n", "a\r\nb", "a\r\nB", b"a\nB\n", "line endings"),
        (b"a  \nb\t\nc\n", "a\nb\nc", "a\nb\nC", b"a  \nb\t\nC\n", "trailing spaces"),
        (b"a\nb\nc\n", "a  \nb", "a\nB", b"a\nB\nc\n", "trailing spaces"),
        ("x = ‘a’\ny\n".encode(), "x = 'a'\ny", "x = 'a'\nY", "x = ‘a’\nY\n".encode(), "typographic"),
        (
            b"if a:\n    if b:\n        c\n",
            "if b:\n    c\n",
            "if b:\n    d\n",
            b"if a:\n    if b:\n        d\n",
            "indent",
        ),
        (b"\tif b:\n\t\tc\n", "\t\tif b:\n\t\t\tc", "\t\tif b:\n\t\t\td", b"\tif b:\n\t\td\n", "indentation"),
        (b"one\ntwo\n", "     1\tone\n     2\ttwo", "     1\tuno\n     2\ttwo", b"uno\ntwo\n", "line numbers"),
        (b"1: a\n2: b\n", "     1\t1: a\n     2\t2: b", "1: a\n2: c", b"1: a\n2: c\n", "line numbers"),
        (b"1: a\n2: b\n", "1\t1: a\n2\t2: b", "0: z\n1\t1: a\n2\t2: c", b"0: z\n1: a\n2: c\n", "line numbers"),
    ],
)
def test_differences_without_meaning_are_overlooked_and_reported(
    data: bytes, old: str, new: str, result: bytes, ignoring: str
):
    outcome = edited(data, old, new)

    assert isinstance(outcome, AppliedEdits)
    assert outcome.file.data == result
    assert ignoring in outcome.notes[0]


@pytest.mark.parametrize(
    ("data", "old", "new", "said"),
    [
        (b"hello\n", "", "x", "is empty, but the file is not"),
        (b"hello\n", "hello", "hello", "are identical"),
        (b"aaa\n", "aa", "b", "occurs 2 times"),
        (b"def foo(a, b):\n", "def foo(a,b):", "x", "line 1 differs in spaces inside the line"),
        (b"\tif x:\n\t\ty\n", "    if x:\n     y", "z", "the file has 1 tab, old_string has 4 spaces"),
        (b"x\nHello there\n", "hello there", "y", "line 2 differs in upper and lower case"),
        (b"def f(): return 2\n", "def f(): return 1", "def f(): return 2", "seems to have been applied already"),
        (b"abc\n", "something else entirely", "x", "Nothing in the file is similar"),
        (b"foobar\n", "foo  ", "x", "is not in the file"),
        (b"    a\n      b\n", "a\nb\n", "c\n", "is not in the file"),
    ],
)
def test_rejection_names_the_difference_and_what_to_do(data: bytes, old: str, new: str, said: str):
    outcome = edited(data, old, new)

    assert isinstance(outcome, RejectedEdits)
    assert said in outcome.reason


def test_empty_file_is_filled():
    outcome = edited(b"", "", "hi\n")

    assert isinstance(outcome, AppliedEdits)
    assert outcome.file.data == b"hi\n"


def test_distant_lines_of_a_long_file_are_found_quickly():
    text = "".join(f"value_{number} = compute(item_{number})\n" for number in range(50_000))

    outcome = edited(text.encode(), "value_49999 = compute(thing_49999)", "x")

    assert isinstance(outcome, RejectedEdits)
    assert "line 50000 differs" in outcome.reason


ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252", "koi8_r", "cp932"])
SIGNS = {"cp1252": "größe", "koi8_r": "Привет мир", "cp932": "こんにちは世界"}
WORDS = st.lists(st.text("abc  ", max_size=6), max_size=5)


@given(
    ENCODINGS,
    st.sampled_from(["\n", "\r\n", "\r"]),
    WORDS,
    WORDS,
    st.sampled_from(["exact", "feeds", "spaces", "shift"]),
)
def test_an_edit_changes_only_its_own_bytes(encoding: str, ending: str, above: list[str], below: list[str], rung: str):
    sign = SIGNS.get(encoding, "漢字é")
    before = "".join(f"{line}{sign}{ending}" for line in above)
    after = "".join(f"{ending}{line}{sign}" for line in below)
    trail, indent = ("  " if rung == "spaces" else ""), ("    " if rung == "shift" else "")
    here = f"{indent}TARGET one{trail}{ending}{indent}TARGET two"
    data = f"{before}{here}{after}".encode(encoding)
    old = here if rung == "exact" else "TARGET one\nTARGET two"

    outcome = edited(data, old, old.replace("two", "three"))

    assert isinstance(outcome, AppliedEdits)
    wanted = f"{before}{here}{after}".replace("TARGET two", "TARGET three")
    assert outcome.file.data == wanted.encode(encoding)
