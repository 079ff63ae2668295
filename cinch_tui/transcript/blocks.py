"""Transcript blocks for user messages and notices; re-exports all block types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import indent

from cinch_tui.rendering.safe_text import expand_tabs, plain_output
from cinch_tui.reports.notices import NoticeLevel
from cinch_tui.transcript.block import BlockPart, FunctionPart, TranscriptBlock, guess_height
from cinch_tui.transcript.lines import StyledLine, filled, indented, wrap_runs
from cinch_tui.transcript.links import linked
from cinch_tui.transcript.replies import ReplyBlock, ThinkingBlock
from cinch_tui.transcript.styles import BlockStyles
from cinch_tui.transcript.tool_block import ToolBlock
from harness.terminal_text import escape_controls

__all__ = ["NoticeBlock", "ReplyBlock", "ThinkingBlock", "ToolBlock", "TranscriptBlock", "UserBlock"]

LONGEST_PROMPT = 20
"""Longer user messages are folded, in lines."""
FOLDED_PROMPT = 10
"""Lines shown of a folded message."""

_MARKS: dict[NoticeLevel, str] = {"info": "· ", "warning": "! ", "error": "✗ "}


class UserBlock(TranscriptBlock):
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
    def shown(self) -> str:
        """Return the visible part of the text."""
        lines = self.text.rstrip().split("\n")
        if not self._folded:
            return "\n".join(lines)
        more = len(lines) - FOLDED_PROMPT
        return "\n".join([*lines[:FOLDED_PROMPT], f"… {more:,} more lines"])

    def guess(self, width: int) -> int:
        return self.gap + guess_height(self.shown, width) if self._folded and not self.hidden else super().guess(width)

    def make_parts(self) -> list[BlockPart]:
        return [FunctionPart(self._draw, lambda width: guess_height(self.shown, width - 2), lambda: self.text)]

    def _draw(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        text = expand_tabs(self.shown)
        mark = styles.on_base("user-mark")
        lines = wrap_runs(linked([(text, styles.on_base("user"))], styles.options.root, styles["link"]), width - 2)
        return filled(indented(lines, ("❯ ", mark), ("  ", mark)), styles.on_base("user"))


class NoticeBlock(TranscriptBlock):
    """A notice from cinch."""

    def __init__(self, text: str, level: NoticeLevel = "info") -> None:
        super().__init__()
        self.text = as_sentence(escape_controls(text))
        self.level: NoticeLevel = level

    @property
    def source(self) -> str:
        return self.text

    def make_parts(self) -> list[BlockPart]:
        return [FunctionPart(self._draw, lambda width: guess_height(self.text, width - 2), lambda: self.text)]

    @property
    def is_grouped(self) -> bool:
        return True

    def _draw(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        style = styles.on_base(self.level)
        text = expand_tabs(self.text.rstrip())
        runs = linked([(text, style)], styles.options.root, styles["link"])
        return indented(wrap_runs(runs, width - 2), (_MARKS[self.level], style), ("  ", style))


def as_sentence(text: str) -> str:
    """Capitalize the text if it begins with a plain word; file and command names stay unchanged."""
    first = text.partition(" ")[0].rstrip(":;,")
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def transcript_text(blocks: Iterable[TranscriptBlock]) -> str:
    """Return all blocks as text, folded or not."""
    return "\n\n".join(text for text in _texts(blocks) if text.strip()) + "\n"


def _texts(blocks: Iterable[TranscriptBlock]) -> Iterator[str]:
    for block in blocks:
        text = plain_output(block.source).strip("\n")
        match block:
            case UserBlock():
                yield indent(text, "> ", lambda _: True)
            case ThinkingBlock():
                yield indent(text, "| ", lambda _: True)
            case ToolBlock():
                yield f"* {plain_output(block.headline)} ({block.outcome})\n{indent(text, '    ')}"
            case NoticeBlock():
                yield f"- {text}"
            case _:
                yield text
