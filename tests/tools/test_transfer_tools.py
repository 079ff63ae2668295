from __future__ import annotations

import asyncio
import errno
import os
import threading
from pathlib import Path

import pytest
from fakes.workplace import Workplace

from harness.approval.modes import EXECUTE, ApprovalMode
from harness.approval.paths import PathFacts
from harness.approval.policy import Permissions
from harness.approval.rules import parse_rule
from harness.approval.store import RuleStore
from harness.errors import WorkspaceError
from harness.messages import JsonValue, ToolCall
from harness.permissions import Effect
from harness.ports.permission_policy import CallFacts
from harness.ports.tool import Tool, ToolOutput
from harness.session.snapshots import Snapshot, Snapshots
from harness.views import DiffView, TextView
from harness.workspace import trees
from tools.delete import DeleteTool
from tools.edit import EditTool
from tools.read import ReadTool
from tools.transfer import CopyTool, MoveTool

MOVE, COPY, DELETE = MoveTool(), CopyTool(), DeleteTool()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    return Workplace(tmp_path / "project")


@pytest.fixture
def kept(tmp_path: Path, place: Workplace) -> Snapshots:
    kept = Snapshots(lambda: tmp_path / "state" / "originals" / "one")
    place.workspace.on_change(kept.observe)
    place.workspace.observers.on_move(kept.observe_move)
    return kept


async def test_moved_file_counts_as_read_and_keeps_its_mode(place: Workplace):
    file = place.put("a.sh", "echo one\n")
    file.chmod(0o750)
    await place.call(ReadTool(), path="a.sh")

    moved = await place.call(MOVE, **{"from": "a.sh", "to": "bin/b.sh"})
    edited = await place.call(EditTool(), path="bin/b.sh", old_string="one", new_string="two")

    assert moved.text == "Moved a.sh to bin/b.sh: 1 file, 9 bytes."
    assert not edited.output.is_error
    assert not file.exists()
    assert (place.root / "bin/b.sh").stat().st_mode & 0o777 == 0o750


async def test_folder_is_copied_with_links_as_links(place: Workplace):
    place.put("a/one.txt", "1")
    place.put("a/b/two.txt", "22")
    (place.root / "a/link").symlink_to("/etc/hostname")

    copied = await place.call(COPY, source="a", destination="c")

    assert copied.text.startswith("Copied a/ to c/: 3 files, ")
    assert (place.root / "c/b/two.txt").read_text() == "22"
    assert (place.root / "c/link").is_symlink()
    assert sorted(each.name for each in place.root.iterdir()) == ["a", "c"]


async def test_deleted_link_leaves_its_target(place: Workplace):
    place.put("a.txt", "1")
    (place.root / "link").symlink_to("a.txt")

    await place.call(DELETE, path="link")

    assert [each.name for each in place.root.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        (MOVE, {"source": "a.txt", "destination": "b.txt"}, "exists"),
        (MOVE, {"source": "a.txt", "destination": "folder"}, "folder/a.txt"),
        (MOVE, {"source": "folder", "destination": "folder/inside"}, "inside"),
        (COPY, {"source": "folder", "destination": "folder/inside"}, "inside"),
        (COPY, {"source": "a.txt", "destination": "folder", "overwrite": True}, "folder/a.txt"),
        (MOVE, {"source": "a.txt", "destination": "../out.txt"}, "outside"),
        (MOVE, {"source": "../other.txt", "destination": "in.txt"}, "outside"),
        (COPY, {"source": "a.txt", "destination": "way/out.txt"}, "outside"),
        (COPY, {"source": "way/other.txt", "destination": "in.txt"}, "outside"),
        (DELETE, {"path": "."}, "outside|working folder"),
        (DELETE, {"path": "way/other.txt"}, "outside"),
        (DELETE, {"path": "folder/.."}, "working folder"),
        (DELETE, {"path": "a.tx"}, "Did you mean: a.txt"),
    ],
)
async def test_impossible_call_changes_nothing(
    place: Workplace, tool: Tool, arguments: dict[str, JsonValue], expected: str
):
    place.put("a.txt", "a")
    place.put("b.txt", "b")
    place.put("folder/c.txt", "c")
    (place.root.parent / "other.txt").write_text("other")
    (place.root / "way").symlink_to("..")
    before = sorted(place.root.parent.rglob("*"))

    foreseen = await place.foresee(tool, **arguments)
    with pytest.raises(WorkspaceError, match=expected):
        await place.call(tool, **arguments)

    assert isinstance(foreseen, ToolOutput)
    assert foreseen.is_error
    assert sorted(place.root.parent.rglob("*")) == before


