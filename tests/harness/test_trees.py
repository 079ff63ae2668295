from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.workspace import trees
from harness.workspace.trash import Trash


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder of a user whom permissions bind; root gives that up for the test."""
    # Not `tmp_path`, which no other user may enter.
    folder = Path(tempfile.mkdtemp())
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    yield folder
    if is_root:
        os.seteuid(0)
    for top, _, _ in os.walk(folder):
        Path(top).chmod(0o700)
    shutil.rmtree(folder)


@pytest.fixture
def source(folder: Path) -> Path:
    """Return a folder that contains a read-only folder with a file."""
    source = folder / "here/source"
    (source / "read-only").mkdir(parents=True)
    (source / "read-only/file").write_text("content")
    (source / "read-only").chmod(0o555)
    return source


def files_in(folder: Path) -> list[str]:
    return [str(each.relative_to(folder)) for each in sorted(folder.rglob("*")) if each.is_file()]


@pytest.fixture
def target(folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a path that counts as one on another file system."""
    target, rename = folder / "there/target", os.rename

    def across(one: Path, other: Path) -> None:
        if (one, other) == (source, target):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(one, other)

    monkeypatch.setattr(os, "rename", across)
    return target


def test_move_between_disks_leaves_nothing_of_read_only_folders(folder: Path, source: Path, target: Path):
    trees.relocate(source, target, lambda: None)

    assert files_in(folder) == ["there/target/read-only/file"]
    assert (target / "read-only").stat().st_mode & 0o777 == 0o555
    assert list(source.parent.iterdir()) == []


@pytest.mark.parametrize("when", ["the original cannot be removed", "cancelled after the copy"])
def test_failed_move_between_disks_leaves_only_the_original(folder: Path, source: Path, target: Path, when: str):
    def check() -> None:
        if when == "cancelled after the copy" and list(target.parent.glob("*/read-only/file")):
            raise InterruptedError

    if when == "the original cannot be removed":
        source.parent.chmod(0o555)

    with pytest.raises(PermissionError if when == "the original cannot be removed" else InterruptedError):
        trees.relocate(source, target, check)

    assert files_in(folder) == ["here/source/read-only/file"]
    assert not target.parent.exists()


def test_old_read_only_folders_leave_the_trash(folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("harness.workspace.trash.MAX_ENTRIES", 1)
    trash, newer = Trash(folder / "trash"), folder / "newer"
    newer.touch()

    for path in (source, newer):
        trash.put(path, trash.place_for(path), trees.measure(path), lambda: None)

    assert [Path(each).name for each in files_in(folder)] == ["newer", "origin.json"]
