"""Moving and deleting between two real file systems, while another program writes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.workplace import Workplace
from msgspec.structs import replace

from harness.errors import WorkspaceError
from harness.ports.tool import Tool
from harness.workspace import trees
from tools.delete import DeleteTool
from tools.transfer import MoveTool

MOVE, DELETE = MoveTool(), DeleteTool()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    return Workplace(tmp_path / "project")


@pytest.fixture
def disk(tmp_path: Path, place: Workplace) -> Iterator[Path]:
    """Return a folder that the workspace may change, on another file system if the machine has one in memory."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    folder = Path(tempfile.mkdtemp(dir=memory))
    place.workspace = place.workspace.with_access(changeable=(folder,))
    place.context = replace(place.context, workspace=place.workspace)
    yield folder
    shutil.rmtree(folder)


class Interference:
    """Another program that acts once a copy to the other file system is complete."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def then(self, act: Callable[[], object]) -> None:
        duplicate = trees.duplicate

        def copy(source: Path, target: Path, check: trees.Check) -> None:
            duplicate(source, target, check)
            act()

        self._monkeypatch.setattr(trees, "duplicate", copy)


@pytest.fixture
def after_copy(monkeypatch: pytest.MonkeyPatch) -> Interference:
    return Interference(monkeypatch)


def paths_in(folder: Path) -> list[str]:
    return [str(each.relative_to(folder)) for each in sorted(folder.rglob("*"))]


async def test_move_to_another_file_system_leaves_nothing_behind(place: Workplace, disk: Path):
    place.put("a/deep/one.txt", "1")
    (place.root / "a/link").symlink_to("nowhere")
    (place.root / "a/empty").mkdir()

    moved = await place.call(MOVE, source="a", destination=f"{disk}/b")

    assert not moved.output.is_error
    assert paths_in(place.root) == []
    assert paths_in(disk) == ["b", "b/deep", "b/deep/one.txt", "b/empty", "b/link"]


async def test_files_changed_after_the_copy_stay_where_they_were(
    place: Workplace, disk: Path, after_copy: Interference
):
    for name in ("kept", "appended", "replaced", "same-size"):
        place.put(f"a/{name}.txt", "old")

    def write() -> None:
        with (place.root / "a/appended.txt").open("a") as file:
            file.write(" and more")
        place.put("a/new.txt", "new").replace(place.root / "a/replaced.txt")
        place.put("a/same-size.txt", "NEW")
        place.put("a/deep/created.txt", "created")

    after_copy.then(write)
    moved = await place.call(MOVE, source="a", destination=f"{disk}/b")

    assert moved.output.is_error
    assert f"Moved a/ to {disk}/b/: 4 files" in moved.text
    assert "Not all of it was removed from a/: " in moved.text
    for name in ("appended.txt", "replaced.txt", "same-size.txt", "deep"):
        assert f"{name} (another program has just changed it)" in moved.text
    left = {each.name: each.read_text() for each in place.root.rglob("*.txt")}
    assert left == {
        "appended.txt": "old and more",
        "replaced.txt": "new",
        "same-size.txt": "NEW",
        "created.txt": "created",
    }
    assert {each.read_text() for each in (disk / "b").iterdir()} == {"old"}


@pytest.mark.parametrize("tool", [MOVE, DELETE], ids=["move", "delete"])
async def test_single_file_changed_after_the_copy_is_neither_moved_nor_deleted(
    place: Workplace, disk: Path, after_copy: Interference, tool: Tool
):
    file = disk / "log.txt"
    file.write_text("one\n")
    after_copy.then(lambda: file.write_text("one\ntwo\n"))

    arguments = {"path": str(file)} if tool is DELETE else {"source": str(file), "destination": "log.txt"}
    with pytest.raises(WorkspaceError, match="another program has just changed it; nothing was changed"):
        await place.call(tool, **arguments)

    assert file.read_text() == "one\ntwo\n"
    assert paths_in(place.root) == []
    assert not list(place.context.spill_dir.rglob("log.txt"))


async def test_deletion_of_a_folder_on_another_file_system_states_what_stays(
    place: Workplace, disk: Path, after_copy: Interference
):
    (disk / "a").mkdir()
    for name in ("x", "y"):
        (disk / "a" / name).write_text("old")
    after_copy.then(lambda: (disk / "a/x").write_text("newer"))

    deleted = await place.call(DELETE, path=f"{disk}/a")

    assert deleted.output.is_error
    assert f"Not all of it was removed from {disk}/a/: x (another program has just changed it)" in deleted.text
    assert paths_in(disk) == ["a", "a/x"]
    assert sorted(each.name for each in place.context.spill_dir.rglob("content/a/*")) == ["x", "y"]