async def test_replaced_file_goes_to_the_trash(place: Workplace, kept: Snapshots):
    place.put("a.txt", "new")
    place.put("b.txt", "old")

    moved = await place.call(MOVE, source="a.txt", destination="b.txt", overwrite=True)

    assert "The former b.txt is in the trash" in moved.text
    assert (place.root / "b.txt").read_text() == "new"
    assert [file.read_text() for file in place.context.spill_dir.rglob("content/b.txt")] == ["old"]
    assert kept.all() == [Snapshot(place.root / "a.txt", b"new"), Snapshot(place.root / "b.txt", b"old")]


async def test_deletion_keeps_the_content_for_a_revert(tmp_path: Path, place: Workplace, kept: Snapshots):
    place.put("a.txt", "a\n")
    place.put("folder/b.txt", "b")

    file = await place.call(DELETE, path="a.txt")
    folder = await place.call(DELETE, path="folder")
    first, second = Snapshots(lambda: tmp_path / "state" / "originals" / "one").all()

    assert file.output.view == DiffView("a.txt", "a\n", None)
    assert folder.text.startswith("Deleted folder/: 1 file, 1 bytes. It is in the trash")
    assert first == Snapshot(place.root / "a.txt", b"a\n")
    assert second.now_at is not None
    assert (second.now_at / "b.txt").read_text() == "b"


async def test_folder_that_moves_twice_is_found_at_its_last_place(place: Workplace, kept: Snapshots):
    place.put("a/x.txt", "x")

    await place.call(MOVE, source="a", destination="b")
    await place.call(MOVE, source="b", destination="c/d")

    found = {each.path.relative_to(place.root): each.now_at for each in kept.all()}
    assert found[Path("a")] == place.root / "c/d"


async def test_failed_move_leaves_everything_as_it_was(place: Workplace, monkeypatch: pytest.MonkeyPatch):
    place.put("a.txt", "new")
    place.put("b.txt", "old")
    place.put("locked/c.txt", "c")
    link = os.link

    def refuse(source: Path, target: Path, **options: bool) -> None:
        if Path(source).name == "a.txt":
            raise PermissionError(errno.EACCES, "Permission denied")
        link(source, target, **options)

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(WorkspaceError, match="Permission denied; nothing was changed"):
        await place.call(MOVE, source="a.txt", destination="b.txt", overwrite=True)
    with pytest.raises(WorkspaceError, match="nothing was changed"):
        await place.call(MOVE, source="a.txt", destination="new/deep/a.txt")

    assert (place.root / "b.txt").read_text() == "old"
    assert not (place.root / "new").exists()


def paths_in(folder: Path) -> list[str]:
    return [str(each.relative_to(folder)) for each in sorted(folder.rglob("*"))]


async def test_replaced_file_that_cannot_be_put_back_is_named_with_its_place(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
):
    place.put("a.txt", "new")
    place.put("b.txt", "old")
    link = os.link

    def create_first(source: Path, target: Path, **options: bool) -> None:
        if Path(source).name == "a.txt":
            Path(target).write_text("theirs")
        link(source, target, **options)

    monkeypatch.setattr(os, "link", create_first)
    with pytest.raises(WorkspaceError) as caught:
        await place.call(MOVE, source="a.txt", destination="b.txt", overwrite=True)

    (former,) = place.context.spill_dir.rglob("content/b.txt")
    assert former.read_text() == "old"
    assert str(caught.value) == (
        "a.txt: File exists; it was not changed. But the former b.txt had already gone to the trash and could not be "
        f"put back (another one exists at its former path): it is {former} now. The user can bring it back with /diff."
    )
    assert ((place.root / "a.txt").read_text(), (place.root / "b.txt").read_text()) == ("new", "theirs")


async def test_file_created_at_the_destination_meanwhile_is_not_replaced(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
):
    place.put("a.txt", "mine")
    link = os.link

    def create_first(source: Path, target: Path, **options: bool) -> None:
        Path(target).write_text("theirs")
        link(source, target, **options)

    monkeypatch.setattr(os, "link", create_first)
    with pytest.raises(WorkspaceError, match="nothing was changed"):
        await place.call(MOVE, source="a.txt", destination="b.txt")

    assert (place.root / "a.txt").read_text() == "mine"
    assert (place.root / "b.txt").read_text() == "theirs"


