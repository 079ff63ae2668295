from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, tell, written
from msgspec.structs import replace

from harness.messages import Image, Text, ToolCall, UserMessage, new_id, user
from harness.session import database, search_index
from harness.session.database import database_path
from harness.session.index import list_sessions
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session
from harness.session.search import SearchHit, SearchQuery, search_sessions
from harness.session.search_index import update_index

UPDATE = """
import sys
from pathlib import Path
from harness.session.search_index import update_index
update_index(Path(sys.argv[1]))
"""


def at(time: float, text: str) -> UserMessage:
    return UserMessage((Text(text),), time=1_700_000_000 + time)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def found(data: Path, text: str, **filters: object) -> list[SearchHit]:
    """Return the matches in an updated index."""
    update_index(data)
    query = SearchQuery(text, **filters)  # pyright: ignore[reportArgumentType]
    return search_sessions(data, query)


def texts(data: Path, text: str, **filters: object) -> set[str]:
    return {hit.snippet for hit in found(data, text, **filters)}


@pytest.mark.parametrize("indexed", [True, False])
def test_message_is_found_by_all_its_words_in_any_order(tmp_path: Path, data: Path, indexed: bool):
    path = written(tmp_path, user("Restore the old cache"), reply("The cache is cold."), user("unrelated"))
    if indexed:
        update_index(data)

    hits = search_sessions(data, SearchQuery("CACHE the"))

    messages = load_session(path).messages
    assert {hit.message_id for hit in hits} == {messages[0].id, messages[1].id}
    assert {(hit.role, hit.snippet) for hit in hits} == {
        ("user", "Restore the old cache"), ("assistant", "The cache is cold."),
    }  # fmt: skip
    assert all(hit.session_id == path.stem for hit in hits)
    assert not search_sessions(data, SearchQuery("cache unrelated"))
    assert not search_sessions(data, SearchQuery(" "))


def test_phrase_prefix_diacritics_and_scripts_without_spaces_are_found(tmp_path: Path, data: Path):
    written(tmp_path, user("Move the café to foo_bar.py"), user("the move"), user("为什么这么慢"))

    assert texts(data, '"move the"') == {"Move the café to foo_bar.py"}
    assert texts(data, "caf") == texts(data, "CAFE") == {"Move the café to foo_bar.py"}
    assert texts(data, "foo_bar.py") == {"Move the café to foo_bar.py"}
    assert texts(data, "这么") == {"为什么这么慢"}
    assert texts(data, "么这么") == {"为什么这么慢"}
    assert not texts(data, "慢这")
    assert not texts(data, "caf move_")


@pytest.mark.parametrize("text", ['"', '"unclosed', "a AND", "NEAR(", "*", "col:x", "-", "\0", "\udcff", "^x", '""""'])
def test_query_syntax_of_the_database_is_plain_text(tmp_path: Path, data: Path, text: str):
    written(tmp_path, user("go"))

    assert found(data, text) == []


def test_text_without_letters_is_found(tmp_path: Path, data: Path):
    written(tmp_path, user("a => b"), user("a = b"))

    assert texts(data, "=>") == {"a => b"}


def test_calls_and_results_are_found_by_their_tool(tmp_path: Path, data: Path):
    run = ToolCall("a", "bash", {"command": "docker compose up"})
    written(tmp_path, user("start docker"), reply("ok", run), result("a", "docker: not found", name="bash"))

    assert texts(data, "docker", tool="Bash") == {"docker compose up", "docker: not found"}
    assert {hit.role for hit in found(data, "docker")} == {"user", "tool"}
    assert not texts(data, "docker", tool="grep")


@pytest.mark.parametrize("indexed", [True, False])
def test_filters_restrict_the_matches(tmp_path: Path, data: Path, indexed: bool):
    edit = ToolCall("a", "edit_file", {"path": "src/app.py"})
    written(tmp_path, at(100, "task one"), reply(edit), result("a"))
    store = SessionRecorder(data, tmp_path / "other", new_id())
    tell(store, at(200, "task two"), replace(reply("done"), model="gpt-5", provider="openai"))
    store.close()
    if indexed:
        update_index(data)

    def tasks(**filters: object) -> set[str]:
        query = SearchQuery("task", **filters)  # pyright: ignore[reportArgumentType]
        return {hit.snippet for hit in search_sessions(data, query)}

    assert tasks() == {"task one", "task two"}
    assert tasks(cwd=tmp_path / "other") == {"task two"}
    assert tasks(since=1_700_000_150.0) == {"task two"}
    assert tasks(until=1_700_000_150.0) == {"task one"}
    assert tasks(model="openai/GPT") == {"task two"}
    assert tasks(file="app.py") == tasks(file="src/app.py") == {"task one"}
    assert tasks(file="p.py") == set()


