from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from fakes.chat import until
from fakes.hostile_repository import HostileRepository, bare_layout
from fakes.prompt_app import PromptApp, type_text

from cinch_tui.widgets.prompt.path_completion import MentionCompletion
from cinch_tui.widgets.prompt.project_files import FileIndex, FileSearch, list_paths, recent_paths

PATHS = ("Makefile", "readme.md", "src/", "src/main.py", "src/model/maker.py", "tests/test_main.py", "ünïcode/ä.py")


def found(query: str, *favoured: str, paths: tuple[str, ...] = PATHS) -> list[str]:
    search = FileSearch(FileIndex(paths), query)
    while not search.is_done:
        search.run(1)
    return search.best(favoured)


def offered(mentions: MentionCompletion, before: str) -> list[str]:
    completion = mentions.complete(before)
    return [candidate.text for candidate in completion.candidates] if completion else []


def test_starts_of_names_come_before_parts():
    assert found("ma") == ["Makefile", "src/main.py", "src/model/maker.py", "tests/test_main.py"]


def test_capitals_count_where_there_are_some():
    assert found("Ma") == ["Makefile"]


def test_scattered_letters_count_where_no_part_fits():
    assert found("smkr") == ["src/model/maker.py"]
    assert found("qqq") == []


def test_letters_beyond_ascii_are_found_as_they_are_written():
    assert found("ä.p") == ["ünïcode/ä.py"]


def test_favoured_come_first_of_their_like_and_beyond_what_is_kept():
    many = tuple(f"a/main{number}.py" for number in range(5_000))

    assert found("main", "tests/test_main.py") == ["src/main.py", "tests/test_main.py"]
    assert found("ma", "src/model/maker.py")[:2] == ["Makefile", "src/model/maker.py"]
    assert found("main", "a/main4999.py", paths=many)[0] == "a/main4999.py"


def test_search_stops_when_its_time_is_up_and_continues_later():
    paths = [f"folder/{number}/file.py" for number in range(200_000)]
    search = FileSearch(FileIndex([*paths, "last/needle.py"]), "needle")

    search.run(0)
    at_first = (search.is_done, search.best(()))
    while not search.is_done:
        search.run(0.001)

    assert at_first == (False, [])
    assert search.best(()) == ["last/needle.py"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("old.py", "changed.py", "deep/er/file.py", "my notes.txt", "ignored.log", ".gitignore"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("*.log\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "changed.py").write_text("changed")
    (tmp_path / "new.py").write_text("new")
    return tmp_path


async def test_files_and_folders_are_listed_nearest_first_up_to_the_limit(project: Path):
    listed = await list_paths(project)

    assert listed == [
        ".gitignore", "changed.py", "deep/", "my notes.txt", "new.py", "old.py", "deep/er/", "deep/er/file.py",
    ]  # fmt: skip
    assert len([path for path in await list_paths(project, 2) if not path.endswith("/")]) == 2


async def test_changed_and_new_files_are_recent(project: Path):
    assert (await recent_paths(project))[:2] == ["changed.py", "new.py"]


async def test_recent_and_used_files_are_offered_first(project: Path):
    mentions = MentionCompletion(project)
    await mentions.load()

    assert offered(mentions, "see @")[:2] == ["changed.py", "new.py"]
    mentions.used("old.py")
    assert offered(mentions, "see @")[0] == "old.py"
    assert offered(mentions, "@.py")[:3] == ["old.py", "changed.py", "new.py"]


async def test_path_with_a_blank_is_quoted_and_continues_in_its_quotes(project: Path):
    mentions = MentionCompletion(project)
    await mentions.load()

    assert offered(mentions, "see @notes") == ['"my notes.txt"']
    assert offered(mentions, 'see @"my n') == ['"my notes.txt"']
    assert offered(mentions, 'see @"my notes.txt" and') == []


def test_folders_outside_are_listed_from_the_root_home_and_above(project: Path, own_home: Path):
    (own_home / "at_home.txt").write_text("")
    mentions = MentionCompletion(project / "deep")

    assert offered(mentions, "@~/at") == ["~/at_home.txt"]
    assert offered(mentions, "@../ch") == ["../changed.py"]
    assert offered(mentions, f"@{project}/de") == [f"{project}/deep/"]
    assert offered(mentions, "@/nowhere/at/all/") == []


async def test_folder_is_taken_and_gone_into(project: Path):
    app = PromptApp(project)
    async with app.run_test() as pilot:
        await type_text(pilot, "@deep")
        await until(pilot, lambda: app.popup.is_open)
        await pilot.press("tab")
        await until(pilot, lambda: app.prompt.text == "@deep/")
        await until(pilot, lambda: app.popup.is_open)
        inside = [candidate.text for candidate in app.popup.completion.candidates] if app.popup.completion else []
        assert sorted(inside) == ["deep/er/", "deep/er/file.py"]
        await type_text(pilot, "er/f")
        await until(pilot, lambda: app.popup.is_open)
        await pilot.press("tab")

        assert app.prompt.text == "@deep/er/file.py "


async def test_folder_that_is_typed_whole_is_sent_as_it_is(project: Path):
    app = PromptApp(project)
    async with app.run_test() as pilot:
        await type_text(pilot, "see @deep/")
        await until(pilot, lambda: app.popup.is_open)
        await pilot.press("enter")

        assert app.sent == ["see @deep/"]


@pytest.mark.parametrize("key", ["core.fsmonitor", "filter.evil.clean", "diff.evil.textconv"])
async def test_listing_files_at_work_runs_no_program_that_the_repository_configures(tmp_path: Path, key: str):
    attack = HostileRepository(tmp_path)
    attack.repository(**{key: str(attack.program)})
    (attack.root / ".gitattributes").write_text("* diff=evil filter=evil\n")

    assert "f.py" in await recent_paths(attack.root)
    assert not attack.has_run


async def test_listing_files_at_work_uses_no_folder_that_looks_like_a_bare_repository(tmp_path: Path):
    attack = HostileRepository(tmp_path)
    bare_layout(attack.root, f"fsmonitor = {attack.program}\n")

    assert await recent_paths(attack.root) == []
    assert not attack.has_run


async def test_ignore_file_that_is_a_named_pipe_does_not_hold_up_the_list(tmp_path: Path):
    (tmp_path / "one.py").touch()
    os.mkfifo(tmp_path / ".gitignore")

    async with asyncio.timeout(10):
        assert "one.py" in await list_paths(tmp_path)