@pytest.mark.parametrize("source", ["ci", "link"])
@pytest.mark.parametrize("tool", [MOVE, COPY], ids=["move", "copy"])
async def test_folder_does_not_take_files_to_protected_paths(place: Workplace, tool: Tool, source: str):
    place.put("ci/workflows/x.yml", "on: push")
    (place.root / "link").symlink_to("ci")

    shown = await place.foresee(tool, source=source, destination=".github")
    with pytest.raises(WorkspaceError, match=r"x\.yml would be a protected path"):
        await place.call(tool, source=source, destination=".github")

    assert isinstance(shown, ToolOutput)
    assert shown.is_error
    assert not os.path.lexists(place.root / ".github")


@pytest.mark.parametrize("tool", [MOVE, COPY], ids=["move", "copy"])
@pytest.mark.parametrize("link", ["workflows", "deep/.github"])
async def test_links_in_a_folder_give_no_protected_path_to_other_files(place: Workplace, tool: Tool, link: str):
    place.put("ci/x.yml", "on: push")
    place.put("ci/workflows/x.yml", "on: push")
    place.put("e/deep/a.txt", "a")
    (place.root / "e/cycle").symlink_to(".")
    (place.root / "e" / link).symlink_to(place.root / "ci")

    with pytest.raises(WorkspaceError, match="would be a protected path: a continuous integration service runs it"):
        await place.call(tool, source="e", destination=".github" if link == "workflows" else "f")

    assert sorted(each.name for each in place.root.iterdir()) == ["ci", "e"]


async def test_dangling_link_is_moved_and_deleted_but_not_copied(place: Workplace):
    (place.root / "link").symlink_to("nowhere")

    with pytest.raises(WorkspaceError, match="link is a link to nowhere, which does not exist"):
        await place.call(COPY, source="link", destination="copy")
    with pytest.raises(WorkspaceError, match="link exists"):
        await place.call(COPY, source=str(place.put("a.txt")), destination="link")
    await place.call(MOVE, source="link", destination="other")
    moved = paths_in(place.root)
    await place.call(DELETE, path="other")

    assert moved == ["a.txt", "other"]
    assert paths_in(place.root) == ["a.txt"]


async def test_folder_moves_to_a_protected_path_that_approval_has_seen(place: Workplace):
    place.put("editor/settings.json", "{}")

    shown = await place.foresee(MOVE, source="editor", destination=".vscode")
    moved = await place.call(MOVE, source="editor", destination=".vscode")

    assert isinstance(shown, TextView)
    assert moved.text == "Moved editor/ to .vscode/: 1 file, 2 bytes."


async def test_copy_of_a_pipe_is_refused_and_leaves_nothing(place: Workplace):
    place.put("a/one.txt", "1")
    os.mkfifo(place.root / "a/pipe")

    with pytest.raises(WorkspaceError, match="nothing was changed"):
        await place.call(COPY, source="a", destination="b")

    assert [each.name for each in place.root.iterdir()] == ["a"]


