"""Transcript blocks of a resumed session whose messages are read from disk when they are shown."""

from __future__ import annotations

from typing import NamedTuple

from cinch_tui.transcript.block import BlockPart
from cinch_tui.transcript.image import result_images
from cinch_tui.transcript.replies import ReplyBlock, StreamedBlock, ThinkingBlock
from cinch_tui.transcript.tool_block import ToolBlock
from harness.context.history import StoredMessages
from harness.messages import AssistantMessage, Message, Text, Thinking, ToolResult
from harness.views import View

_GUESSED_ROWS = 12
"""Estimated height of an unfolded result."""


class DiskSource(NamedTuple):
    """A message on disk."""

    messages: StoredMessages
    """The conversation."""
    at: int
    """Index of the message."""

    @property
    def size(self) -> int:
        """Approximate length, in characters."""
        return self.messages.size(self.at)

    def read(self) -> Message:
        """Read the message; fast if it was the last one read."""
        return self.messages[self.at]


class _StoredText(StreamedBlock):
    """Text of a reply that is read when it is first drawn, and then stays in memory."""

    def __init__(self, start: str, disk: DiskSource, place: int) -> None:
        """Create the block of a content block of a reply; `start` is the beginning of its text."""
        super().__init__(start)
        if not start:
            self.finish()
        self._disk: DiskSource | None = disk
        self._place = place
        self._newlines = self._newlines * disk.size // max(1, self._length)
        self._length = disk.size

    @property
    def source(self) -> str:
        return super().source if self._disk is None else StreamedBlock(self._stored_text(self._disk)).source

    def make_parts(self) -> list[BlockPart]:
        if self._disk is not None and not self.folded:
            text, self._disk = self._stored_text(self._disk), None
            self._fragments.clear()
            self._length = self._newlines = 0
            self._set_text(text)
        return super().make_parts()

    def _stored_text(self, disk: DiskSource) -> str:
        message = disk.read()
        content = message.content if isinstance(message, AssistantMessage) else ()
        block = content[self._place] if self._place < len(content) else None
        return block.text if isinstance(block, Text | Thinking) else ""


class StoredReply(_StoredText, ReplyBlock):
    """Reply on disk."""


class StoredThinking(_StoredText, ThinkingBlock):
    """Thinking on disk."""


class StoredToolBlock(ToolBlock):
    """Tool call of a resumed session, whose result may be on disk."""

    _disk: DiskSource | None = None
    _opens = False
    _has_images = False
    """True once the sizes of the images are known, which only the complete result contains."""

    def keep_on_disk(self, disk: DiskSource) -> None:
        """Read the result, which was set with truncated texts, when it is drawn, and do not keep it."""
        self._opens = super().opens_by_default
        self._disk, self._view, self._text = disk, None, ""

    @property
    def view(self) -> View | None:
        result = self._read_result()
        return result.view if result else self._view

    @view.setter
    def view(self, view: View | None) -> None:
        self._view = view

    @property
    def text(self) -> str:
        result = self._read_result()
        return result.text if result else self._text

    @text.setter
    def text(self, text: str) -> None:
        self._text = text

    @property
    def opens_by_default(self) -> bool:
        return super().opens_by_default if self._disk is None else self._opens

    def guess(self, width: int) -> int:
        if self._disk is None:
            return super().guess(width)
        if self._open_width == width:
            return self.heights.total
        return self.gap + 1 + (0 if self.folded else _GUESSED_ROWS)

    def make_parts(self) -> list[BlockPart]:
        if self.images and not self._has_images and (result := self._read_result()):
            self.images, self._has_images = result_images(result, self._read_result), True
        return super().make_parts()

    def _read_result(self) -> ToolResult | None:
        """Return the result if it is on disk."""
        message = self._disk.read() if self._disk else None
        return message if isinstance(message, ToolResult) else None
