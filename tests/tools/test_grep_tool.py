from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from fakes.workplace import Workplace

from harness.errors import FileMissing, NotAFile, OutsideWorkspace, WorkspaceError
from harness.messages import JsonValue
from harness.ports.tool import Tool
from harness.views import ListingView
from tools.find import FindTool
from tools.grep import GrepTool
from tools.list import ListTool
from tools.read import ReadTool
from tools.ripgrep_output import Matches

GREP = GrepTool()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    place = Workplace(tmp_path / "project")
    place.put("src/one.py", "import os\n\ndef alpha():\n    return os.name\n")
    place.put("src/two.py", "def beta():\n    return 'alpha'\n")
    place.put("notes.md", "alpha and beta\n")
    return place


async def test_matches_are_grouped_by_file_with_line_numbers(place: Workplace):
    called = await place.call(GREP, pattern="alpha")

    assert called.lines == [
        "notes.md",
        "1: alpha and beta",
        "src/one.py",
        "3: def alpha():",
        "src/two.py",
        "2:     return 'alpha'",
        "[3 matching lines in 3 files]",
    ]
    assert isinstance(called.output.view, ListingView)
    assert called.output.view.entries[1] == "src/one.py:3: def alpha():"
    assert called.output.details == {"matches": 3, "files": 3}


async def test_files_and_counts_can_be_requested(place: Workplace):
    files = await place.call(GREP, pattern="return", output_mode="files_with_matches")
    counts = await place.call(GREP, pattern="alpha|beta", output_mode="count")

    assert files.lines == ["src/one.py", "src/two.py", "[2 matching lines in 2 files]"]
    assert counts.lines == ["notes.md: 1", "src/one.py: 1", "src/two.py: 2", "[4 matching lines in 3 files]"]


async def test_search_is_narrowed_by_path_glob_and_type(place: Workplace):
    by_path = await place.call(GREP, pattern="alpha", path="src/two.py")
    by_glob = await place.call(GREP, pattern="alpha", include="*.md")
    by_type = await place.call(GREP, pattern="alpha", type="py", head_limit=10)

    assert by_path.lines[0] == "src/two.py"
    assert by_glob.lines[0] == "notes.md"
    assert by_type.lines[0] == "src/one.py"


async def test_context_lines_are_marked_apart(place: Workplace):
    called = await place.call(GREP, **{"pattern": "ALPHA", "-i": True, "-C": 1, "path": "src/one.py"})

    assert called.lines[1:4] == ["2- ", "3: def alpha():", "4-     return os.name"]


async def test_multiline_pattern_reaches_over_line_ends(place: Workplace):
    called = await place.call(GREP, pattern=r"alpha\(\):.*return", multiline=True)

    assert called.lines[:3] == ["src/one.py", "3: def alpha():", "4-     return os.name"]


async def test_literal_takes_the_pattern_verbatim(place: Workplace):
    place.put("odd.txt", "a(b[c\n")

    refused = await place.call(GREP, pattern="a(b[c")
    found = await place.call(GREP, pattern="a(b[c", literal=True)

    assert refused.output.is_error
    assert "literal=true" in refused.text
    assert found.lines[:2] == ["odd.txt", "1: a(b[c"]


async def test_pattern_that_looks_like_an_option_is_a_pattern(place: Workplace):
    place.put("flags.txt", "use --pre=cat here\n")

    called = await place.call(GREP, pattern="--pre=cat")

    assert called.lines[1] == "1: use --pre=cat here"


async def test_unknown_type_is_explained(place: Workplace):
    called = await place.call(GREP, pattern="x", type="pyhton")

    assert called.output.is_error
    assert "does not know the type 'pyhton'" in called.text


async def test_nothing_found_is_no_failure(place: Workplace):
    called = await place.call(GREP, pattern="nowhere")

    assert not called.output.is_error
    assert called.text == "Nothing in . matches 'nowhere'."


async def test_total_is_reported_where_the_limit_cuts(place: Workplace):
    place.put("many.txt", "needle\n" * 5000)

    called = await place.call(GREP, pattern="needle", limit=10)

    assert called.lines[-1] == "[1 to 10 of 5000 matching lines in 1 files; next page: offset=10]"
    assert len(called.lines) == 12


