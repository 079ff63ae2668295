"""Transcript blocks for user messages, notices, sources and side questions; re-exports replies and tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import indent

from msgspec.structs import replace
from rich.style import Style

from cinch_tui.rendering.safe_text import expand_tabs, plain_output
from cinch_tui.reports.citations import Source, sources_text
from cinch_tui.reports.notices import NoticeLevel
from cinch_tui.transcript.block import BlockPart, FunctionPart, TranscriptBlock, guess_height
from cinch_tui.transcript.lines import StyledLine, filled, indented, plain_line, wrap_runs
from cinch_tui.transcript.links import linked
from cinch_tui.transcript.markdown_splitter import Splitter
from cinch_tui.transcript.replies import PiecePart, ReplyBlock, ThinkingBlock
from cinch_tui.transcript.styles import BlockStyles
from cinch_tui.transcript.tool_block import ToolBlock
from harness.terminal_text import FragmentEscaper, escape_controls

__all__ = ["NoticeBlock", "ReplyBlock", "ThinkingBlock", "ToolBlock", "TranscriptBlock", "UserBlock"]

LONGEST_PROMPT = 20
"""Longer user messages are folded, in lines."""
FOLDED_PROMPT = 10
"""Lines shown of a folded message."""

FEW_SOURCES = 5
"""Longer lists of sources are folded."""
SIDE_QUESTION_HEADING = "Side question · not part of the conversation"

_MARKS: dict[NoticeLevel, str] = {"info": "· ", "warning": "! ", "error": "✗ "}
_TAG = re.compile(r"<(/?)([a-z_]+)(?: [^>]*)?>")


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


class SummaryBlock(NoticeBlock):
    """A notice about a summary, folded to one line; unfolded, it shows the summary below."""

    def __init__(self, text: str, summary: str) -> None:
        super().__init__(text)
        self.summary = escape_controls(summary_markdown(summary))
        self._folded = True

    @property
    def source(self) -> str:
        return f"{self.text}\n\n{self.summary}"

    @property
    def foldable(self) -> bool:
        return True

    def guess(self, width: int) -> int:
        return self.gap + 1 if self.folded and not self.hidden else super().guess(width)

    def make_parts(self) -> list[BlockPart]:
        headline = FunctionPart(self._draw_headline, lambda width: guess_height(self.text, width - 2))
        if self.folded:
            return [headline]
        body = FunctionPart(
            self._draw_summary, lambda width: guess_height(self.summary, width - 2), lambda: self.summary
        )
        return [headline, body]

    def _draw_headline(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        style = styles.on_base(self.level) + (styles["cursor"] if self.selected else Style.null())
        mark = ("▸ " if self.folded else "▾ ", style)
        return indented(wrap_runs([(expand_tabs(self.text), style)], width - 2), mark, ("  ", style))

    def _draw_summary(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        bar = ("│ ", styles.on_base("muted"))
        return indented(_answer_lines(self.summary, styles, max(1, width - 2)), bar, bar)


class HookContextBlock(SummaryBlock):
    """A notice about what a hook tells the model, folded to one line; unfolded, it shows the text below."""

    def _draw_summary(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        muted = styles.on_base("muted")
        return indented(
            wrap_runs([(expand_tabs(self.summary), muted)], max(1, width - 2)), ("│ ", muted), ("│ ", muted)
        )


def summary_markdown(text: str) -> str:
    """Return a summary for the model as Markdown: its tags become headings."""
    lines = text.split("\n")
    if not lines[0].startswith("<context_summary>"):
        return text
    # The first two lines and the last one address the model.
    return "\n".join(map(_without_tag, lines[2:-1])).strip()


def _without_tag(line: str) -> str:
    if not (tag := _TAG.fullmatch(line)):
        return line
    is_heading = not tag[1] and tag[2] not in ("message", "command")
    return f"\n**{tag[2].replace('_', ' ').capitalize()}**\n" if is_heading else ""


def as_sentence(text: str) -> str:
    """Capitalize the text if it begins with a plain word; file and command names stay unchanged."""
    first = text.partition(" ")[0].rstrip(":;,")
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


class SourcesBlock(TranscriptBlock):
    """Numbered links; a long list is folded to its first entries."""

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__()
        self.sources = tuple(sources)
        self._folded = len(self.sources) > FEW_SOURCES

    @property
    def source(self) -> str:
        return escape_controls(sources_text(self.sources))

    @property
    def foldable(self) -> bool:
        return len(self.sources) > FEW_SOURCES

    @property
    def shown(self) -> Sequence[Source]:
        return self.sources[:FEW_SOURCES] if self._folded else self.sources

    def guess(self, width: int) -> int:
        return self.heights.total if self._open_width == width else self.gap + 1 + len(self.shown)

    def make_parts(self) -> list[BlockPart]:
        # One part, so that a click on any line without a link toggles the list.
        return [
            FunctionPart(self._draw, lambda _: 1 + len(self.shown), lambda: escape_controls(sources_text(self.shown)))
        ]

    def _draw(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        dim = styles.on_base("muted")
        cursor = styles["cursor"] if self.selected else Style.null()
        mark = ("▸ " if self.folded else "▾ ") if self.foldable else ""
        digits = len(str(max((each.number for each in self.shown), default=0)))
        lines = [plain_line(f"{mark}Sources", dim + cursor)]
        for source in self.shown:
            lines.extend(_source_lines(source, digits, styles, width))
        if rest := len(self.sources) - len(self.shown):
            lines.append(plain_line(f"  … {rest} more", dim))
        return lines


def _source_lines(source: Source, digits: int, styles: BlockStyles, width: int) -> list[StyledLine]:
    dim = styles.on_base("muted")
    label, host = escape_controls(source.label), escape_controls(source.host)
    linked = dim + Style(underline=True, link=source.link) if source.link else dim
    where = f" – {host}" if host and host not in label else ""
    number = f"  {source.number:>{digits}} "
    lines = indented(
        wrap_runs([(label, linked), (where, dim)], max(1, width - len(number))),
        (number, dim),
        (" " * len(number), dim),
    )
    # The number is part of the text, the indentation below it is not.
    lines[0] = replace(lines[0], gutter=2)
    # A copied line includes the URL.
    lines[-1] = replace(lines[-1], end=f" {source.link}\n" if source.link else "\n")
    return lines


class SideQuestionBlock(TranscriptBlock):
    """A question and its Markdown answer, which is streamed, behind a bar and below a heading."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self.question = escape_controls(question)
        self.answer = ""
        self.ending = ""
        self.finished = False
        self._escaper = FragmentEscaper()

    @property
    def source(self) -> str:
        return f"{self.question}\n\n{self.answer}"

    @property
    def growing(self) -> bool:
        return not self.finished

    def append(self, fragment: str) -> None:
        self.answer += self._escaper.add(fragment)

    def finish(self, ending: str = "") -> None:
        """Mark the answer as complete; `ending` is an optional warning below it."""
        self.finished = True
        self.answer += self._escaper.end()
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
        heading = plain_line(SIDE_QUESTION_HEADING[:inner], styles.on_base("muted"))
        lines = [heading, *question, *_answer_lines(self.answer, styles, inner)]
        if self.ending:
            lines += wrap_runs([(self.ending, styles.on_base("warning"))], inner)
        bar = ("┊ ", styles.on_base("running"))
        return indented(lines, bar, bar)


def _answer_lines(answer: str, styles: BlockStyles, width: int) -> list[StyledLine]:
    splitter = Splitter()
    splitter.feed(answer)
    lines: list[StyledLine] = []
    for piece in splitter.finish():
        lines += PiecePart(piece, splitter.references, apart=bool(lines)).draw(styles, width)
    return lines


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
