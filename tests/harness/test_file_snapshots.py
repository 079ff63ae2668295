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


async def test_content_before_the_first_change_is_kept_byte_for_byte(root: Path, workspace: Workspace, kept: Snapshots):
    (root / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    await workspace.read("a.txt")

    await workspace.write("a.txt", "three\n")
    await workspace.write("a.txt", "four\n")
    await workspace.write("new.txt", "x\n")

    assert kept.all() == [Snapshot(root / "a.txt", b"one\r\ntwo\r\n"), Snapshot(root / "new.txt", None)]


async def test_snapshot_is_available_in_another_process(
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


async def test_oversized_content_is_reported_as_not_kept_without_blocking_the_change(
    monkeypatch: pytest.MonkeyPatch, root: Path, workspace: Workspace, kept: Snapshots
):
    monkeypatch.setattr(originals, "MAX_TOTAL_BYTES", 3)
    (root / "a.txt").write_text("large\n")
    await workspace.read("a.txt")

    await workspace.write("a.txt", "x\n")

    assert kept.all() == [Snapshot(root / "a.txt", None, is_kept=False)]
    assert (root / "a.txt").read_text() == "x\n"


async def test_only_the_newest_sessions_keep_snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path):
    monkeypatch.setattr(originals, "MAX_SESSIONS", 2)
    for name in ("one", "two", "three"):
        Snapshots(lambda name=name: tmp_path / "kept" / name).observe(root / "a.txt")

    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_manifest_name_cannot_lead_to_another_file(tmp_path: Path):
    (tmp_path / "secret").write_text("s")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / originals.INDEX).write_text('{"path": "/a", "kept": "../secret"}\n')

    assert Snapshots(lambda: tmp_path / "one").all() == [Snapshot(Path("/a"), None, is_kept=False)]


async def test_restoring_writes_the_bytes_and_notifies_listeners_first(root: Path, workspace: Workspace):
    file = root / "a.txt"
    file.write_bytes(b"now\n")
    heard: list[bytes] = []
    workspace.on_change(lambda path: heard.append(path.read_bytes()))

    await workspace.restore("a.txt", b"\xff\x00before", now=digest(b"now\n"))

    assert file.read_bytes() == b"\xff\x00before"
    assert heard == [b"now\n"]


async def test_restoring_a_missing_original_removes_the_file(root: Path, workspace: Workspace):
    (root / "a.txt").write_text("x")

    await workspace.restore("a.txt", None, now=digest(b"x"))

    assert not (root / "a.txt").exists()


@pytest.mark.parametrize("data", [b"before", None])
async def test_file_changed_meanwhile_is_not_restored(root: Path, workspace: Workspace, data: bytes | None):
    (root / "a.txt").write_text("newer")

    with pytest.raises(FileChanged):
        await workspace.restore("a.txt", data, now=digest(b"older"))

    assert (root / "a.txt").read_text() == "newer"


async def test_nothing_outside_the_workspace_is_restored(workspace: Workspace, tmp_path: Path):
    with pytest.raises(OutsideWorkspace):
        await workspace.restore(tmp_path / "elsewhere", None, now=None)


async def test_restored_file_has_to_be_read_again(root: Path, workspace: Workspace):
    (root / "a.txt").write_text("now\n")
    await workspace.read("a.txt")

    await workspace.with_own_reads().restore("a.txt", b"before\n", now=digest(b"now\n"))

    with pytest.raises((FileChanged, FileNotRead)):
        await workspace.write("a.txt", "mine\n")
