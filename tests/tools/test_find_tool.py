from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from fakes.workplace import Workplace

from harness.errors import FileMissing, OutsideWorkspace
from harness.views import ListingView
from tools.find import FindTool, glob_expression
from tools.ripgrep_output import grouped_by_folder

FIND = FindTool()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    place = Workplace(tmp_path / "project")
    for age, name in enumerate(["src/app/main.py", "src/app/view.ts", "src/util.py", "setup.py", "docs/a b.md"]):
        os.utime(place.put(name), (1_000_000 - age, 1_000_000 - age))
    return place


async def test_name_pattern_matches_in_any_folder_newest_first(place: Workplace):
    called = await place.call(FIND, pattern="*.py")

    assert called.lines == ["src/app/main.py", "src/util.py", "setup.py", "[3 files]"]
    assert called.output.view == ListingView("*.py in .", ("src/app/main.py", "src/util.py", "setup.py"), 3)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/*.py", ["src/app/main.py", "src/util.py", "setup.py"]),
        ("src/*.py", ["src/util.py"]),
        ("src/**", ["src/app/main.py", "src/app/view.ts", "src/util.py"]),
        ("./src/**/*.{py,ts}", ["src/app/main.py", "src/app/view.ts", "src/util.py"]),
        ("[s]etup.p?", ["setup.py"]),
        ("a b.md", ["docs/a b.md"]),
    ],
)
async def test_glob_means_what_it_means_elsewhere(place: Workplace, pattern: str, found: list[str]):
    called = await place.call(FIND, pattern=pattern)

    assert called.lines[:-1] == found


async def test_absolute_pattern_inside_the_folder_works(place: Workplace):
    called = await place.call(FIND, pattern=f"{place.root}/src/*.py")

    assert called.lines[0] == "src/util.py"


async def test_results_are_named_from_the_root_whatever_the_path(place: Workplace):
    called = await place.call(FIND, pattern="*.ts", path="src/app")

    assert called.lines[0] == "src/app/view.ts"


async def test_total_is_reported_where_the_limit_cuts(place: Workplace):
    called = await place.call(FIND, pattern="*.py", limit=1)

    assert called.lines[0] == "src/app/main.py"
    assert called.lines[1] == "[1 to 1 of 3 files; next page: offset=1]"


async def test_next_page_continues_where_the_last_one_ended(place: Workplace):
    called = await place.call(FIND, pattern="*.py", offset=1, limit=5)

    assert called.lines == ["src/util.py", "setup.py", "[2 to 3 of 3 files]"]


async def test_ignored_files_are_left_out_even_when_the_pattern_names_them(place: Workplace):
    place.put(".gitignore", "*.log\n")
    place.put("run.log")

    called = await place.call(FIND, pattern="*.log")

    assert called.text.startswith("No file in . matches *.log.")


async def test_folder_outside_or_missing_is_refused(place: Workplace):
    with pytest.raises(OutsideWorkspace):
        await place.call(FIND, pattern="*", path="..")
    with pytest.raises(FileMissing):
        await place.call(FIND, pattern="*", path="nowhere")


async def test_file_name_that_would_run_a_command_is_only_a_name(place: Workplace):
    place.put("$(touch hacked).py")

    called = await place.call(FIND, pattern="$(touch*.py")

    assert called.lines[0] == "$(touch hacked).py"
    assert not (place.root / "hacked").exists()


@pytest.mark.parametrize("pattern", ["[", "[]", "a[", "{a", "a}", "***", "**a", "[!a]", "[\\]", "{,}", "{{a,b},c}.py"])
def test_any_pattern_becomes_a_valid_expression(pattern: str):
    re.compile(glob_expression(pattern))


async def test_long_result_names_each_folder_once(place: Workplace):
    for number in range(9):
        os.utime(place.put(f"src/app/page_{number}.ts"), (1000 - number, 1000 - number))

    called = await place.call(FIND, pattern="*.ts")

    pages = [f"  page_{number}.ts" for number in range(9)]
    assert called.lines == ["src/app/", "  view.ts", *pages, "[10 files]"]
    view = called.output.view
    assert isinstance(view, ListingView)
    assert view.entries[:2] == ("src/app/view.ts", "src/app/page_0.ts")


def test_paths_of_a_folder_are_grouped_in_the_order_of_the_first() -> None:
    paths = ["a/x.py", "top.py", "/out/b.py", "a/b/only.py", "a/y.py", *(f"/out/{number}" for number in range(5))]

    assert grouped_by_folder(paths) == [
        "a/",
        "  x.py",
        "  y.py",
        "top.py",
        "/out/",
        "  b.py",
        *(f"  {number}" for number in range(5)),
        "a/b/only.py",
    ]
    assert grouped_by_folder(paths[:5]) == paths[:5]
