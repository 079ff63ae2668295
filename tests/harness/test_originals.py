from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import FileChanged, FileNotRead, OutsideWorkspace
from harness.session import snapshots as originals
from harness.session.snapshots import Snapshot, Snapshots
from harness.workspace.file_text import digest
from harness.workspace.workspace import Workspace


@pytest.fixture
def kept(tmp_path: Path, workspace: Workspace) -> Snapshots:
    kept = Snapshots(lambda: tmp_path / "state" / "originals" / "one")
    workspace.on_change(kept.observe)
    return kept


async def test_what_a_file_held_before_its_first_change_is_kept_to_the_byte(
    root: Path, workspace: Workspace, kept: Snapshots
):
    (root / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    await workspace.read("a.txt")

    await workspace.write("a.txt", "three\n")
    await workspace.write("a.txt", "four\n")
    await workspace.write("new.txt", "x\n")

    assert kept.all() == [Snapshot(root / "a.txt", b"one\r\ntwo\r\n"), Snapshot(root / "new.txt", None)]


async def test_it_is_there_when_the_session_goes_on_in_another_process(
    tmp_path: Path, root: Path, workspace: Workspace, kept: Snapshots
):
    (root / "a.txt").write_text("one\n")
    await workspace.read("a.txt")
    await workspace.write("a.txt", "two\n")
    folder = tmp_path / "state" / "originals" / "one"
    with (folder / originals.INDEX).open("a") as index:
        index.write('{"path": "/torn')

    later = Snapshots(lambda: folder)

    assert later.all() == [Snapshot(root / "a.txt", b"one\n")]
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir() if path.name != originals.INDEX} == {0o600}


async def test_what_is_too_large_is_told_as_not_kept_and_stops_no_change(
    monkeypatch: pytest.MonkeyPatch, root: Path, workspace: Workspace, kept: Snapshots
):
    monkeypatch.setattr(originals, "MOST_BYTES", 3)
    (root / "a.txt").write_text("large\n")
    await workspace.read("a.txt")

    await workspace.write("a.txt", "x\n")

    assert kept.all() == [Snapshot(root / "a.txt", None, is_kept=False)]
    assert (root / "a.txt").read_text() == "x\n"


async def test_only_the_newest_sessions_keep_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path):
    monkeypatch.setattr(originals, "MOST_SESSIONS", 2)
    for name in ("one", "two", "three"):
        Snapshots(lambda name=name: tmp_path / "kept" / name).observe(root / "a.txt")

    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_a_name_in_the_list_leads_to_no_other_file(tmp_path: Path):
    (tmp_path / "secret").write_text("s")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / originals.INDEX).write_text('{"path": "/a", "kept": "../secret"}\n')

    assert Snapshots(lambda: tmp_path / "one").all() == [Snapshot(Path("/a"), None, is_kept=False)]


async def test_restoring_puts_the_bytes_back_and_tells_listeners_first(root: Path, workspace: Workspace):
    file = root / "a.txt"
    file.write_bytes(b"now\n")
    heard: list[bytes] = []
    workspace.on_change(lambda path: heard.append(path.read_bytes()))

    await workspace.restore("a.txt", b"\xff\x00before", now=digest(b"now\n"))

    assert file.read_bytes() == b"\xff\x00before"
    assert heard == [b"now\n"]


async def test_restoring_nothing_removes_the_file(root: Path, workspace: Workspace):
    (root / "a.txt").write_text("x")

    await workspace.restore("a.txt", None, now=digest(b"x"))

    assert not (root / "a.txt").exists()


@pytest.mark.parametrize("data", [b"before", None])
async def test_a_file_that_changed_meanwhile_is_not_put_back(root: Path, workspace: Workspace, data: bytes | None):
    (root / "a.txt").write_text("newer")

    with pytest.raises(FileChanged):
        await workspace.restore("a.txt", data, now=digest(b"older"))

    assert (root / "a.txt").read_text() == "newer"


async def test_nothing_outside_is_restored(workspace: Workspace, tmp_path: Path):
    with pytest.raises(OutsideWorkspace):
        await workspace.restore(tmp_path / "elsewhere", None, now=None)


async def test_who_had_read_the_file_has_to_read_it_again(root: Path, workspace: Workspace):
    (root / "a.txt").write_text("now\n")
    await workspace.read("a.txt")

    await workspace.for_another().restore("a.txt", b"before\n", now=digest(b"now\n"))

    with pytest.raises((FileChanged, FileNotRead)):
        await workspace.write("a.txt", "mine\n")
