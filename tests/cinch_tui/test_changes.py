from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.chat import until
from fakes.dialogs import Host
from fakes.hostile_repository import HostileRepository
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from cinch_tui.changes import Base, SessionChanges, changes_against_git
from cinch_tui.screens.changes import ChangesScreen
from cinch_tui.screens.choice_dialogs import Confirmation
from cinch_tui.widgets.view_pane import ReviewPane
from harness.errors import CinchError
from harness.session.snapshots import Snapshots
from harness.workspace.moving import copy, delete, move, plan_copy, plan_deletion, plan_move
from harness.workspace.trash import Trash
from harness.workspace.workspace import Workspace

OLD = "".join(f"line {number}\n" for number in range(1, 31))
NEW = OLD.replace("line 2\n", "two\n").replace("line 15\n", "fifteen\n").replace("line 29\n", "")


class Shop:
    """A folder under git in which a session has changed a.py and made new.py, and the user b.py."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "shop"
        self.root.mkdir()
        self.reported: list[str] = []
        self.workspace = Workspace(self.root, trash=folder / "trash")
        originals = Snapshots(lambda: folder / "kept")
        self.workspace.on_change(originals.observe)
        self.workspace.observers.on_move(originals.observe_move)
        self.ledger = SessionChanges(originals, self.workspace, self.reported.append)

    def commit(self) -> None:
        (self.root / "a.py").write_text(OLD)
        (self.root / "b.py").write_text("b\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "start")

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True)

    async def change(self) -> None:
        (self.root / "b.py").write_text("changed by hand\n")
        await self.workspace.read("a.py")
        await self.workspace.write("a.py", NEW)
        await self.workspace.write("new.py", "x = 1\n")


@pytest.fixture
async def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.org")
    shop = Shop(tmp_path)
    shop.commit()
    await shop.change()
    return shop


def host(shop: Shop, base: Base = "session") -> Host:
    return Host(ChangesScreen(shop.ledger, base))


async def settled(pilot: Pilot[object]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def files(app: Host) -> list[str]:
    return [str(option.prompt) for option in app.screen.query_one("#files", OptionList).options]


def lines(app: Host) -> Iterator[str]:
    pane = app.screen.query_one(ReviewPane)
    return (pane.render_line(y).text.rstrip() for y in range(pane.size.height))


async def answer(app: Host, pilot: Pilot[object], key: str) -> None:
    """Press it in the question that comes up."""
    await until(pilot, lambda: isinstance(app.screen, Confirmation))
    await pilot.press(key)
    await settled(pilot)


def test_both_bases_list_what_differs_from_them(shop: Shop):
    session = {change.shown: (change.before, change.now) for change in shop.ledger.changes("session")}
    git = {change.shown: change.before for change in shop.ledger.changes("git")}

    assert session == {"a.py": (OLD.encode(), NEW.encode()), "new.py": (None, b"x = 1\n")}
    assert git == {"a.py": OLD.encode(), "b.py": b"b\n", "new.py": None}


async def test_a_reverted_file_is_not_a_change(shop: Shop):
    await shop.workspace.write("a.py", OLD)

    assert [change.shown for change in shop.ledger.changes("session")] == ["new.py"]


async def test_staged_changes_are_listed_once_and_moves_are_reported(shop: Shop):
    await shop.ledger.revert(shop.ledger.changes("session")[0], range(3))
    shop.git("mv", "a.py", "moved.py")
    shop.git("rm", "-q", "--cached", "b.py")
    app = host(shop, "git")

    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        shown = files(app)

    assert shown == [
        "R a.py  now moved.py",
        "M b.py  +1 −1",
        "R moved.py  was a.py",
        "A new.py  +1 −0",
    ]


async def test_files_staged_for_deletion_can_be_restored(shop: Shop):
    shop.git("rm", "-q", "-f", "b.py")
    change = next(each for each in shop.ledger.changes("git") if each.shown == "b.py")

    await shop.ledger.revert(change, [0])

    assert (shop.root / "b.py").read_text() == "b\n"
    assert "b.py" not in [each.shown for each in shop.ledger.changes("git")]


def test_a_folder_without_git_is_reported(tmp_path: Path):
    ledger = SessionChanges(Snapshots(lambda: tmp_path / "kept"), Workspace(tmp_path), print)

    with pytest.raises(CinchError, match="git found nothing to compare with"):
        ledger.changes("git")


async def test_hunks_are_reverted_one_by_one_and_the_model_is_informed(shop: Shop):
    (change, _) = shop.ledger.changes("session")

    await shop.ledger.revert(change, [1])

    assert (shop.root / "a.py").read_text() == NEW.replace("fifteen\n", "line 15\n")
    assert shop.reported[0].startswith("The user reverted 1 of 3 changes in a.py.")


def made(text: str, *lines: str) -> str:
    """The text with these lines changed."""
    for line in lines:
        text = re.sub(rf"\b{line}(\r?\n)", r"other\1", text)
    return text


@pytest.mark.parametrize(
    ("old", "encoding"),
    [
        (OLD.replace("\n", "\r\n"), "utf-8"),
        (OLD.replace("\n", "\r\n"), "utf-16"),
        (OLD.removesuffix("\n"), "utf-8-sig"),
        (f"caf\u00e9\n{OLD}", "latin-1"),
    ],
    ids=["crlf", "utf-16", "bom and no last newline", "latin-1"],
)
async def test_a_hunk_or_all_of_any_kind_of_text_is_put_back_to_the_byte(shop: Shop, old: str, encoding: str):
    file = shop.root / "kind.txt"
    file.write_bytes(old.encode(encoding))
    await shop.workspace.read("kind.txt")
    await shop.workspace.write("kind.txt", made(old, "line 2", "line 15"))

    async def put_back(*refused: int) -> bytes:
        change = next(each for each in shop.ledger.changes("session") if each.shown == "kind.txt")
        await shop.ledger.revert(change, refused)
        return file.read_bytes()

    assert file.read_bytes() == made(old, "line 2", "line 15").encode(encoding)
    assert await put_back(1) == made(old, "line 2").encode(encoding)
    assert await put_back(0) == old.encode(encoding)


async def test_a_file_is_put_back_whole_and_a_new_one_is_removed(shop: Shop):
    changed, made = shop.ledger.changes("session")

    await shop.ledger.revert(changed, range(3))
    await shop.ledger.revert(made, [0])

    assert (shop.root / "a.py").read_text() == OLD
    assert not (shop.root / "new.py").exists()
    assert shop.reported == [
        "The user reverted a.py. Read it again before you change it.",
        "The user removed new.py again.",
    ]


@pytest.mark.parametrize("refused", [[1], [0, 1, 2]])
async def test_a_file_changed_since_it_was_shown_is_kept(shop: Shop, refused: list[int]):
    (change, _) = shop.ledger.changes("session")
    (shop.root / "a.py").write_text("newer\n")

    with pytest.raises(CinchError):
        await shop.ledger.revert(change, refused)

    assert (shop.root / "a.py").read_text() == "newer\n"
    assert shop.reported == []


async def test_the_screen_lists_files_with_counts_and_shows_the_one_under_the_cursor(shop: Shop):
    app = host(shop)

    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        heading = str(app.screen.query_one("#heading", Static).render())
        first = list(lines(app))
        await pilot.press("down")
        await pilot.pause()

        assert heading == "Changed since this session began  2 files +3 −3"
        assert files(app) == ["M a.py  +2 −3", "A new.py  +1 −0"]
        assert any("+ two" in line for line in first)
        assert any("+ x = 1" in line for line in lines(app))


async def test_g_compares_with_git(shop: Shop):
    app = host(shop)

    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("g")
        await settled(pilot)

        assert files(app) == ["M a.py  +2 −3", "M b.py  +1 −1", "A new.py  +1 −0"]


@pytest.mark.parametrize(
    ("keys", "content"),
    [
        ("enter n w", NEW.replace("two\n", "line 2\n")),
        ("enter down space w", NEW.replace("fifteen\n", "line 15\n")),
        ("x", OLD),
    ],
)
async def test_reverting_needs_confirmation(shop: Shop, keys: str, content: str):
    for key, expected in (("escape", NEW), ("enter", NEW), ("y", content)):
        app = host(shop)
        async with app.run_test(size=(120, 30)) as pilot:
            await settled(pilot)
            await pilot.press(*keys.split())
            await answer(app, pilot, key)

        assert (shop.root / "a.py").read_text() == expected


@pytest.mark.parametrize(("letter", "content"), [("y", OLD), ("n", NEW)])
async def test_putting_back_is_answered_by_letter_too(shop: Shop, letter: str, content: str):
    app = host(shop)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("x")
        await answer(app, pilot, letter)

    assert (shop.root / "a.py").read_text() == content


async def test_escape_leaves_the_diff_and_then_the_screen(shop: Shop):
    app = host(shop)

    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("enter", "escape")
        await pilot.pause()
        assert isinstance(app.screen, ChangesScreen)
        await pilot.press("escape")
        await pilot.pause()

        assert not isinstance(app.screen, ChangesScreen)


async def test_nothing_to_show_is_reported(tmp_path: Path):
    ledger = SessionChanges(Snapshots(lambda: tmp_path / "kept"), Workspace(tmp_path), print)
    app = Host(ChangesScreen(ledger, "session"))

    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "No files changed in this session · g compares with git" in " ".join(lines(app))
        await pilot.press("enter", "w", "x", "g")
        await settled(pilot)

        assert "git found nothing to compare with" in " ".join(lines(app))


async def test_a_file_that_is_no_text_is_listed_and_put_back_as_a_whole(shop: Shop):
    (shop.root / "b.py").write_bytes(b"\x00\x01")
    app = host(shop, "git")

    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "M b.py  binary" in files(app)
        await pilot.press("down", "x")
        await answer(app, pilot, "y")

    assert (shop.root / "b.py").read_text() == "b\n"


async def look_closer(pilot: Pilot[object]) -> None:
    await settled(pilot)
    await pilot.press("enter", "down", "n")
    await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_picture_of_the_changes(snap_compare, shop: Shop, size: tuple[int, int]):
    assert snap_compare(host(shop), terminal_size=size, run_before=look_closer)


@pytest.mark.parametrize("key", ["core.fsmonitor", "diff.external", "filter.evil.clean", "filter.evil.smudge"])
def test_changes_against_git_run_no_program_that_the_repository_configures(tmp_path: Path, key: str):
    attack = HostileRepository(tmp_path)
    attack.repository(**{key: str(attack.program)})
    (attack.root / ".gitattributes").write_text("* diff=evil filter=evil\n")

    changes = changes_against_git(Workspace(attack.root))

    assert {change.shown: change.before for change in changes}["f.py"] == b"one\n"
    assert not attack.has_run


async def test_deleted_moved_and_copied_folders_are_listed_and_reverted(tmp_path: Path):
    shop = Shop(tmp_path)
    trash = Trash(tmp_path / "trash")
    for path in ("gone/a.txt", "gone/b/c.txt", "old/d.txt"):
        (shop.root / path).parent.mkdir(parents=True, exist_ok=True)
        (shop.root / path).write_text(path)
    before = sorted(shop.root.rglob("*"))
    await delete(shop.workspace, await plan_deletion(shop.workspace, "gone", trash), trash)
    await copy(shop.workspace, await plan_copy(shop.workspace, "old", "copied"), trash)
    await move(shop.workspace, await plan_move(shop.workspace, "old", "new/old"), trash)
    # The revert keeps what exists by then.
    (shop.root / "gone").mkdir()
    app = host(shop)

    async with app.run_test() as pilot:
        await settled(pilot)
        listed = files(app)
        for _ in listed:
            await pilot.press("x")
            await answer(app, pilot, "y")

    assert listed == ["D gone  in the trash", "A copied  folder", "R old  moved as a whole  now new/old"]
    assert [path for path in sorted(shop.root.rglob("*")) if path.name != "new"] == before
    assert len(shop.reported) == 3
