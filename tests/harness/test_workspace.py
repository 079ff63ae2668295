from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from harness.errors import (
    FileChanged,
    FileNotRead,
    OutsideWorkspace,
)
from harness.workspace.changes import Change
from harness.workspace.file_text import FileText, Splice
from harness.workspace.workspace import Workspace


def upper(file: FileText) -> FileText:
    return file.spliced([Splice(0, 1, file.text[0].upper())])


def test_construction_touches_no_file(tmp_path: Path):
    workspace = Workspace(tmp_path / "not there", [tmp_path / "nor there"])

    assert workspace.root == tmp_path / "not there"


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd", "sub/../../outside.txt", "~/x", "../project-2/x"])
def test_paths_leading_outside_are_rejected(workspace: Workspace, root: Path, path: str):
    (root / "sub").mkdir()

    with pytest.raises(OutsideWorkspace, match="--add-dir"):
        workspace.resolve(path)


@pytest.mark.parametrize("target", ["../outside", "../not-there", "/etc"])
def test_links_leading_outside_are_rejected(workspace: Workspace, root: Path, tmp_path: Path, target: str):
    (tmp_path / "outside").mkdir()
    (root / "link").symlink_to(target)

    with pytest.raises(OutsideWorkspace, match="it leads to"):
        workspace.resolve("link")
    with pytest.raises(OutsideWorkspace):
        workspace.resolve("link/new.txt", writing=True)


async def test_dangling_link_inside_is_written_through(workspace: Workspace, root: Path):
    (root / "link.txt").symlink_to("real.txt")

    await workspace.write("link.txt", "x\n")

    assert (root / "link.txt").is_symlink()
    assert (root / "real.txt").read_text() == "x\n"


def test_paths_inside_are_relative_to_the_root(workspace: Workspace, root: Path, tmp_path: Path):
    (tmp_path / "alias").symlink_to(root)

    assert workspace.display(workspace.resolve("a/b.txt")) == "a/b.txt"
    assert workspace.display(workspace.resolve(tmp_path / "alias" / "c")) == "c"
    assert workspace.display(root) == "."


async def test_folder_can_be_made_readable_later(workspace: Workspace, tmp_path: Path):
    file = tmp_path / "spilled" / "a.txt"
    file.parent.mkdir()
    file.write_text("all of it")
    with pytest.raises(OutsideWorkspace):
        workspace.resolve(file)

    workspace.allow_reading(file.parent)

    assert (await workspace.read(file)).text == "all of it"
    with pytest.raises(OutsideWorkspace, match="may be read but not changed"):
        workspace.resolve(file, writing=True)


