from __future__ import annotations

import asyncio
import os
import resource
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import harness.workspace.disk
from harness.errors import (
    FileChanged,
    FileMissing,
    FileNotText,
    FileTooLarge,
    NotAFile,
    WorkspaceError,
)
from harness.workspace.workspace import MAX_EDITABLE, Workspace


@pytest.fixture
def untrusted() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    # Permissions do not bind root, so give that up for the test.
    os.seteuid(65534)
    yield
    os.seteuid(0)


def leftovers(root: Path) -> list[str]:
    return sorted(path.name for path in root.rglob("*") if path.name.endswith(".tmp"))


async def test_missing_file_suggests_similar_names(workspace: Workspace, root: Path):
    (root / "settings.py").touch()

    with pytest.raises(FileMissing, match=r"Did you mean: settings\.py"):
        await workspace.read("setting.py")
    with pytest.raises(FileMissing, match="nor does its folder"):
        await workspace.read("no/such/file.py")


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "circle"])
async def test_non_file_is_rejected_at_once(workspace: Workspace, root: Path, kind: str):
    match kind:
        case "pipe":
            os.mkfifo(root / "it")
        case "socket":
            os.mknod(root / "it", stat.S_IFSOCK | 0o600)
        case "folder":
            (root / "it").mkdir()
        case _:
            (root / "it").symlink_to("it")

    async with asyncio.timeout(2):
        with pytest.raises(NotAFile, match="not a file"):
            await workspace.read("it")
        with pytest.raises(NotAFile):
            await workspace.write("it", "x")


async def test_device_is_not_opened():
    with pytest.raises(NotAFile, match="a device"):
        await Workspace(Path("/dev")).read("zero")


async def test_huge_file_is_read_in_parts_and_cannot_be_edited(workspace: Workspace, root: Path):
    with (root / "huge.log").open("wb") as file:
        file.write(b"first\r\nsecond\r\n" + b"x" * 70_000 + b"\n")
        file.truncate(2 * 1024**3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    part = await workspace.excerpt("huge.log", 2, 1)

    assert part.lines == ("second",)
    assert (part.first, part.total, part.newline) == (2, None, "\r\n")
    with pytest.raises(FileTooLarge, match="over 10 MB"):
        await workspace.read("huge.log")
    with pytest.raises(FileTooLarge):
        await workspace.write("huge.log", "x")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000


async def test_largest_editable_file_is_read_and_changed(workspace: Workspace, root: Path):
    (root / "large.txt").write_bytes(b"x" * MAX_EDITABLE)

    assert (await workspace.read("large.txt")).size == MAX_EDITABLE
    await workspace.write("large.txt", "x" * (MAX_EDITABLE - 1))

    assert (root / "large.txt").stat().st_size == MAX_EDITABLE - 1


async def test_binary_file_is_not_text(workspace: Workspace, root: Path):
    (root / "a.bin").write_bytes(b"\x7fELF\0\0\1")
    (root / "noise").write_bytes(bytes(range(1, 32)) * 10 + b"\xff\xfe\xfd")

    for name in ("a.bin", "noise"):
        with pytest.raises(FileNotText, match="binary"):
            await workspace.read(name)
        with pytest.raises(FileNotText):
            await workspace.write(name, "text")


async def test_character_outside_the_encoding_is_rejected(workspace: Workspace, root: Path):
    (root / "a.txt").write_bytes("größe\n".encode("latin-1"))
    await workspace.read("a.txt")

    with pytest.raises(FileNotText, match=r"U\+6F22.*cp1252.*nothing was written"):
        await workspace.write("a.txt", "漢\n")

    assert (root / "a.txt").read_bytes() == "größe\n".encode("latin-1")


async def test_encoding_is_kept_after_its_evidence_is_removed(workspace: Workspace, root: Path):
    (root / "a.txt").write_bytes("größe\n".encode("latin-1"))
    await workspace.read("a.txt")

    await workspace.write("a.txt", "plain\n")
    await workspace.write("a.txt", "süß\n")

    assert (root / "a.txt").read_bytes() == "süß\n".encode("latin-1")


async def test_read_only_file_and_folder_are_unchanged(untrusted: None):
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "a.txt").write_text("old\n")
        (root / "a.txt").chmod(0o444)
        (root / "shut").mkdir()
        (root / "shut").chmod(0o555)
        workspace = Workspace(root)
        await workspace.read("a.txt")

        with pytest.raises(WorkspaceError, match="permission denied; nothing was changed"):
            await workspace.write("a.txt", "new\n")
        with pytest.raises(WorkspaceError, match="permission denied"):
            await workspace.write("shut/b.txt", "x")

        assert (root / "a.txt").read_text() == "old\n"
        assert leftovers(root) == []
        (root / "shut").chmod(0o755)


FULL_DISK = """
import asyncio, resource, signal, sys
from pathlib import Path
from harness.errors import WorkspaceError
from harness.workspace.workspace import Workspace

async def main(root):
    workspace = Workspace(root)
    await workspace.read("a.txt")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    for path in ("a.txt", "new/folder/b.txt"):
        try:
            await workspace.write(path, "x" * 100_000)
        except WorkspaceError as error:
            print(error)

asyncio.run(main(Path(sys.argv[1])))
"""


def test_full_disk_keeps_the_old_file_and_leaves_no_temporary_file(root: Path):
    (root / "a.txt").write_text("old\n")

    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(root)],
        cwd=Path(harness.workspace.disk.__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == [
        "a.txt: the file would be larger than the system allows; nothing was changed.",
        "new/folder/b.txt: the file would be larger than the system allows; nothing was changed.",
    ]
    assert [path.name for path in root.rglob("*")] == ["a.txt"]
    assert (root / "a.txt").read_text() == "old\n"


async def test_cancelled_write_is_atomic(workspace: Workspace, root: Path):
    old, new = "old\n" * 1000, "new\n" * 500_000
    (root / "a.txt").write_text(old)
    for steps in range(8):
        await workspace.read("a.txt")
        writing = asyncio.ensure_future(workspace.write("a.txt", new))
        for _ in range(steps):
            await asyncio.sleep(0)
        writing.cancel()

        with pytest.raises(asyncio.CancelledError):
            await writing

        assert leftovers(root) == []
        assert (root / "a.txt").read_text() in (old, new)
        (root / "a.txt").write_text(old)


async def test_change_by_another_program_meanwhile_wins(workspace: Workspace, root: Path):
    (root / "a.txt").write_text("old\n")
    await workspace.read("a.txt")

    def write_theirs(path: Path) -> None:
        path.write_text("theirs\n")

    workspace.on_change(write_theirs)

    with pytest.raises(FileChanged, match="another program"):
        await workspace.write("a.txt", "ours\n")

    assert (root / "a.txt").read_text() == "theirs\n"
    assert leftovers(root) == []


async def test_failing_listener_stops_the_change(workspace: Workspace, root: Path):
    def refuse(path: Path) -> None:
        raise OSError(f"no room to keep {path.name}")

    workspace.on_change(refuse)

    with pytest.raises(OSError, match="no room"):
        await workspace.write("a.txt", "x\n")

    assert not (root / "a.txt").exists()