def test_hits_are_ranked_and_limited(tmp_path: Path, data: Path):
    written(tmp_path, user("needle " + "hay " * 200), user("needle needle"), *[user(f"{n} hay") for n in range(20)])

    assert found(data, "needle")[0].snippet == "needle needle"
    assert len(search_sessions(data, SearchQuery("hay"), limit=3)) == 3


def test_hit_names_the_message_and_the_place_of_the_match(tmp_path: Path, data: Path):
    path = written(tmp_path, user("go"), reply("first", "x " * 200 + "needle" + " y" * 200))

    (hit,) = found(data, "needle")

    assert (hit.number, hit.message_id) == (2, load_session(path).messages[1].id)
    assert hit.snippet.startswith("…")
    assert "needle" in hit.snippet
    assert hit.snippet.endswith("…")


def test_only_what_was_appended_is_indexed(tmp_path: Path, data: Path):
    path = written(
        tmp_path, user("alpha"), reply("A reply that is longer than the part of a file that is compared, " * 2)
    )
    update_index(data)
    # A change that is not visible at the end is not noticed.
    path.write_bytes(path.read_bytes().replace(b"alpha", b"gamma"))
    store = SessionRecorder(data, tmp_path, path.stem, resumed=load_session(path))
    tell(store, user("beta"))
    store.close()

    assert texts(data, "beta") == {"beta"}
    assert texts(data, "gamma") == set()
    with closing(sqlite3.connect(database_path(data))) as opened:
        assert opened.execute("SELECT count(*) FROM messages").fetchone() == (3,)


def _truncate(path: Path) -> Path:
    os.truncate(path, path.read_bytes().index(b"\n", path.read_bytes().index(b"alpha")) + 1)
    return path


def _replace(path: Path) -> Path:
    path.write_bytes(path.read_bytes().replace(b"beta", b"delta is new"))
    return path


def _delete(path: Path) -> Path:
    path.unlink()
    return path


def _move(path: Path) -> Path:
    (path.parent.parent / "-elsewhere").mkdir()
    return path.rename(path.parent.parent / "-elsewhere" / path.name)


@pytest.mark.parametrize(
    ("change", "alpha", "beta"), [(_truncate, 1, 0), (_replace, 1, 0), (_delete, 0, 0), (_move, 1, 1)]
)
def test_changed_file_is_indexed_anew(
    tmp_path: Path, data: Path, change: Callable[[Path], Path], alpha: int, beta: int
):
    path = written(tmp_path, user("alpha"), user("beta"))
    update_index(data)

    now = change(path)

    assert [hit.path for hit in found(data, "alpha")] == [now] * alpha
    assert [hit.path for hit in found(data, "beta")] == [now] * beta
    assert len(found(data, "delta")) == (change is _replace)
    # Ids are not used again, so words of removed messages do not match others.
    written(tmp_path, user("something"))
    assert len(found(data, "beta")) == beta


def test_index_is_rebuilt_when_most_of_it_is_unused(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search_index, "_LEAST_UNUSED", 3)
    gone = written(tmp_path, *[user(f"secret{number}") for number in range(5)])
    written(tmp_path, user("kept"))
    update_index(data)

    gone.unlink()
    update_index(data)
    update_index(data)

    with closing(sqlite3.connect(database_path(data))) as opened:
        opened.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row)")
        assert {row[0] for row in opened.execute("SELECT term FROM vocabulary")} == {"kept"}


def _scribble(path: Path) -> None:
    path.write_bytes(b"no database" * 1_000)


def _damage_pages(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4_096:] = b"\xff" * (len(data) - 4_096)
    path.write_bytes(data)


def _another_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("PRAGMA user_version = 99")


def _drop_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("DROP TABLE messages")


@pytest.mark.parametrize("damage", [Path.unlink, _scribble, _damage_pages, _another_version, _drop_table])
def test_index_that_is_missing_damaged_or_of_another_version_is_rebuilt(
    tmp_path: Path, data: Path, damage: Callable[[Path], None]
):
    path = written(tmp_path, user("alpha"))
    update_index(data)
    damage(database_path(data))

    assert [hit.path for hit in search_sessions(data, SearchQuery("alpha"))] == [path]
    assert [each.path for each in list_sessions(data, None)] == [path]

    assert [hit.number for hit in found(data, "alpha")] == [1]


