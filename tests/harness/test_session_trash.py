from __future__ import annotations

from pathlib import Path

import pytest
from fakes.talk import reply, tell, tour, written

from harness.errors import SessionError, SessionLocked, SessionMissing
from harness.events import TurnEnd
from harness.messages import new_id, user
from harness.session.index import list_sessions
from harness.session.labels import rename_session, tag_session
from harness.session.paths import subagent_path
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session, tags_of
from harness.session.summary import summarize
from harness.session.trash import empty_trash, find_trashed, restore_session, trash_session, trashed_sessions


def test_restored_session_has_its_subagents_and_place_in_the_list(tmp_path: Path):
    data = tmp_path / "data"
    path = written(tmp_path, *tour())
    subagent = subagent_path(path, "a1")
    subagent.parent.mkdir(parents=True)
    subagent.write_text("{}\n")
    before = list_sessions(data, tmp_path)

    trashed = trash_session(data, path)
    assert list_sessions(data, tmp_path) == []
    assert not path.with_suffix("").exists()
    restored = restore_session(find_trashed(data, path.stem[:8]))

    assert (restored, trashed.id) == (path, path.stem)
    assert list_sessions(data, tmp_path) == before
    assert subagent.read_text() == "{}\n"
    assert trashed_sessions(data) == []


def test_open_session_is_not_deleted(tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    tell(store, user("hello"))

    with pytest.raises(SessionLocked, match="close it before you delete it"):
        trash_session(tmp_path / "data", store.path)

    assert store.path.exists()
    store.close()
    assert [each.name for each in store.path.parent.iterdir()] == [store.path.name]


def test_restore_does_not_replace_a_session_with_the_same_id(tmp_path: Path):
    data = tmp_path / "data"
    path = written(tmp_path, user("first"))
    trash_session(data, path)
    again = written(tmp_path, user("second"), session_id=path.stem)

    with pytest.raises(SessionError, match="exists"):
        restore_session(find_trashed(data, "latest"))

    trash_session(data, again)
    assert [load_session(each.path).messages[0].id for each in trashed_sessions(data)]
    assert empty_trash(data) == 2
    with pytest.raises(SessionMissing, match="trash is empty"):
        find_trashed(data, "latest")


def test_entry_without_its_origin_is_restored_by_the_folder_in_the_session(tmp_path: Path):
    path = written(tmp_path, *tour())
    trashed = trash_session(tmp_path / "data", path)
    (trashed.path.parent / "origin.json").write_text('{"project": "../../elsewhere", "deleted": 1}')

    restored = restore_session(find_trashed(tmp_path / "data", path.stem))

    assert restored == path


def test_labels_of_an_open_session_stay_in_the_last_64_kib(tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    tell(store, user("hello"))
    store.suggest_title("by a model")
    store.tag(["bug", "later"])
    store.rename("mine")
    store.suggest_title("by a model again")
    for _ in range(20):
        tell(store, *tour(), user("x" * 20_000))
        store.store(TurnEnd(message=reply("end")))
    store.close()

    summary = summarize(store.path)

    assert summary is not None
    assert summary.title == "mine"
    assert load_session(store.path).tags == ("bug", "later")


def test_labels_of_a_closed_session_are_appended(tmp_path: Path):
    path = written(tmp_path, *tour())
    kept = path.read_bytes()

    title = rename_session(path, "  two\nwords ")
    tag_session(path, add=["bug", "later"])
    tags = tag_session(path, add=["Bug"], remove=["LATER"])

    assert (title, tags) == ("two words", ("bug",))
    assert path.read_bytes().startswith(kept)
    assert tags_of(list(load_session(path).labels)) == ("bug",)
    with pytest.raises(SessionError, match="title is empty"):
        rename_session(path, " ")
