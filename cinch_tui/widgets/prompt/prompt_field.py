"""Text field with a completion popup that accepts pasted text, images and image paths."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import work
from textual.actions import SkipAction
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.reactive import var
from textual.style import Style
from textual.widget import Widget

from cinch_tui.data_message import DataMessage
from cinch_tui.keybindings.keymap import bindings_for_key
from cinch_tui.user_input import UserInputLike, as_user_input
from cinch_tui.widgets.prompt.completion import Candidate, CommandCompletion, Completion
from cinch_tui.widgets.prompt.input import PromptInput, run_first
from cinch_tui.widgets.prompt.path_completion import MentionCompletion, complete_path
from harness.errors import CinchError
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.images.pasted_files import PasteContent


PASTE_TIMEOUT = 3.0
"""Maximum seconds to examine a paste."""


MAX_ROWS = 8
# Rows reserved on a low terminal: prompt, status bar, two lines of transcript.
_ROWS_FOR_OTHERS = 6


class CompletionPopup(Widget):
    """Completion candidates above the text area."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"completion-popup--description", "completion-popup--highlighted"}

    is_open = var(default=False, toggle_class="-open")

    def __init__(self) -> None:
        super().__init__()
        self.completion: Completion | None = None
        self.has_moved = False
        self._index = 0

    @property
    def highlighted(self) -> Candidate | None:
        return self.completion.candidates[self._index] if self.completion else None

    def open(self, completion: Completion) -> None:
        self.completion = completion
        self.has_moved = False
        self._index = 0
        self.is_open = True
        self.refresh(layout=True)

    def close(self) -> None:
        self.completion = None
        self.is_open = False

    def move(self, step: int) -> None:
        if self.completion:
            self._index = (self._index + step) % len(self.completion.candidates)
            self.has_moved = True
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        wanted = len(self.completion.candidates) if self.completion else 0
        return min(wanted, MAX_ROWS, max(1, viewport.height - _ROWS_FOR_OTHERS))

    def render(self) -> Content:
        if self.completion is None:
            return Content()
        rows = max(1, self.size.height)
        # The visible rows scroll with the highlight.
        first = max(0, self._index - rows + 1)
        shown = self.completion.candidates[first : first + rows]
        room = max(self.size.width // 2, 24) if any(candidate.description for candidate in shown) else self.size.width
        names = min(max(cell_len(candidate.label) for candidate in shown), room)
        lines = [self._line(candidate, names) for candidate in shown]
        highlighted = self._index - first
        style = self._style("highlighted")
        lines[highlighted] = lines[highlighted].truncate(self.size.width, pad=True).stylize(style)
        return Content("\n").join(lines)

    def _line(self, candidate: Candidate, names: int) -> Content:
        if not candidate.description:
            return Content(f" {candidate.label}").truncate(self.size.width, ellipsis=True)
        name = Content(candidate.label).truncate(names, ellipsis=True, pad=True)
        line = Content.assemble(" ", name, "  ", (escape_controls(candidate.description), self._style("description")))
        return line.truncate(self.size.width, ellipsis=True)

    def _style(self, name: str) -> Style:
        # `get_visual_style` drops `reverse`, the only marker of a selection on terminals with few colors.
        component = f"completion-popup--{name}"
        style = self.get_visual_style(component, partial=True)
        is_reversed = self.get_component_styles(component).text_style.reverse
        return style + Style(reverse=True) if is_reversed else style


class PromptField(Vertical):
    """Runs its own bindings for keys that the text area does not use."""

    is_shell = var(default=False, toggle_class="-shell")
    """The text is a shell command of the user."""

    class PasteRejected(DataMessage):
        """The paste, or a part of it, could not be accepted as it was."""

        text: str

    def __init__(self, commands: CommandCompletion, mentions: MentionCompletion) -> None:
        super().__init__()
        self._pasted: dict[str, tuple[str, ...]] = {}
        """Pastes contained in prompts of this session, by prompt text."""
        self._commands = commands
        self._mentions = mentions
        self._input = PromptInput(self._run_key, self.receive)
        self._popup = CompletionPopup()
        # Text that was not typed opens no popup, which would take the arrow keys of the history.
        self._shown = ""
        self._dismissed_at: tuple[int, int] | None = None
        self._offered_for = ("", (0, 0))

    def action_complete(self) -> None:
        if self.is_shell and not self._popup.is_open:
            self._complete_path()
            return
        if not self._popup.is_open:
            raise SkipAction
        self._accept()

    def action_close_popup(self) -> None:
        if self._popup.completion is None:
            raise SkipAction
        self._dismiss(self._popup.completion)

    def _show(self, user_input: UserInputLike) -> None:
        """Set the text without marking it as typed, with placeholders for pastes."""
        self._input.show(user_input, self._pasted.get(as_user_input(user_input).text.strip("\n"), ()))
        self._shown = self._input.text
        self._close()

    async def _run_key(self, key: str) -> bool:
        own = bindings_for_key(self._bindings, key)
        if own:
            self._keep_up()
        return await run_first(own, self)

    def _keep_up(self) -> None:
        """Update the popup for the current text, since change messages may be late."""
        place = (self._input.text, self._input.cursor_location)
        if place != self._offered_for:
            self._offered_for = place
            self._offer()

    def _offer(self) -> None:
        """Open, update or close the popup for the text before the cursor."""
        completion = self._completion()
        place = self._place_of(completion)
        if place != self._dismissed_at:
            self._dismissed_at = None
        if completion is None or place == self._dismissed_at:
            self._close()
            return
        self._popup.open(completion)
        self._input.yields_arrows = True

    def _offer_more(self) -> None:
        # Do not reset the selection while the user moves through the list.
        if not self._popup.has_moved and self._mentions.has_more:
            self._offer()

    @work(exclusive=True, group="mentions")
    async def _load_mentions(self) -> None:
        await self._mentions.load()
        self._offer()

    @work(exclusive=True, group="values")
    async def _load_values(self) -> None:
        await self._mentions.resources.load()
        self._offer()

    def _complete_path(self) -> None:
        completion = complete_path(self._mentions.root, self._input.before_cursor)
        if completion is None:
            return
        if len(completion.candidates) == 1:
            only = completion.candidates[0]
            self._input.replace_before_cursor(completion.start, only.text + only.then)
        else:
            self._popup.open(completion)
            self._input.yields_arrows = True

    def _completion(self) -> Completion | None:
        field = self._input
        if self.is_shell:
            return complete_path(self._mentions.root, field.before_cursor) if self._popup.is_open else None
        if field.text == self._shown or field.selected_text or not field.is_at_end_of_word:
            return None
        before = field.before_cursor
        if self._mentions.is_asked(before) and self._mentions.is_stale:
            self._load_mentions()
        completion = self._commands.complete(before, one_line=field.document.line_count == 1)
        if completion is None:
            completion = self._mentions.complete(before)
            if self._mentions.has_more:
                self.call_later(self._offer_more)
            if self._mentions.resources.has_more:
                self._load_values()
        return completion

    def _accept(self) -> None:
        completion, candidate = self._popup.completion, self._popup.highlighted
        if completion is None or candidate is None:
            return
        if candidate.text.endswith("/") or not candidate.is_complete:
            # Continue completion inside a folder, or with the resources of a server.
            self._close()
        else:
            self._dismiss(completion)
        if self._mentions.is_asked(self._input.before_cursor):
            self._mentions.used(candidate.text)
        self._input.replace_before_cursor(completion.start, candidate.text + candidate.then)

    def _dismiss(self, completion: Completion) -> None:
        self._dismissed_at = self._place_of(completion)
        self._close()

    def _close(self) -> None:
        self._popup.close()
        self._input.yields_arrows = False

    def _place_of(self, completion: Completion | None) -> tuple[int, int] | None:
        return (self._input.cursor_location[0], completion.start) if completion else None

    async def receive(self, text: str) -> None:
        """Insert a paste: as an image if it is one or names one, else as text."""
        if self._input.text.startswith("!"):
            self._input.put(text)
            return
        # Late import: not needed before the first paint.
        from cinch_tui.images.pasted_files import parse_paste

        content = None
        # An unresponsive network folder must not block keys.
        with suppress(TimeoutError):
            async with asyncio.timeout(PASTE_TIMEOUT):
                content = await parse_paste(text, self._mentions.root)
        if content is None:
            self._input.put(text)
        else:
            self._insert_content(content)

    async def action_paste(self) -> None:
        """Paste from the system clipboard if available, else from the app's own."""
        from cinch_tui.images.pasted_files import load_pasted_image
        from cinch_tui.terminal.clipboard import read_clipboard

        # Textual does not type the return value of its App.
        copied: str = self.app.clipboard  # pyright: ignore[reportUnknownMemberType]
        try:
            found = await read_clipboard()
        except CinchError as error:
            if not copied:
                self.post_message(self.PasteRejected(str(error)))
            await self.receive(copied)
            return
        if found.image:
            self._insert_content(await load_pasted_image(found.image, "clipboard"))
        elif found.text or copied:
            await self.receive(found.text or copied)
        else:
            self.post_message(self.PasteRejected("The clipboard is empty."))

    def _insert_content(self, content: PasteContent) -> None:
        for piece in content.pieces:
            if isinstance(piece, str):
                self._input.put(piece)
            else:
                self._input.attach(piece)
        for reason in content.rejected:
            self.post_message(self.PasteRejected(reason))
