"""Block of a side question and its answer, visible to the user only and not part of the history."""

from __future__ import annotations

from cinch_tui.rendering.safe_text import expand_tabs
from cinch_tui.transcript.block import BlockPart, FunctionPart, TranscriptBlock, guess_height
from cinch_tui.transcript.lines import StyledLine, indented, plain_line, wrap_runs
from cinch_tui.transcript.markdown_splitter import Splitter
from cinch_tui.transcript.styles import BlockStyles
from harness.terminal_text import escape_controls

HEADING = "Aside · not part of the conversation"


class SideQuestionBlock(TranscriptBlock):
    """A question and its Markdown answer, which is streamed, behind a bar and below a heading."""

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
        """Mark the answer as complete; `ending` is an optional warning below it."""
        self.finished = True
        self.ending = escape_controls(ending)

    def make_parts(self) -> list[BlockPart]:
        return [
            FunctionPart(
                self._draw, lambda width: 1 + guess_height(self.source, max(1, width - 2)), lambda: self.source
            )
        ]

    def _draw(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        inner = max(1, width - 2)
        question = wrap_runs([(expand_tabs(self.question), styles.on_base("strong"))], inner)
        heading = plain_line(HEADING[:inner], styles.on_base("muted"))
        lines = [heading, *question, *_answer_lines(self.answer, styles, inner)]
        if self.ending:
            lines += wrap_runs([(self.ending, styles.on_base("warning"))], inner)
        bar = ("┊ ", styles.on_base("running"))
        return indented(lines, bar, bar)


def _answer_lines(answer: str, styles: BlockStyles, width: int) -> list[StyledLine]:
    # Late import: not needed before the first answer.
    from cinch_tui.transcript.markdown import DrawContext, piece_lines

    splitter = Splitter()
    splitter.feed(answer)
    lines: list[StyledLine] = []
    for piece in splitter.finish():
        lines += piece_lines(piece, splitter.references, DrawContext(styles, width))
    return lines
