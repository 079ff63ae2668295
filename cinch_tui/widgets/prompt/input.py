"""Text area of the prompt: grows with its text and collapses large pastes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding
from textual.geometry import Size
from textual.reactive import var
from textual.widget import Widget

from cinch_tui.data_message import DataMessage
from cinch_tui.keybindings.keymap import bindings_for_key
from cinch_tui.user_input import UserInput, UserInputLike, as_user_input
from cinch_tui.widgets.prompt.line_input import LineInput
from cinch_tui.widgets.prompt.pastes import Pastes, is_large, typeable

if TYPE_CHECKING:
    from cinch_tui.images.image_loader import LoadedImage
    from cinch_tui.widgets.prompt.vim.vim_keys import VimKeys

# A restored prompt is shown completely up to this length.
_MAX_SHOWN = 10_000
# Needed for compound emoji and Persian; Textual reports them as keys without a character.
_JOINERS = "\u200c\u200d"


async def run_first(bindings: Iterable[Binding], widget: Widget) -> bool:
    """Run the first binding that does not decline; return False if there was none."""
    for binding in bindings:
        # Textual does not type the return value of its App.
        if await widget.app.run_action(binding.action, widget):  # pyright: ignore[reportUnknownMemberType]
            return True
    return False


class PromptInput(LineInput):
    """Keys that the text does not use are passed to `run_key`, then to the surrounding widgets.

    Textual runs bindings only after all keys received together with theirs: a line that arrives at once with its Enter
    would be sent without its last letters. Here each key is handled before the next.
    """

    hint = var("")
    """Hint in the frame."""
    keys_elsewhere = var("")
    """Keys of the focused widget, shown instead of the hint."""

    def __init__(self, run_key: Callable[[str], Awaitable[bool]], receive: Callable[[str], Awaitable[None]]) -> None:
        """`receive` is called with pasted text."""
        super().__init__()
        self.cursor_blink = False
        self.match_cursor_bracket = False
        self.yields_arrows = False
        self._run_key = run_key
        self._receive = receive
        self._pastes = Pastes()
        self._vim: VimKeys | None = None

    class LeftText(DataMessage):
        """The cursor moved up (-1) or down (1) out of the text."""

        step: int

    @property
    def uses_vim(self) -> bool:
        return self._vim is not None

    @uses_vim.setter
    def uses_vim(self, wanted: bool) -> None:
        # Late import: rarely used, and not needed before the first paint.
        from cinch_tui.widgets.prompt.vim.vim_keys import VimKeys

        self._vim = VimKeys(self) if wanted else None
        self._show_hint()

    def _show_hint(self) -> None:
        mode = self._vim.shown if self._vim else ""
        self.border_subtitle = self.keys_elsewhere or " · ".join(filter(None, (mode, self.hint)))

    watch_hint = watch_keys_elsewhere = _show_hint

    @property
    def user_input(self) -> UserInput:
        """Return the text with pastes expanded, and its images."""
        return self._pastes.input_of(self.text)

    def expand_text(self, text: str) -> UserInput:
        """Expand a text that was in the prompt."""
        return self._pastes.input_of(text)

    @property
    def before_cursor(self) -> str:
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    @property
    def is_at_end_of_word(self) -> bool:
        row, column = self.cursor_location
        return self.document.get_line(row)[column : column + 1].strip() == ""

    @property
    def pasted(self) -> tuple[str, ...]:
        """Return the pastes whose placeholders are in the text."""
        return self._pastes.pastes_in(self.text)

    def show(self, user_input: UserInputLike, pasted: Sequence[str] = ()) -> None:
        """Replace the text, with the cursor at the end and placeholders for `pasted`."""
        user_input = as_user_input(user_input)
        text = self._pastes.adopt(user_input.with_text(typeable(user_input.text)))
        for each in pasted:
            # The history strips trailing newlines.
            part = each if each in text else each.rstrip("\n")
            text = text.replace(part, self._pastes.collapse(part), 1)
        self.load_text(text if len(text) <= _MAX_SHOWN else self._pastes.collapse_all(text))
        self.move_cursor(self.document.end)
        if self._vim:
            self._vim.rest()

    def attach(self, image: LoadedImage) -> None:
        """Insert the mark of an image at the cursor."""
        row, column = self.cursor_location
        has_blank = self.document.get_line(row)[column : column + 1] == " "
        self._replace_selection(self._pastes.attach(image) + ("" if has_blank else " "))

    def put(self, text: str) -> None:
        """Insert text like a paste: a large one becomes a placeholder."""
        text = typeable(text)
        self._replace_selection(self._pastes.collapse(text) if is_large(text) else text)

    def forget(self) -> None:
        """Clear text, undo history and pastes."""
        self.load_text("")
        self._pastes.clear()
        if self._vim:
            self._vim.reset()
            self._show_hint()

    def extend_span(self, start: int, end: int) -> tuple[int, int]:
        return self._pastes.extend_span(self.text, start, end)

    def break_line(self) -> None:
        self._replace_selection("\n")

    def break_line_at_backslash(self) -> bool:
        """Replace a backslash at the end of the line by a newline; return False without a backslash."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        if column != len(line) or not line.endswith("\\"):
            return False
        self.replace("\n", (row, column - 1), (row, column), maintain_selection_offset=False)
        return True

    def replace_before_cursor(self, start: int, text: str) -> None:
        """Replace the text between column `start` and the cursor."""
        row, column = self.cursor_location
        self.replace(text, (row, start), (row, column), maintain_selection_offset=False)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        height = super().get_content_height(container, viewport, width)
        # On a low terminal the transcript keeps half of the rows.
        return min(height, max(1, viewport.height // 2 - 2))

    async def on_key(self, event: events.Key) -> None:
        self.begin_command()
        if await self._press(event):
            event.stop()
            event.prevent_default()

    async def _press(self, event: events.Key) -> bool:
        """Return True if the key was handled."""
        if self._vim and await self._press_vim(event, self._vim):
            return True
        own = bindings_for_key(self._bindings, event.key)
        if await run_first(own, self) or await self._run_key(event.key):
            return True
        if event.character and event.character in _JOINERS:
            self._replace_selection(event.character)
            return True
        return False

    async def _press_vim(self, event: events.Key, vim: VimKeys) -> bool:
        """Return True if the key was handled. Esc first closes an open popup."""
        if event.key == "escape" and vim.mode == "insert" and await self._run_key("escape"):
            return True
        outcome = vim.press(event)
        self._show_hint()
        if outcome in ("older", "newer"):
            self.post_message(self.LeftText(-1 if outcome == "older" else 1))
        return outcome != "left"

    async def on_paste(self, event: events.Paste) -> None:
        self.begin_command()
        event.stop()
        event.prevent_default()
        await self._receive(event.text)

    def action_cursor_up(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  Textual's signature
        is_at_edge = self.navigator.is_first_wrapped_line(self.cursor_location)
        self._leave_to_others(not select and (self.yields_arrows or is_at_edge))
        super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  Textual's signature
        is_at_edge = self.navigator.is_last_wrapped_line(self.cursor_location)
        self._leave_to_others(not select and (self.yields_arrows or is_at_edge))
        super().action_cursor_down(select)

    def action_cursor_left(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  Textual's signature
        self._leave_to_others(select and not self.text)
        super().action_cursor_left(select)
        self._leave_placeholder(select=select, before=True)

    def action_cursor_right(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  Textual's signature
        self._leave_to_others(select and not self.text)
        super().action_cursor_right(select)
        self._leave_placeholder(select=select, before=False)

    def on_text_area_selection_changed(self) -> None:
        """Move the cursor out of a placeholder after a click or vertical move."""
        if self.selection.is_empty:
            row, column = self.cursor_location
            around = self._pastes.around(self.document.get_line(row), column)
            if around:
                self._leave_placeholder(select=False, before=column - around[0] < around[1] - column)

    def _leave_placeholder(self, *, select: bool, before: bool) -> None:
        row, column = self.cursor_location
        around = self._pastes.around(self.document.get_line(row), column)
        if around:
            self.move_cursor((row, around[0] if before else around[1]), select=select)

    def action_cursor_page_up(self) -> None:
        raise SkipAction

    def action_cursor_page_down(self) -> None:
        raise SkipAction

    def action_delete_left(self) -> None:
        row, column = self.cursor_location
        start = self._pastes.ending_at(self.document.get_line(row), column)
        if start is None or self.selected_text:
            super().action_delete_left()
        else:
            self.delete((row, start), (row, column), maintain_selection_offset=False)

    def action_delete_right(self) -> None:
        self._leave_to_others(not self.text)
        row, column = self.cursor_location
        end = self._pastes.starting_at(self.document.get_line(row), column)
        if end is None or self.selected_text:
            super().action_delete_right()
        else:
            self.delete((row, column), (row, end), maintain_selection_offset=False)

    def _replace_selection(self, text: str) -> None:
        start, end = sorted((self.selection.start, self.selection.end))
        self.replace(text, start, end, maintain_selection_offset=False)

    def _leave_to_others(self, is_theirs: bool) -> None:  # noqa: FBT001  the condition reads best as the argument
        if is_theirs:
            raise SkipAction