async def test_long_line_is_shown_around_the_match(place: Workplace):
    place.put("long.txt", "é" * 5000 + "needle" + "y" * 5000 + "\n")

    called = await place.call(GREP, pattern="needle")

    line = called.lines[1]
    assert "needle" in line
    assert line.count("…") == 2
    assert len(line) < 320


async def test_git_ignored_files_are_omitted(place: Workplace):
    place.put(".gitignore", "build/\n")
    place.put("build/out.py", "alpha\n")
    place.put(".git/config", "alpha\n")
    place.put(".github/ci.yml", "alpha\n")

    called = await place.call(GREP, pattern="alpha", output_mode="files_with_matches")

    assert called.lines[:-1] == [".github/ci.yml", "notes.md", "src/one.py", "src/two.py"]


async def test_links_that_lead_outside_are_not_followed(place: Workplace, tmp_path: Path):
    (tmp_path / "secret.txt").write_text("alpha of others\n")
    (place.root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (place.root / "folder").symlink_to(tmp_path)

    called = await place.call(GREP, pattern="others")

    assert "Nothing in ." in called.text
    with pytest.raises(OutsideWorkspace):
        await place.call(GREP, pattern="others", path="link.txt")


async def test_pipe_and_missing_path_are_refused_at_once(place: Workplace):
    os.mkfifo(place.root / "pipe")

    with pytest.raises(NotAFile, match="named pipe"):
        await place.call(GREP, pattern="x", path="pipe")
    with pytest.raises(FileMissing, match="Did you mean: src"):
        await place.call(GREP, pattern="x", path="srcs")


@pytest.mark.parametrize("pipe", [".gitignore", "src/.ignore", "../.gitignore", ".git/info/exclude"])
async def test_ignore_file_that_is_a_named_pipe_does_not_hold_up_a_search(place: Workplace, pipe: str):
    (place.root / ".git/info").mkdir(parents=True)
    os.mkfifo(place.root / pipe)

    async with asyncio.timeout(10):
        grep = await place.call(GREP, pattern="alpha", output_mode="count")
        found = await place.call(FindTool(), pattern="*.py")

    assert grep.lines == ["notes.md: 1", "src/one.py: 1", "src/two.py: 1", "[3 matching lines in 3 files]"]
    assert sorted(found.lines[:-1]) == ["src/one.py", "src/two.py"]


@pytest.mark.parametrize("tool", [GREP, FindTool()], ids=["grep", "find"])
async def test_ignore_file_that_is_a_device_stops_a_search_with_an_error(place: Workplace, tool: Tool):
    (place.root / "src/.gitignore").symlink_to("/dev/zero")

    async with asyncio.timeout(10):
        with pytest.raises(NotAFile, match=r"src/\.gitignore is a device"):
            await place.call(tool, pattern="alpha")


async def test_pipes_and_devices_in_the_tree_are_passed_over(place: Workplace):
    os.mkfifo(place.root / "src/pipe.py")
    (place.root / "src/zero.py").symlink_to("/dev/zero")

    async with asyncio.timeout(10):
        grep = await place.call(GREP, pattern="alpha", path="src", output_mode="files_with_matches")
        found = await place.call(FindTool(), pattern="*.py", path="src")
        listed = await place.call(ListTool(), path="src")

    assert grep.lines[:-1] == ["src/one.py", "src/two.py"]
    assert {"src/one.py", "src/two.py"} <= set(found.lines)
    assert {"pipe.py", "zero.py -> /dev/zero"} <= {line.strip() for line in listed.lines}


@pytest.mark.parametrize("tool", [GREP, FindTool(), ListTool(), ReadTool()], ids=["grep", "find", "list", "read"])
@pytest.mark.parametrize("path", ["x" * 256, "ü" * 200, f"src/{'x' * 300}/y", "y/" * 3000], ids=len)
async def test_name_too_long_for_the_system_is_a_clear_error(place: Workplace, tool: Tool, path: str):
    arguments: dict[str, JsonValue] = {} if tool.name in ("list_files", "read_file") else {"pattern": "x"}

    with pytest.raises(WorkspaceError, match="its name is too long"):
        await place.call(tool, path=path, **arguments)


async def test_text_in_latin_1_is_shown(place: Workplace):
    place.put("old.txt", "caf\xe9 alpha\n".encode("latin-1"))

    called = await place.call(GREP, pattern="alpha", path="old.txt")

    assert called.lines[1] == "1: café alpha"


async def test_stopping_a_search_leaves_no_child(place: Workplace):
    place.put("many.txt", "needle\n" * 200_000)
    call = asyncio.ensure_future(place.call(GREP, pattern="needle"))
    await asyncio.sleep(0)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    assert not children.exists() or "rg" not in [
        Path(f"/proc/{child}/comm").read_text().strip() for child in children.read_text().split()
    ]


async def test_flood_of_matches_is_stopped_early(place: Workplace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tools.grep._MOST_OUTPUT", 300_000)
    place.put("many.txt", "needle\n" * 100_000)

    called = await place.call(GREP, pattern="needle", limit=5)

    assert called.lines[-1].startswith("[1 to 5 of more than 1")
    assert "narrow the search" in called.lines[-1]


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
async def test_pages_together_are_the_whole_result_in_order(place: Workplace, mode: str):
    for number in range(30):
        place.put(f"many/{number:02}.txt", "needle\nother\nneedle\n" * (number % 4))
    whole = await place.call(GREP, pattern="needle", output_mode=mode, glob="many/**")
    assert isinstance(whole.output.view, ListingView)

    entries: list[str] = []
    for offset in range(0, whole.output.view.total, 7):
        page = await place.call(GREP, pattern="needle", output_mode=mode, glob="many/**", offset=offset, limit=7)
        assert isinstance(page.output.view, ListingView)
        entries += page.output.view.entries
        rest = whole.output.view.total - offset - 7
        assert (f"next page: offset={offset + 7}]" in page.lines[-1]) == (rest > 0)

    assert entries == list(whole.output.view.entries)
    beyond = await place.call(GREP, pattern="needle", output_mode=mode, offset=1000)
    assert beyond.lines[-1].startswith("[nothing from offset 1000 on; ")


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_records_are_read_in_any_chunking(size: int):
    record = (
        b'{"type":"begin","data":{"path":{"text":"a"}}}\n'
        b'{"type":"match","data":{"path":{"text":"a"},"lines":{"text":"x1\\n"},"line_number":1,'
        b'"absolute_offset":0,"submatches":[{"match":{"text":"x"},"start":0,"end":1}]}}\n'
        b'{"type":"match","data":{"path":{"text":"a"},"lines":{"text":"x2\\n"},"line_number":2,'
        b'"absolute_offset":0,"submatches":[{"match":{"text":"x"},"start":0,"end":1}]}}\n'
        b'{"type":"end","data":{}}\n'
    )
    matches = Matches(1, keeps_lines=True)

    for start in range(0, len(record), size):
        matches.feed(record[start : start + size])
    matches.finish()

    assert (matches.total, matches.file_count) == (2, 1)
    assert [line.text for line in matches.files[0].lines] == ["x1"]


@pytest.mark.parametrize("glob", ["", ".env", "*", ".*"])
async def test_a_search_of_a_folder_leaves_out_secrets(place: Workplace, glob: str):
    place.put(".env", "token=1\n")
    place.put("sub/Server.PEM", "token=2\n")
    place.put("sub/.aws/config", "token=3\n")
    place.put(".gitignore", "!.env\n")
    place.put("sub/.notes", "token=4\n")

    found = await place.call(GREP, pattern="token", glob=glob)

    assert [line for line in found.lines if "token" in line and "'" not in line] == (
        [] if glob == ".env" else ["1: token=4"]
    )


async def test_a_secret_that_the_path_names_is_searched(place: Workplace):
    place.put(".env", "token=1\n")
    place.put(".ssh/id_rsa", "token=2\n")

    assert "token=1" in (await place.call(GREP, pattern="token", path=".env")).text
    assert "token=2" in (await place.call(GREP, pattern="token", path=".ssh")).text
