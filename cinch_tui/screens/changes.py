"""Changed files with their diffs, and reverting them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.reactive import var
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from cinch_tui.changes import Base, FileChange, SessionChanges
from cinch_tui.keybindings.keymap import bindings, hint
from cinch_tui.rendering.diff import diff_stat
from cinch_tui.rendering.review import Review
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.choice_dialogs import Confirmation
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.widgets.view_pane import ReviewPane
from harness.errors import CinchError
from harness.views import TextView
from harness.workspace.hunks import hunks_of

_TITLES: dict[Base, str] = {"session": "Changed since this session began", "git": "Changed since the last commit"}
_EMPTY: dict[Base, tuple[str, str]] = {
    "session": ("No files changed in this session", "changes.base compares with git"),
    "git": ("No changes since the last commit", "changes.base shows what this session changed"),
}
WIDTHS: list[tuple[int, str]] | None = [(0, "-narrow"), (110, "-wide")]
_OTHER_BASE: dict[Base, str] = {"session": "git", "git": "session start"}
_PANE_HINT = ("review.leave skip", "review.take keep", "changes.put_back_marked revert skipped", "changes.back back")


class ChangesScreen(Dialog[None]):
    """List of files and the diff of the selected one. In the diff, skipped hunks are those to revert."""

    CSS_PATH = stylesheets("changes")
    FIRST_FOCUS = "#files"
    SCROLLED = "#view"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    BINDINGS = bindings("changes")

    looking = var(default=False)

    def __init__(self, ledger: SessionChanges, base: Base, *, at: str = "") -> None:
        """Create the screen.

        Args:
            ledger: the changes.
            base: what to compare with.
            at: path of the file to select first.
        """
        super().__init__(grace=0)
        self._at = at
        self._ledger = ledger
        self._base: Base = base
        self._changes: Sequence[FileChange] = ()
        self._review = Review(0)

    @property
    def key_hints(self) -> tuple[str, ...]:
        if self.looking:
            return _PANE_HINT
        other_base = f"changes.base compare with {_OTHER_BASE[self._base]}"
        return ("list.choose view", "changes.put_back_file revert file", other_base, "changes.back close")

    def compose_content(self) -> ComposeResult:
        yield Static(id="heading", markup=False)
        with Container(id="parts"):
            yield OptionList(id="files", markup=False, compact=True)
            yield ReviewPane(TextView(""), self._review, id="view")

    def opened(self) -> None:
        self.load()

    @work(group="changes", exclusive=True)
    async def load(self) -> None:
        """Reload the changes."""
        files = self.query_one("#files", OptionList)
        at = files.highlighted or 0
        try:
            self._changes = await asyncio.to_thread(self._ledger.changes, self._base)
            problem = "" if self._changes else hint(*_EMPTY[self._base])
        except CinchError as error:
            self._changes, problem = (), str(error)
        files.clear_options()
        files.add_options([Option(_line(change)) for change in self._changes])
        self.query_one("#heading", Static).update(self._heading())
        if self._changes:
            files.highlighted = self._place(at)
        else:
            self._look_at(None, problem)

    def _place(self, before: int) -> int:
        """Return the list index to select: the requested file first."""
        wanted, self._at = self._at, ""
        places = [place for place, change in enumerate(self._changes) if change.shown == wanted]
        return places[0] if places else min(before, len(self._changes) - 1)

    def watch_looking(self) -> None:
        self.show_keys()

    def action_back(self) -> None:
        if self.looking:
            self.query_one("#files").focus()
        else:
            self.answer(None)

    def action_base(self) -> None:
        self._base = "git" if self._base == "session" else "session"
        self.show_keys()
        self.load()

    def action_put_back_file(self) -> None:
        if self._current is not None:
            self._put_back(self._current, range(max(1, self._review.count)))

    def action_put_back_marked(self) -> None:
        if self._current is not None and self._review.rejected:
            self._put_back(self._current, sorted(self._review.rejected))
        else:
            keys = hint("review.leave skips the current change", "changes.put_back_marked then reverts it")
            self.notify(keys, markup=False)

    def action_split(self) -> None:
        self.query_one(ReviewPane).toggle_split()

    def action_unfold(self) -> None:
        self.query_one(ReviewPane).toggle_fold()

    @on(OptionList.OptionHighlighted, "#files")
    def show_file(self, event: OptionList.OptionHighlighted) -> None:
        change = self._changes[event.option_index] if event.option_index < len(self._changes) else None
        self._look_at(change, "")

    @on(OptionList.OptionSelected, "#files")
    def enter_file(self) -> None:
        self.query_one(ReviewPane).focus()

    @on(ReviewPane.Entered)
    def begin_looking(self) -> None:
        self.looking = True

    @on(ReviewPane.Left)
    @on(ReviewPane.Finished)
    def stop_looking(self, message: ReviewPane.Left | ReviewPane.Finished) -> None:
        if isinstance(message, ReviewPane.Finished):
            self.query_one("#files").focus()
        self.looking = False

    @property
    def _current(self) -> FileChange | None:
        at = self.query_one("#files", OptionList).highlighted
        return self._changes[at] if at is not None and at < len(self._changes) else None

    def _look_at(self, change: FileChange | None, problem: str) -> None:
        view = change.view if change else None
        self._review = Review(len(hunks_of(view)) if view else 0)
        self.query_one(ReviewPane).review(view or TextView(_why_no_diff(change) if change else problem), self._review)

    @work(group="put-back", exclusive=True)
    async def _put_back(self, change: FileChange, refused: Sequence[int]) -> None:
        if not change.is_known:
            self.notify(f"Cannot revert {change.shown}: no earlier version was saved.", severity="error", markup=False)
            return
        if not await self._owner.push_screen_wait(_confirmation(change, len(refused), self._review.count)):
            return
        try:
            await self._ledger.revert(change, refused)
            self.notify(f"Reverted: {change.shown}. The model is informed with your next prompt.", markup=False)
        except CinchError as error:
            self.notify(str(error), severity="error", markup=False)
        self.load()

    def _heading(self) -> Content:
        stats = [diff_stat(view) for change in self._changes if not change.moved and (view := change.view)]
        added, removed = sum(stat[0] for stat in stats), sum(stat[1] for stat in stats)
        count = len(self._changes)
        files = f"{count} file{'' if count == 1 else 's'} +{added} −{removed}" if count else ""
        return Content.assemble((_TITLES[self._base], "bold"), f"  {files}")


def _line(change: FileChange) -> Content:
    """Format a file with its status letter, and with its counts or the path that has the same content."""
    parts = [one_line(change.shown)]
    if (view := change.view) is None:
        parts.append(change.kind)
    elif not change.moved:
        parts.append("+{} −{}".format(*diff_stat(view)))
    if change.moved:
        parts.append(f"{'now' if change.now is None else 'was'} {one_line(change.moved)}")
    return Content.assemble((change.status, "bold"), f" {'  '.join(parts)}")


def _why_no_diff(change: FileChange) -> str:
    if not change.is_known:
        return "The earlier version was too large to save or could not be read."
    if change.now_at is not None:
        return hint(f"changes.put_back_file moves it back from {change.moved or 'the trash'}.")
    if change.is_folder:
        return hint("New folder", "changes.put_back_file moves it to the trash.")
    return ". ".join(("Binary file", hint("changes.put_back_file reverts the whole file.")))


def _confirmation(change: FileChange, count: int, of: int) -> Confirmation:
    what = f"{count} of {of} changes in {change.shown}" if count < of else f"all of {change.shown}"
    if change.now_at is not None or change.is_folder:
        what, gone = change.shown, "it is moved to the trash" if change.is_folder else "it is moved back"
        return Confirmation(f"Revert {what}? ({gone})", yes="Revert", no="Keep")
    gone = "the file is deleted" if change.before is None and count >= of else "what is there now is lost"
    return Confirmation(f"Revert {what}? ({gone})", yes="Revert", no="Keep")