def _without_sqlite(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    del data
    monkeypatch.setitem(sys.modules, "sqlite3", None)


def _without_fts5(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    del data
    monkeypatch.setattr(database, "_SCHEMA", database._SCHEMA.replace("fts5", "fts_missing"))


def _unwritable(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    del monkeypatch
    # As in a read-only folder, but also for root.
    database_path(data).mkdir()


@pytest.mark.parametrize("lack", [_without_sqlite, _without_fts5, _unwritable])
def test_without_a_usable_database_files_are_read(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, lack: Callable[[pytest.MonkeyPatch, Path], None]
):
    path = written(tmp_path, user("alpha"), reply("beta", call("a")), result("a", "gamma"))
    lack(monkeypatch, data)

    with pytest.raises(OSError):  # noqa: PT011  each case has its own text
        update_index(data)

    assert [(hit.role, hit.path) for hit in search_sessions(data, SearchQuery("gamma"))] == [("tool", path)]
    assert [(each.path, each.messages) for each in list_sessions(data, tmp_path)] == [(path, 3)]


def test_processes_that_update_at_once_index_each_message_once(tmp_path: Path, data: Path):
    for number in range(40):
        written(tmp_path, *[user(f"alpha {number} {each}") for each in range(10)])

    command = [sys.executable, "-c", UPDATE, str(data)]
    processes = [subprocess.Popen(command) for _ in range(3)]

    assert [process.wait(60) for process in processes] == [0, 0, 0]
    hits = search_sessions(data, SearchQuery("alpha"), limit=1_000)
    assert len(hits) == len({hit.message_id for hit in hits}) == 400


def test_neither_lists_nor_searches_nor_updates_wait_for_a_process_that_is_writing(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    path = written(tmp_path, user("alpha"))
    update_index(data)
    monkeypatch.setattr(database, "_BUSY_S", 0.05)
    with closing(sqlite3.connect(database_path(data), isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        newer = written(tmp_path, user("alpha two"))

        assert {each.path for each in list_sessions(data, None)} == {path, newer}
        assert [hit.path for hit in search_sessions(data, SearchQuery("alpha"))] == [path]
        update_index(data)
        writer.execute("ROLLBACK")

    assert {hit.path for hit in found(data, "alpha")} == {path, newer}


def test_stopped_update_continues_where_it_ended(tmp_path: Path, data: Path):
    written(tmp_path, *[user(f"alpha {number}") for number in range(50)])
    checks = iter(range(20))

    update_index(data, lambda: next(checks, None) is None)

    # It is not used before it is complete.
    assert len(search_sessions(data, SearchQuery("alpha"))) == 50
    with closing(sqlite3.connect(database_path(data))) as opened:
        assert 0 < opened.execute("SELECT count(*) FROM messages").fetchone()[0] < 50
    progress: list[tuple[int, int]] = []
    update_index(data, on_progress=lambda *amounts: progress.append(amounts))
    assert len(search_sessions(data, SearchQuery("alpha"), limit=100)) == 50
    assert progress[-1][0] == progress[-1][1] > 0


def test_incomplete_last_line_is_indexed_when_it_is_complete(tmp_path: Path, data: Path):
    path = written(tmp_path, user("alpha"), user("beta"))
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"beta") + 2])
    assert not found(data, "beta")

    path.write_bytes(whole)

    assert texts(data, "beta") == {"beta"}
    assert len(found(data, "alpha")) == 1


def test_line_that_was_joined_to_another_is_found(tmp_path: Path, data: Path):
    path = written(tmp_path, user("alpha"), user("beta"))
    lines = path.read_bytes().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if b"alpha" in line)
    lines[place] = lines[place][:-20]
    path.write_bytes(b"".join(lines))

    assert texts(data, "beta") == {"beta"}


def test_text_that_no_user_reads_is_not_found(tmp_path: Path, data: Path):
    aborted = replace(reply("half"), stop_reason="aborted")
    picture = UserMessage((Image("image/png", "aGlkZGVu"), Text("see")))
    written(tmp_path, user("go"), aborted, picture)

    for hidden in ("interrupted", "aGlkZGVu", "tool_result", "timestamp", "external"):
        assert not found(data, hidden)


def test_index_is_private(tmp_path: Path, data: Path):
    written(tmp_path, user("alpha"))
    before = os.umask(0)
    try:
        with database.session_database(data) as opened, database.transaction(opened):
            opened.execute("DELETE FROM summaries")
            modes = {path.name: path.stat().st_mode & 0o777 for path in data.iterdir() if path.is_file()}
    finally:
        os.umask(before)

    assert modes == {"sessions.db": 0o600, "sessions.db-wal": 0o600, "sessions.db-shm": 0o600}
