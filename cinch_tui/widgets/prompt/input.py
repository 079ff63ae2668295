"""The text area of the prompt: it grows with its text, and keeps large pastes out of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding
from textual.geometry import Size
from textual.widget import Widget

from cinch_tui.keymap import canonical
from cinch_tui.widgets.prompt.line_input import LineInput
from cinch_tui.widgets.prompt.pastes import Pastes, is_large, typeable

# A whole prompt that comes back, from the history or an editor, is shown as it was up to here.
_MAX_SHOWN = 10_000


async def run_first(bindings: Iterable[Binding], widget: Widget) -> bool:
    """Run the first of the widget's bindings that does not decline; whether there was one."""
    for binding in bindings:
        # Textual leaves open what an app returns, and so the app's type.
        if await widget.app.run_action(binding.action, widget):  # pyright: ignore[reportUnknownMemberType]
            return True
    return False


class PromptInput(LineInput):
    """Keys that mean nothing to the text are offered to `run_key`, and then to whatever is around.

    Textual itself runs bindings only after the keys that came in together with theirs: a line that arrives at once,
    with its Enter, would be sent without its last letters. Here every key acts before the next.
    """

    def __init__(self, run_key: Callable[[str], Awaitable[bool]]) -> None:
        super().__init__()
        self.cursor_blink = False
        self.match_cursor_bracket = False
        self.yields_arrows = False
        self._run_key = run_key
        self._pastes = Pastes()

    @property
    def full_text(self) -> str:
        """The text with every paste in its place."""
        return self._pastes.expand(self.text)

    def expanded(self, text: str) -> str:
        """A text that stood here, with every paste in its place."""
        return self._pastes.expand(text)

    @property
    def before_cursor(self) -> str:
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    @property
    def is_at_end_of_word(self) -> bool:
        row, column = self.cursor_location
        return self.document.get_line(row)[column : column + 1].strip() == ""

    def show(self, text: str) -> None:
        """Replace everything, with the cursor at the end."""
        text = typeable(text)
        self.load_text(text if len(text) <= _MAX_SHOWN else self._pastes.collapse(text))
        self.move_cursor(self.document.end)

    def put(self, text: str) -> None:
        """Insert as if pasted: a large text becomes a placeholder."""
        text = typeable(text)
        self._replace_selection(self._pastes.collapse(text) if is_large(text) else text)

    def forget(self) -> None:
        """Empty the text, its undo history and the pastes."""
        self.load_text("")
        self._pastes.clear()

    def whole(self, start: int, end: int) -> tuple[int, int]:
        return self._pastes.whole(self.text, start, end)

    def break_line(self) -> None:
        self._replace_selection("\n")

    def break_line_at_backslash(self) -> bool:
        """Turn a backslash before the cursor, at the end of the line, into a new line; whether there was one."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        if column != len(line) or not line.endswith("\\"):
            return False
        self.replace("\n", (row, column - 1), (row, column), maintain_selection_offset=False)
        return True

    def replace_before_cursor(self, start: int, text: str) -> None:
        """Put `text` in the place of what stands between the column `start` and the cursor."""
        row, column = self.cursor_location
        self.replace(text, (row, start), (row, column), maintain_selection_offset=False)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        height = super().get_content_height(container, viewport, width)
        # In a small terminal the conversation keeps its half.
        return min(height, max(1, viewport.height // 2 - 2))

    async def on_key(self, event: events.Key) -> None:
        self.begin_command()
        key = canonical(event.key)
        own = self._bindings.key_to_bindings.get(key, ())
        if await run_first(own, self) or await self._run_key(key):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        self.begin_command()
        event.stop()
        event.prevent_default()
        self.put(event.text)

    def action_paste(self) -> None:
        # Textual leaves open what an app returns, and so the app's type.
        self.put(self.app.clipboard)  # pyright: ignore[reportUnknownMemberType]

    def action_cursor_up(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  Textual's signature
        self._leave_to_others(
            not select and (self.yields_arrows or self.navigator.is_first_wrapped_line(self.cursor_location))
        )
        super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  Textual's signature
        self._leave_to_others(
            not select and (self.yields_arrows or self.navigator.is_last_wrapped_line(self.cursor_location))
        )
        super().action_cursor_down(select)

    def action_cursor_left(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  Textual's signature
        self._leave_to_others(select and not self.text)
        super().action_cursor_left(select)

    def action_cursor_right(self, select: bool = False) -> None:  # noqa: FBT001, FBT002  Textual's signature
        self._leave_to_others(select and not self.text)
        super().action_cursor_right(select)

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
