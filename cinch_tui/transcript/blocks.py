"""Transcript blocks for user messages and notices; re-exports all block types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.rendering.safe_text import expand_tabs
from cinch_tui.transcript.block import Block, Part, guess_height
from cinch_tui.transcript.lines import Line, indented, wrap_runs
from cinch_tui.transcript.links import linked
from cinch_tui.transcript.replies import ReplyBlock, ThinkingBlock
from cinch_tui.transcript.tool_block import ToolBlock
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.reports.notices import NoticeLevel
    from cinch_tui.transcript.styles import BlockStyles

__all__ = ["Block", "NoticeBlock", "ReplyBlock", "ThinkingBlock", "ToolBlock", "UserBlock"]

LONGEST_PROMPT = 20
"""Longer user messages are folded, in lines."""
FOLDED_PROMPT = 10
"""Lines shown of a folded message."""

_MARKS: dict[NoticeLevel, str] = {"info": "· ", "warning": "! ", "error": "✗ "}


class _TextPart(Part):
    __slots__ = ("_block",)

    def __init__(self, block: UserBlock | NoticeBlock) -> None:
        super().__init__()
        self._block = block

    @property
    def text(self) -> str:
        return self._block.text

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        return self._block.draw(look, width)

    def guess(self, width: int) -> int:
        text = self._block.shown if isinstance(self._block, UserBlock) else self._block.text
        return guess_height(text, width - 2)


class UserBlock(Block):
    """The user's message as typed; a long one is folded to its first lines."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = escape_controls(text)
        self._folded = self.foldable

    @property
    def source(self) -> str:
        return self.text

    @property
    def foldable(self) -> bool:
        return self.text.rstrip().count("\n") >= LONGEST_PROMPT

    @property
    def folded(self) -> bool:
        return self._folded

    @folded.setter
    def folded(self, folded: bool) -> None:
        self._folded = folded

    @property
    def shown(self) -> str:
        """Return the visible part of the text."""
        lines = self.text.rstrip().split("\n")
        if not self._folded:
            return "\n".join(lines)
        more = len(lines) - FOLDED_PROMPT
        return "\n".join([*lines[:FOLDED_PROMPT], f"… {more:,} more lines"])

    def guess(self, width: int) -> int:
        return self.gap + guess_height(self.shown, width) if self._folded and not self.hidden else super().guess(width)

    def make_parts(self) -> list[Part]:
        return [_TextPart(self)]

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        text = expand_tabs(self.shown)
        mark = look.on_base("user-mark")
        lines = wrap_runs(linked([(text, look.on_base("user"))], look.ways.root, look["link"]), width - 2)
        fill = look.on_base("user")
        return [
            Line(line.segments, line.gutter, line.end, fill) for line in indented(lines, ("❯ ", mark), ("  ", mark))
        ]


class NoticeBlock(Block):
    """A notice from cinch."""

    def __init__(self, text: str, level: NoticeLevel = "info") -> None:
        super().__init__()
        self.text = as_sentence(escape_controls(text))
        self.level: NoticeLevel = level

    @property
    def source(self) -> str:
        return self.text

    def make_parts(self) -> list[Part]:
        return [_TextPart(self)]

    @property
    def close_to_its_like(self) -> bool:
        return True

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        style = look.on_base(self.level)
        text = expand_tabs(self.text.rstrip())
        runs = linked([(text, style)], look.ways.root, look["link"])
        return indented(wrap_runs(runs, width - 2), (_MARKS[self.level], style), ("  ", style))


def as_sentence(text: str) -> str:
    """Capitalize the text if it begins with a plain word; file and command names stay unchanged."""
    first = text.partition(" ")[0].rstrip(":;,")
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