async def test_extra_folders_are_writable_and_readable_ones_read_only(root: Path, tmp_path: Path):
    for name in ("extra", "spilled"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.txt").write_text("x\n")
    workspace = Workspace(root, [tmp_path / "extra"], readable=[tmp_path / "spilled"])

    assert (await workspace.read(tmp_path / "spilled/file.txt")).text == "x\n"
    with pytest.raises(OutsideWorkspace, match="read but not changed"):
        await workspace.write(tmp_path / "spilled/file.txt", "y")
    await workspace.write(tmp_path / "extra/new.txt", "y")
    assert (tmp_path / "extra/new.txt").read_text() == "y"


async def test_new_file_is_created_with_its_folders_and_the_default_mode(workspace: Workspace, root: Path):
    change = await workspace.write("a/b/new.py", "x = 1\n")

    assert change == Change((root / "a/b/new.py").resolve(), None, "x = 1\n", 6)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((root / "a/b/new.py").stat().st_mode) == 0o666 & ~umask


async def test_unread_file_cannot_be_changed(workspace: Workspace, root: Path):
    (root / "a.txt").write_text("old\n")

    with pytest.raises(FileNotRead, match="Read it, then change it"):
        await workspace.write("a.txt", "new\n")
    with pytest.raises(FileNotRead):
        await workspace.splice("a.txt", upper)

    assert (root / "a.txt").read_text() == "old\n"


async def test_file_changed_since_it_was_read_cannot_be_changed(workspace: Workspace, root: Path):
    (root / "a.txt").write_text("old\n")
    await workspace.read("a.txt")
    before = (root / "a.txt").stat()
    (root / "a.txt").write_text("alt\n")
    os.utime(root / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(FileChanged, match="Read it again"):
        await workspace.splice("a.txt", upper)

    assert (root / "a.txt").read_text() == "alt\n"


async def test_encoding_of_an_earlier_read_is_not_used_for_other_content(workspace: Workspace, root: Path):
    for encoding, text in (("windows-1251", "ёж"), ("koi8-r", "уж")):
        content = f"# coding: {encoding}\n{text}\n"
        (root / "a.txt").write_bytes(content.encode(encoding))

        assert (await workspace.read("a.txt")).text == content


async def test_long_line_of_an_excerpt_is_clipped_by_default(workspace: Workspace, root: Path):
    (root / "a.txt").write_text("x" * 5000)

    assert (await workspace.excerpt("a.txt", 1, 1)).lines == ("x" * 2000,)


@pytest.mark.parametrize("size", [9, 300_000])
async def test_bytes_are_read_from_a_start_up_to_a_limit(workspace: Workspace, root: Path, size: int):
    data = bytes(range(256)) * (size // 256 + 1)
    (root / "a.bin").write_bytes(data)

    assert await workspace.read_bytes("a.bin", start=1, limit=size) == data[1 : size + 1]
    assert await workspace.read_bytes("a.bin") == data


async def test_own_changes_count_as_read(workspace: Workspace, root: Path):
    await workspace.write("a.txt", "one\n")

    await workspace.splice("a.txt", upper)
    await workspace.write("a.txt", "two\n")

    assert (root / "a.txt").read_text() == "two\n"


async def test_empty_file_need_not_be_read(workspace: Workspace, root: Path):
    (root / "a.txt").touch()

    await workspace.write("a.txt", "x\n")

    assert (root / "a.txt").read_text() == "x\n"


async def test_preview_changes_nothing_and_fails_alike(workspace: Workspace, root: Path):
    (root / "a.txt").write_text("old\n")

    with pytest.raises(FileNotRead):
        await workspace.preview_write("a.txt", "new\n")
    await workspace.read("a.txt")
    change = await workspace.preview_splice("a.txt", upper)

    assert (change.old, change.new) == ("old\n", "Old\n")
    assert (root / "a.txt").read_text() == "old\n"
    assert not (root / "new.txt").exists()
    assert (await workspace.preview_write("new.txt", "x")).old is None
    assert not (root / "new.txt").exists()


async def test_file_mode_is_kept_and_links_are_written_through(workspace: Workspace, root: Path):
    script = root / "run.sh"
    script.write_text("echo\n")
    script.chmod(0o751)
    (root / "link").symlink_to("run.sh")
    await workspace.read("link")

    await workspace.write("link", "echo 2\n")

    assert (root / "link").is_symlink()
    assert script.read_text() == "echo 2\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o751


async def test_listener_is_notified_before_a_path_changes(workspace: Workspace, root: Path):
    (root / "a.txt").write_text("old\n")
    heard: list[tuple[Path, str]] = []
    workspace.on_change(lambda path: heard.append((path, path.read_text())))
    await workspace.read("a.txt")

    await workspace.write("a.txt", "new\n")
    await workspace.write("a.txt", "new\n")

    assert heard == [((root / "a.txt").resolve(), "old\n")]


async def test_two_edits_of_one_batch_are_both_applied(workspace: Workspace, root: Path):
    (root / "a.txt").write_text("a b\n")
    await workspace.read("a.txt")

    async with asyncio.TaskGroup() as group:
        for at in (0, 2):
            group.create_task(
                workspace.splice("a.txt", lambda file, at=at: file.spliced([Splice(at, at + 1, file.text[at].upper())]))
            )

    assert (root / "a.txt").read_text() == "A B\n"