async def test_cancelled_copy_leaves_nothing(place: Workplace, monkeypatch: pytest.MonkeyPatch):
    for number in range(5):
        place.put(f"a/{number}.txt", "x")
    started, resume = threading.Event(), threading.Event()
    copy_file = trees.shutil.copy2

    def slow(*arguments: str, follow_symlinks: bool) -> str:
        started.set()
        resume.wait(5)
        return copy_file(*arguments, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(trees.shutil, "copy2", slow)
    task = asyncio.create_task(place.call(COPY, source="a", destination="b"))
    await asyncio.to_thread(started.wait, 5)
    task.cancel()
    await asyncio.sleep(0)
    resume.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [each.name for each in place.root.iterdir()] == ["a"]


async def test_previews_state_paths_and_amounts(place: Workplace):
    place.put("a/one.txt", "1")
    place.put("a/evil\n\x1b[31m", "22")

    moved = await place.foresee(MOVE, source="a", destination="b")
    deleted = await place.foresee(DELETE, path="a")

    assert moved == TextView("Move a/ → b/\n2 files, 3 bytes")
    assert isinstance(deleted, TextView)
    assert deleted.text.startswith("Delete a/\n2 files, 3 bytes\n")
    assert "one.txt" in deleted.text
    assert "\x1b" not in deleted.text


@pytest.mark.parametrize(
    ("tool", "mode", "rules", "paths", "expected"),
    [
        (DELETE, "smart", [], ["build"], ("ask", "it deletes build")),
        (DELETE, "smart", [("allow", "delete_file(build/**)")], ["build"], ("allow", "")),
        (DELETE, "smart", [("allow", "delete_file(build/**)")], ["build/../src"], ("ask", "it deletes build/../src")),
        (DELETE, "edits", [], ["src"], ("allow", "")),
        (DELETE, "edits", [("deny", "edit(src/keep.py)")], ["src"], ("deny", "")),
        (DELETE, "edits", [], ["vendor"], ("ask", "it moves or deletes vendor/lib/.git: git runs what is")),
        (DELETE, "off", [], ["."], ("deny", "forbidden")),
        (DELETE, "off", [], ["/usr/lib"], ("deny", "forbidden")),
        (DELETE, "off", [], ["~"], ("deny", "forbidden")),
        (DELETE, "off", [], ["../" * 20 + "etc"], ("deny", "forbidden")),
        (DELETE, "off", [], ["usr/lib"], ("deny", "forbidden")),
        (DELETE, "edits", [], ["etc"], ("allow", "")),
        (MOVE, "off", [], [".", "/tmp/all"], ("deny", "forbidden")),
        (MOVE, "off", [], ["/etc", "etc"], ("deny", "forbidden")),
        (MOVE, "smart", [], ["src", "lib"], ("ask", "it moves src to lib")),
        (MOVE, "edits", [], ["src/keep.py", ".git/hooks/pre-commit"], ("ask", "it changes .git/hooks/pre-commit")),
        (MOVE, "edits", [], ["src/keep.py", "hooks/pre-commit"], ("ask", "it changes .git/hooks/pre-commit")),
        (MOVE, "edits", [], ["to-vendor", "elsewhere"], ("allow", "")),
        (DELETE, "edits", [], ["to-vendor"], ("allow", "")),
        (DELETE, "edits", [], ["hooks"], ("ask", "it changes .git/hooks")),
        (DELETE, "edits", [], ["hooks/x"], ("ask", "it changes .git/hooks/x")),
        (COPY, "edits", [], ["src/keep.py", "new-workflow"], ("ask", "it changes .github/workflows/x.yml")),
        (COPY, "edits", [], ["to-secret", "a.txt"], ("ask", "it reads a secret: .env")),
        (MOVE, "edits", [], [".env", "a.txt"], ("ask", "it reads a secret: .env")),
        (COPY, "edits", [], [".env", "a.txt"], ("ask", "it reads a secret: .env")),
        (COPY, "edits", [], ["src", "lib"], ("allow", "")),
        (COPY, "smart", [("allow", "copy_file(src)"), ("allow", "edit(lib/**)")], ["src", "lib"], ("allow", "")),
    ],
)
def test_rules_and_protected_paths_decide_about_calls(  # noqa: PLR0917  the parameters
    place: Workplace,
    tool: Tool,
    mode: ApprovalMode,
    rules: list[tuple[Effect, str]],
    paths: list[str],
    expected: tuple[str, str],
):
    for path in ("build/a.o", "src/keep.py", "vendor/lib/.git/config", ".env"):
        place.put(path, "KEY=1")
    for link, path in (
        ("usr", "/usr"),
        ("hooks", ".git/hooks"),
        ("to-vendor", "vendor"),
        ("to-secret", ".env"),
        ("new-workflow", ".github/workflows/x.yml"),
    ):
        (place.root / link).symlink_to(path)
    (place.root / "etc").mkdir()
    arguments = tool.validate(dict(zip(("path",) if tool is DELETE else ("source", "destination"), paths, strict=True)))
    store = RuleStore(rules=[parse_rule(text, effect) for effect, text in rules])
    risk = PathFacts(place.workspace).check(tool.risk(arguments))
    call = CallFacts(tool, ToolCall("1", tool.name, arguments), arguments, risk, place.workspace, None)

    decision = Permissions(EXECUTE, mode, store).decide(call)

    assert decision.kind == expected[0]
    assert decision.why.startswith(expected[1])
