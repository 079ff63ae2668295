"""Block of a side question and its answer, visible to the user only and not part of the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style

from cinch_tui.rendering.safe_text import expand_tabs
from cinch_tui.transcript.block import Block, Part, guess_height
from cinch_tui.transcript.lines import Line, indented, plain_line, wrap_runs
from cinch_tui.transcript.markdown_splitter import Splitter
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.transcript.styles import BlockStyles

HEADING = "Aside · not part of the conversation"


class SideQuestionBlock(Block):
    """Behind a bar of its own, under a word on what it is; the answer is Markdown that may still grow."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self.question = escape_controls(question)
        self.answer = ""
        self.ending = ""
        self.finished = False

    @property
    def source(self) -> str:
        return f"{self.question}\n\n{self.answer}"

    @property
    def growing(self) -> bool:
        return not self.finished

    def append(self, fragment: str) -> None:
        self.answer += escape_controls(fragment)

    def finish(self, ending: str = "") -> None:
        """There will be no more; `ending` says why that is worth a word."""
        self.finished = True
        self.ending = escape_controls(ending)

    def make_parts(self) -> list[Part]:
        return [_AsidePart(self)]


class _AsidePart(Part):
    __slots__ = ("_block",)

    def __init__(self, block: SideQuestionBlock) -> None:
        super().__init__()
        self._block = block

    @property
    def text(self) -> str:
        return self._block.source

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        block, dim = self._block, look.on_base("muted")
        inner = max(1, width - 2)
        asked = wrap_runs([(expand_tabs(block.question), look.on_base("strong"))], inner)
        lines = [*_heading(dim, inner), *asked, *_answer_lines(block.answer, look, inner)]
        if block.ending:
            lines += wrap_runs([(block.ending, look.on_base("warning"))], inner)
        bar = ("┊ ", look.on_base("running"))
        return indented(lines, bar, bar)

    def guess(self, width: int) -> int:
        return 1 + guess_height(self._block.source, max(1, width - 2))


def _heading(style: Style, width: int) -> list[Line]:
    # Not part of the conversation.
    return [plain_line(HEADING[:width], style)]


def _answer_lines(answer: str, look: BlockStyles, width: int) -> list[Line]:
    # Late: Markdown is not needed before there is some to see.
    from cinch_tui.transcript.markdown import Page, piece_lines

    splitter = Splitter()
    splitter.feed(answer)
    lines: list[Line] = []
    for piece in splitter.finish():
        lines += piece_lines(piece, splitter.references, Page(look, width))
    return lines
