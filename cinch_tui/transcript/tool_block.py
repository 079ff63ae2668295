"""Block of a tool call: one line that can be unfolded to show the result view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.transcript.block import Block, Part, guess_height
from cinch_tui.transcript.lines import Line
from cinch_tui.transcript.timestamps import ROOM
from cinch_tui.transcript.tool_call_state import FRESH_LINES, ToolCallState
from harness.terminal_text import escape_controls
from harness.views import DiffView, ImageView, TerminalView, TextView, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cinch_tui.transcript.image import Picture
    from cinch_tui.transcript.styles import BlockStyles
    from cinch_tui.transcript.tool_call_state import ToolStatus


class ToolBlock(Block):
    """A tool call and its result. Set its properties, then notify the transcript with `changed`."""

    def __init__(self, call_id: str, label: str, summary: str) -> None:
        super().__init__()
        self.call_id = call_id
        self.call = ToolCallState(label, summary)
        self._folded: bool | None = None
        self._is_fresh = False
        self.stays_open = False
        """Stay unfolded, since one line does not show the result."""

    @property
    def status(self) -> ToolStatus:
        return self.call.status

    @status.setter
    def status(self, status: ToolStatus) -> None:
        self.call.status = status

    @property
    def summary(self) -> str:
        return self.call.summary

    @summary.setter
    def summary(self, summary: str) -> None:
        self.call.summary = summary

    @property
    def label(self) -> str:
        return self.call.label

    @property
    def view(self) -> View | None:
        return self.call.view

    @view.setter
    def view(self, view: View | None) -> None:
        self.call.view = view

    @property
    def pictures(self) -> Sequence[Picture]:
        return self.call.pictures

    @pictures.setter
    def pictures(self, pictures: Sequence[Picture]) -> None:
        self.call.pictures = tuple(pictures)

    @property
    def text(self) -> str:
        return self.call.text

    @text.setter
    def text(self, text: str) -> None:
        self.call.text = text

    @property
    def duration(self) -> float | None:
        return self.call.duration

    @duration.setter
    def duration(self, seconds: float | None) -> None:
        self.call.duration = seconds

    @property
    def folded(self) -> bool:
        if self._folded is not None:
            return self._folded
        # Changes, images and answers are visible without unfolding.
        must_be_seen = isinstance(self.view, DiffView) or self.pictures or self.stays_open
        # The line of a denied call shows the reason.
        return self.status == "denied" or not (self._is_fresh or (self.status == "done" and must_be_seen))

    @folded.setter
    def folded(self, folded: bool) -> None:
        self._folded = folded

    @property
    def is_fresh(self) -> bool:
        """Return True if the call is recent and shows the end of its output; folding by the user overrides it."""
        return self._is_fresh and self._folded is None and self.status != "denied"

    @is_fresh.setter
    def is_fresh(self, is_fresh: bool) -> None:
        self._is_fresh = is_fresh

    @property
    def foldable(self) -> bool:
        return True

    @property
    def close_to_its_like(self) -> bool:
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
                from cinch_tui.rendering.unified_diff import unified

                return escape_controls(unified(change)) or self.text
            case _:
                said = self.text or f"{self.label} {self.summary}"
                return "\n".join((said, *(picture.label for picture in self.pictures)))

    @property
    def searched(self) -> str:
        return f"{self.headline}\n{self.shown_text}"

    @property
    def headline(self) -> str:
        return f"{self.label} {self.summary}"

    @property
    def shown_text(self) -> str:
        """Return the text of the unfolded block."""
        from cinch_tui.transcript.tool_text import body_text

        return body_text(self.call)

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

    def make_parts(self) -> list[Part]:
        header = _Header(self)
        if self.folded:
            return [header]
        # Late import: images are rare.
        from cinch_tui.transcript.image_block import PicturePart

        pictures = [PicturePart(picture) for picture in self.pictures]
        has_body = not pictures or not isinstance(self.view, ImageView)
        return [header, *([_Body(self)] if has_body else []), *pictures]


class _Header(Part):
    __slots__ = ("_block",)

    def __init__(self, block: ToolBlock) -> None:
        super().__init__()
        self._block = block

    @property
    def text(self) -> str:
        return self._block.headline

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        # Late import: not needed for an empty conversation.
        from cinch_tui.transcript.tool_lines import header_line

        block, room = self._block, width - ROOM if look.ways.stamps else width
        return [header_line(block.call, look, room, folded=block.folded, selected=block.selected)]

    def guess(self, width: int) -> int:
        return 1


class _Body(Part):
    __slots__ = ("_block",)

    def __init__(self, block: ToolBlock) -> None:
        super().__init__()
        self._block = block

    @property
    def text(self) -> str:
        return self._block.shown_text

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        from cinch_tui.transcript.tool_lines import body_lines
        from cinch_tui.transcript.tool_text import brief

        return body_lines(brief(self._block.call) if self._block.is_fresh else self._block.call, look, width)

    def guess(self, width: int) -> int:
        return max(1, self._block.guess(width) - 1 - self._block.gap)
