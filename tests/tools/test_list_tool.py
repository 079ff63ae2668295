from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.workplace import Workplace

from harness.errors import FileMissing, NotAFile
from harness.views import ListingView
from tools.list import ListTool

LIST = ListTool()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    place = Workplace(tmp_path / "project")
    place.put("src/app/deep/file.py")
    place.put("src/app/main.py")
    place.put("README.md")
    place.put(".env")
    return place


async def test_folder_is_a_tree_with_folders_first(place: Workplace):
    called = await place.call(LIST, depth=3)

    assert called.lines == [
        "./",
        "src/",
        "  app/",
        "    deep/",
        "    main.py",
        ".env",
        "README.md",
        "[6 entries]",
    ]
    assert isinstance(called.output.view, ListingView)
    assert called.output.view.total == 6


async def test_limit_cuts_the_deepest_first_and_states_the_total(place: Workplace):
    called = await place.call(LIST, depth=5, limit=3)

    assert called.lines == ["./", "src/", ".env", "README.md", "[3 of 7 entries; list a subfolder]"]


async def test_gitignore_of_every_level_is_heeded(place: Workplace):
    place.put(".gitignore", "*.log\nnode_modules/\n")
    place.put("src/.gitignore", "!keep.log\n")
    place.put("src/keep.log")
    place.put("src/other.log")
    place.put("node_modules/x/y.js")
    place.put(".git/config")

    called = await place.call(LIST, path="src", depth=1)
    top = await place.call(LIST, depth=1)

    assert called.lines == ["src/", "app/", ".gitignore", "keep.log", "[3 entries · 1 ignored by git left out]"]
    assert "node_modules/" not in top.lines
    assert ".git/" not in top.lines


async def test_links_are_shown_and_not_followed(place: Workplace, tmp_path: Path):
    (place.root / "out").symlink_to(tmp_path)

    called = await place.call(LIST, depth=3)

    assert f"out -> {tmp_path}" in called.lines


async def test_a_path_that_is_no_folder_is_reported(place: Workplace):
    with pytest.raises(NotAFile, match=r"README\.md is a file; read it\."):
        await place.call(LIST, path="README.md")
    with pytest.raises(FileMissing, match="Did you mean: src"):
        await place.call(LIST, path="scr")


async def test_empty_folder_is_no_error(place: Workplace):
    (place.root / "empty").mkdir()

    assert (await place.call(LIST, path="empty")).lines == ["empty/", "[0 entries]"]


async def test_rules_that_are_a_pipe_are_not_waited_for(place: Workplace):
    os.mkfifo(place.root / ".gitignore")

    called = await place.call(LIST, depth=1)

    assert called.lines == ["./", "src/", ".env", ".gitignore", "README.md", "[4 entries]"]
