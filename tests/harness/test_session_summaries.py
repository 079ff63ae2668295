from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, tell, tour, written
from msgspec.structs import replace

from harness.messages import AssistantMessage, Cost, Text, Usage, synthetic, user
from harness.session.index import list_sessions
from harness.session.paths import project_dir
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session
from harness.session.search import SearchQuery, search_sessions
from harness.session.search_index import update_index
from harness.session.summary import summarize


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_cost_and_number_of_messages_of_a_long_session_come_from_the_index(tmp_path: Path, data: Path):
    priced = AssistantMessage(
        (Text("x" * 100_000), call("a")), "m-1", "demo", Usage(1, 2, cost=Cost(0.5, 0.25)), "tool_use"
    )
    path = written(tmp_path, user("first"), priced, result("a"), priced, user("last"))
    store = SessionRecorder(data, tmp_path, path.stem, resumed=load_session(path))
    tell(store, user("short"))
    store.close()

    (before,) = list_sessions(data, None)
    update_index(data)
    (after,) = list_sessions(data, None)

    assert (before.cost, before.messages, before.last_prompt) == (None, None, "short")
    assert (after.cost, after.messages, after.model) == (1.5, 6, "demo/m-1")
    assert replace(before, cost=1.5, messages=6) == after


def test_title_and_tags_in_the_middle_of_a_long_file_are_listed(tmp_path: Path, data: Path):
    long = "x" * 100_000
    path = written(tmp_path, user("prompt"), reply(long))
    with path.open("a") as file:
        file.write('{"type":"ai-title","aiTitle":"the title"}\n{"type":"tag","tag":"one, two"}\n')
    for _ in range(2):
        store = SessionRecorder(data, tmp_path, path.stem)
        tell(store, user("more"), reply(long))
        store.close()
    update_index(data)

    (listed,) = list_sessions(data, None)

    assert (listed.title, listed.tags, listed.last_prompt) == ("the title", ("one", "two"), "more")
    with path.open("a") as file:
        file.write(" " * 70_000 + "\n")
    assert (list_sessions(data, None)[0].title, list_sessions(data, None)[0].tags) == ("the title", ("one", "two"))


def test_listing_reads_unchanged_files_only_once(tmp_path: Path, data: Path):
    path = written(tmp_path, *tour())
    (before,) = list_sessions(data, None)
    facts = path.stat()
    path.write_bytes(b"?" * facts.st_size)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))

    assert list_sessions(data, None) == [before]

    os.utime(path)
    assert list_sessions(data, None) == []


def test_summaries_outlive_moving_the_data_folder(tmp_path: Path, data: Path):
    path = written(tmp_path, *tour())
    update_index(data)
    moved = data.rename(tmp_path / "moved")

    (listed,) = list_sessions(moved, None)

    assert listed.path == moved / path.relative_to(data)
    assert [hit.path for hit in search_sessions(moved, SearchQuery("look"))][:1] == [listed.path]


def test_unreadable_folders_and_files_are_reported(tmp_path: Path, data: Path):
    path = written(tmp_path, user("alpha"))
    update_index(data)
    # Links to themselves cannot be read, not even by root.
    folder = project_dir(data, tmp_path / "other")
    folder.symlink_to(folder)
    (path.parent / "aaaa.jsonl").symlink_to("aaaa.jsonl")
    problems: list[str] = []

    listed = list_sessions(data, None, on_problem=problems.append)

    assert [each.path for each in listed] == [path]
    assert sorted(problem.partition(" cannot be read: ")[0] for problem in problems) == sorted(
        [str(folder), str(path.parent / "aaaa.jsonl")]
    )
    # What cannot be read now is not forgotten.
    path.rename(tmp_path / "away")
    update_index(data)
    (tmp_path / "away").rename(path)
    assert [hit.path for hit in search_sessions(data, SearchQuery("alpha"))] == [path]


def test_nothing_is_created_where_there_are_no_sessions(data: Path):
    update_index(data)

    assert list_sessions(data, None) == []
    assert search_sessions(data, SearchQuery("x")) == []
    assert not data.exists()


def test_notice_of_the_program_is_not_the_last_prompt(tmp_path: Path):
    path = written(tmp_path, user("typed"), reply("done"), synthetic("[Background job b1 has finished.]"))

    summary = summarize(path)
    assert summary is not None
    assert summary.last_prompt == "typed"
