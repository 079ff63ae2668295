"""Base of all dialogs: modal, one answer, and protection against keys meant for the prompt."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import PurePath
from typing import ClassVar, Generic, TypeVar

from rich.cells import cell_len
from textual import on
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.events import Key, MouseScrollDown, MouseScrollUp, Paste
from textual.message import Message
from textual.reactive import var
from textual.screen import ModalScreen, Screen
from textual.timer import Timer
from textual.widgets import Input, OptionList, TextArea

from cinch_tui.keybindings.keymap import bindings, hint
from cinch_tui.keybindings.prompt_keys import TypedForPrompt
from cinch_tui.screens.screen import Covered, Interrupted, ScrollConversation, SelectingScreen
from cinch_tui.widgets.answer_bar import AnswerBar

ResultT = TypeVar("ResultT")
GRACE = 0.35
"""Seconds after opening during which keys are not answers: they were typed for the prompt."""
PAUSE = 1.0
"""Grace in seconds while the user is typing; they notice the dialog only in a pause."""
AT_ONCE = 0.01
"""Maximum seconds between two keys of a burst, which was not typed by hand."""
NOT_YET = "keys still go to the prompt"
WHEEL_LINES = 3
MAX_CONVERSATION_ROWS = 5
"""Rows kept for the transcript; fewer on a low terminal."""
FRAME_CELLS = 6
"""Cells of the frame next to the keys."""
CONVERSATION_HINT = "docked.conversation_up docked.conversation_down conversation"
HEIGHTS: list[tuple[int, str]] | None = [(0, "-short"), (17, "-tall")]


def stylesheets(*names: str) -> list[str | PurePath]:
    """Return the style sheets of a dialog: the shared ones and `names`."""
    return [f"../styles/{name}.tcss" for name in ("dialog", "code", *names)]


class DialogFrame(Vertical):
    """Box of a dialog."""

    class Resized(Message):
        """The size changed."""

    def on_resize(self) -> None:
        self.post_message(self.Resized())


class Dialog(ModalScreen[ResultT], SelectingScreen[ResultT], Generic[ResultT]):
    """Modal dialog in a frame; `compose_content` yields its widgets.

    For `grace` seconds after it appears, and for a moment after any key that is not an answer, keys count as typing:
    they answer nothing and are forwarded to the prompt as `TypedForPrompt`.
    """

    CSS_PATH = stylesheets()
    BINDINGS = bindings("dialog")
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = ""
    FIRST_FOCUS = "OptionList"
    """Selector of the widget that answers."""
    SCROLLED = "#text"
    """Selector of the widget that the keys scroll."""
    KEY_HINTS: tuple[str, ...] = ()
    """Keys shown in the frame, as parts of a `hint`."""

    waiting = var(default=True, toggle_class="-waiting")

    def __init__(self, *, grace: float = GRACE, frame_title: str | None = None) -> None:
        super().__init__()
        self._grace = grace
        self._typed = ""
        self._frame_title = frame_title
        self._open = False
        self._accepts_keys_since = 0.0
        self._burst: list[Key] = []
        self._answered = False
        self._close: Callable[[], object] | None = None
        self._timer: Timer | None = None

    @property
    def key_hints(self) -> tuple[str, ...]:
        """Return the keys shown in the frame now."""
        return self.KEY_HINTS

    def compose(self) -> ComposeResult:
        with DialogFrame(id="dialog") as frame:
            frame.border_title = self._frame_title
            frame.border_subtitle = self._fitting_hint() or None
            yield from self.compose_content()

    def compose_content(self) -> ComposeResult:
        raise NotImplementedError

    def show_keys(self) -> None:
        """Update the keys in the frame."""
        # The watcher of a reactive runs before the widgets exist.
        for frame in self.query(DialogFrame):
            frame.border_subtitle = self._fitting_hint()

    @on(DialogFrame.Resized)
    def fit_keys(self) -> None:
        """Show as many keys as fit."""
        self.show_keys()

    def _fitting_hint(self) -> str:
        """Return the keys without those that do not fit: the conversation's first, then from the left."""
        parts = sorted(self.key_hints, key=lambda part: part != CONVERSATION_HINT)
        while len(parts) > 1 and cell_len(hint(*parts)) > self.size.width - FRAME_CELLS > 0:
            del parts[0]
        return hint(*(part for part in self.key_hints if part in parts))

    def on_mount(self) -> None:
        # A dialog withdrawn while it is mounted may lack its widgets, as may any dialog while the app exits.
        if self._answered:
            return
        self._open = True
        with suppress(NoMatches):
            self.opened()
        if self._grace:
            self._wait(self._grace)
            self.watch_waiting(waiting=True)
        else:
            self.accept_keys()

    def on_screen_resume(self) -> None:
        """Finish a pending close, or restore the focus, after a dialog above this one closed."""
        if self._close:
            self._close()
        elif self._open and not self.waiting and self.focused is None:
            self.focus_first()

    def opened(self) -> None:
        """Called once when all widgets exist and before keys count as answers."""

    @property
    def unsent_text(self) -> str:
        """Return unsent text, which would be lost with the dialog."""
        return ""

    @property
    def unused_text(self) -> str:
        """Return unsent text that is not part of the given answer."""
        return self.unsent_text

    def watch_waiting(self, waiting: bool) -> None:  # noqa: FBT001 - Textual's own way to call it
        for frame in self.query(DialogFrame):
            frame.border_title = NOT_YET if waiting else self._frame_title

    def accept_keys(self) -> None:
        """Accept keys as answers from now on."""
        self.waiting = False
        self._accepts_keys_since = time.monotonic()
        self.return_typed()
        self.focus_first()

    def focus_first(self) -> None:
        """Focus the widget that answers."""
        self.query(self.FIRST_FOCUS).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return (action == "interrupt" or not self.waiting) and super().check_action(action, parameters)

    def on_key(self, event: Key) -> None:
        # A click during a resize can remove the focus.
        if not self.waiting and self.focused is None:
            self.focus_first()
        if self.waiting:
            event.stop()
            event.prevent_default()
            self._take(event)
        elif event.time < self._accepts_keys_since:
            event.stop()
            self._take_late(event)
        elif event.is_printable and event.key not in self.active_bindings:
            self._typed += "".join(key.character or "" for key in self._burst_before(event))
            self._take(event)
        elif event.is_printable:
            self._burst = [*self._burst_before(event), event]

    def _burst_before(self, event: Key) -> list[Key]:
        """Return answer keys of the same burst: faster than typing, so they are not meant as answers."""
        return self._burst if self._burst and event.time - self._burst[-1].time < AT_ONCE else []

    def on_paste(self, event: Paste) -> None:
        event.stop()
        self._typed += event.text
        self._wait(self._grace or GRACE)

    def action_mark(self, step: int) -> None:
        """Highlight the previous or next answer."""
        for answers in (*self.query(OptionList), *self.query(AnswerBar)):
            (answers.action_cursor_up if step < 0 else answers.action_cursor_down)()

    @on(AnswerBar.Chosen)
    async def take_chosen(self, event: AnswerBar.Chosen) -> None:
        # Ignore an answer chosen before the answers were replaced.
        if event.version == self.query_one(AnswerBar).version:
            await self.run_action(event.action)

    def action_scroll(self, lines: int) -> None:
        self.query_one(self.SCROLLED).scroll_relative(y=lines, animate=False)

    def action_page(self, direction: int) -> None:
        scrolled = self.query_one(self.SCROLLED)
        (scrolled.scroll_page_up if direction < 0 else scrolled.scroll_page_down)(animate=False)

    def action_interrupt(self) -> None:
        """Copy the selection, or let the screen below stop its work."""
        field = self.focused
        if isinstance(field, Input | TextArea) and field.selected_text:
            field.action_copy()
        elif self.get_selected_text():
            self.action_copy_text()
        else:
            self._below.post_message(Interrupted())

    def answer(self, result: ResultT) -> None:
        """Close with this answer. Only the first answer counts."""
        if self._answered:
            return
        self._answered = True
        self.return_typed(self.unused_text)
        if self._owner.screen is self:
            self.dismiss(result)
        else:
            # Textual would close the screen on top instead.
            self._close = partial(self.dismiss, result)

    def withdraw(self) -> None:
        """Close without an answer, together with all screens above."""
        if self._answered or not self.is_attached or self not in self._owner.screen_stack:
            return
        self._answered = True
        self.return_typed(self.unsent_text if self._open else "")
        while self._owner.screen is not self:
            self._owner.screen.dismiss(None)
        self._owner.pop_screen()

    def return_typed(self, text: str = "") -> None:
        """Forward text typed for the prompt to the screen below, before this one closes."""
        typed, self._typed = self._typed + text, ""
        if typed:
            self._below.post_message(TypedForPrompt(typed))

    @property
    def _below(self) -> Screen[object]:
        return [screen for screen in self._owner.screen_stack if not isinstance(screen, Dialog)][-1]

    @property
    def _owner(self) -> App[object]:
        # Textual does not type the return value of its App.
        return self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    def _take_late(self, event: Key) -> None:
        """Handle a key pressed before the dialog was ready: forward it, or press it again if the user opened the
        dialog."""
        if self._grace:
            self._take(event)
        else:
            self._owner.call_later(self._press_again, event)

    def _press_again(self, event: Key) -> None:
        # Posted by the app: a message from this screen would not reach its widgets.
        self._owner.post_message(Key(event.key, event.character))

    def _take(self, event: Key) -> None:
        if event.key == "backspace":
            self._typed = self._typed[:-1]
        elif event.is_printable and event.character:
            self._typed += event.character
        # Esc does not extend the wait: users press it repeatedly to leave.
        if event.key != "escape":
            self._wait(self._grace or GRACE)

    def _wait(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.stop()
        self.waiting = True
        self.set_focus(None)
        self._timer = self.set_timer(seconds, self.accept_keys)


class DockedDialog(Dialog[ResultT], Generic[ResultT]):
    """Docked dialog of limited height. It reports the covered rows to the screen below."""

    BINDINGS = bindings("docked")
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-short"), (17, "-tall"), (36, "-roomy")]

    def __init__(self, *, grace: float = GRACE, editor: str = "") -> None:
        """`editor` is the user's editor command; empty: the default editor."""
        super().__init__(grace=grace)
        self._editor = editor

    @property
    def max_rows(self) -> int:
        """Return the maximum height of the dialog."""
        return self.size.height - max(2, min(MAX_CONVERSATION_ROWS, self.size.height // 4))

    def edit_text(self, text: str, file_name: str, clean: Callable[[str], str]) -> str:
        """Return the text as changed in the user's editor and cleaned; empty, with a notification, if it is not."""
        from cinch_tui.terminal.external_programs import EditedText, EditorFailed, edit_text

        match edit_text(text, file_name, self._editor, self._owner.suspend):
            case EditorFailed(reason, _):
                self.notify(reason, severity="error", markup=False)
            case EditedText(edited) if (cleaned := clean(edited)) and cleaned != text:
                return cleaned
            case _:
                self.notify("No changes made.", markup=False)
        return ""

    @on(DialogFrame.Resized)
    def report_covered(self) -> None:
        if not self._answered:
            self._below.post_message(Covered(self.query_one("#dialog").outer_size.height))

    def on_unmount(self) -> None:
        # The next dialog of a batch may already be open and have reported its rows.
        screens = self._owner.screen_stack
        if not (screens and isinstance(screens[-1], DockedDialog)):
            for screen in screens:
                screen.post_message(Covered(0))

    def action_scroll_conversation(self, lines: int) -> None:
        self._below.post_message(ScrollConversation(lines))

    @on(MouseScrollUp)
    @on(MouseScrollDown)
    def scroll_by_wheel(self, event: MouseScrollUp | MouseScrollDown) -> None:
        if event.screen_y < self.query_one("#dialog").region.y:
            self.action_scroll_conversation(-WHEEL_LINES if isinstance(event, MouseScrollUp) else WHEEL_LINES)
