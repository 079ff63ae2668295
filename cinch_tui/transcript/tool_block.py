"""Block of a tool call: one line that can be unfolded to show the result view."""

from __future__ import annotations

from cinch_tui.transcript.block import BlockPart, FunctionPart, TranscriptBlock, guess_height
from cinch_tui.transcript.lines import StyledLine
from cinch_tui.transcript.row_decorations import ROOM
from cinch_tui.transcript.styles import BlockStyles
from cinch_tui.transcript.tool_call_state import FRESH_LINES, ToolCallState
from harness.terminal_text import escape_controls
from harness.views import DiffView, ImageView, TerminalView, TextView


class ToolBlock(TranscriptBlock, ToolCallState):
    """A tool call and its result. Set its attributes, then notify the transcript with `changed`."""

    def __init__(self, call_id: str, label: str, summary: str) -> None:
        TranscriptBlock.__init__(self)
        ToolCallState.__init__(self, label, summary)
        self.call_id = call_id
        self._folded_by_user: bool | None = None
        self._is_fresh = False
        self.stays_open = False
        """Stay unfolded, since one line does not show the result."""

    @property
    def folded(self) -> bool:
        if self._folded_by_user is not None:
            return self._folded_by_user
        # The line of a denied call shows the reason.
        return self.status == "denied" or not (self._is_fresh or (self.status == "done" and self.opens_by_default))

    @folded.setter
    def folded(self, folded: bool) -> None:
        self._folded_by_user = folded

    @property
    def opens_by_default(self) -> bool:
        """Return True for changes, images and answers, which are visible without unfolding."""
        return bool(self.images or self.stays_open or type(self.view) is DiffView)

    @property
    def is_fresh(self) -> bool:
        """Return True if the call is recent and shows the end of its output; folding by the user overrides it."""
        return self._is_fresh and self._folded_by_user is None and self.status != "denied"

    @is_fresh.setter
    def is_fresh(self, is_fresh: bool) -> None:
        self._is_fresh = is_fresh

    @property
    def foldable(self) -> bool:
        return True

    @property
    def is_grouped(self) -> bool:
        return self.folded

    @property
    def growing(self) -> bool:
        return self.status == "running"

    @property
    def source(self) -> str:
        match self.view:
            case TextView(text):
                return text
            case TerminalView(command, output):
                return f"$ {command}\n{output}"
            case DiffView() as change if self.status == "done":
                from harness.workspace.unified_diff import unified

                return escape_controls(unified(change)) or self.text
            case _:
                return "\n".join((self.text or self.headline, *(image.label for image in self.images)))

    @property
    def code(self) -> list[str]:
        """Return the command line of a command."""
        return [self.view.command] if isinstance(self.view, TerminalView) else []

    @property
    def search_text(self) -> str:
        return f"{self.headline}\n{self._body_text()}"

    @property
    def headline(self) -> str:
        return f"{self.label} {self.summary}"

    def guess(self, width: int) -> int:
        if self.folded:
            return self.gap + 1
        if self.is_fresh:
            return self.gap + 1 + FRESH_LINES
        match self.view:
            case DiffView() | ImageView():
                return self.gap + 12
            case _:
                return self.gap + 1 + min(200, guess_height(self.source, width))

    def make_parts(self) -> list[BlockPart]:
        header = FunctionPart(self._draw_header, text=lambda: self.headline)
        if self.folded:
            return [header]
        # Late import: images are rare.
        from cinch_tui.transcript.image_block import ImagePart

        images = [ImagePart(image) for image in self.images]
        has_body = not images or not isinstance(self.view, ImageView)
        body = FunctionPart(self._draw_body, lambda width: max(1, self.guess(width) - 1 - self.gap), self._body_text)
        return [header, *([body] if has_body else []), *images]

    def _draw_header(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        # Late import: not needed for an empty conversation.
        from cinch_tui.transcript.tool_lines import header_line

        room = width - ROOM if styles.options.stamps else width
        return [header_line(self, styles, room, folded=self.folded, selected=self.selected)]

    def _draw_body(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        from cinch_tui.transcript.tool_lines import body_lines

        return body_lines(self, styles, width, is_brief=self.is_fresh)

    def _body_text(self) -> str:
        """Return the text of the unfolded block."""
        from cinch_tui.transcript.tool_lines import body_text

        return body_text(self)
