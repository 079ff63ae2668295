from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinch_tui.transcript import markdown_splitter as splitting
from cinch_tui.transcript.blocks import ReplyBlock
from cinch_tui.transcript.markdown import DrawContext, element_lines
from cinch_tui.transcript.markdown_splitter import parser
from cinch_tui.transcript.styles import BlockStyles

WIDTH = 40
LOOK = BlockStyles.bare()

LINES = [
    "",
    "",
    "words of a paragraph",
    "more words, *some* **loud** and `code`",
    "# Heading",
    "#no heading",
    "===",
    "---",
    "- item",
    "- ",
    "* starred",
    "+ plus",
    "  - nested",
    "  under the item",
    "      indented far",
    "1. first",
    "2. second",
    "7) seventh",
    "10. tenth",
    "> quoted",
    "> - in the quote",
    ">",
    "```python",
    "```",
    "````",
    "~~~",
    "~~~~ text",
    "def f(): pass",
    "    indented code",
    "\tby a tab",
    "| a | b |",
    "|---|--:|",
    "| 1 | 2 |",
    "<div>",
    "</div>",
    "<!-- open",
    "-->",
    "[link] and [link][other]",
    "[link]: https://example.org",
    "[other]:",
    "https://example.com",
    "'title'",
    "***",
    "hard  ",
    "break\\",
    "中文，字符。",
    "\x1b[31mred\x07",
]

documents = st.lists(st.sampled_from(LINES), max_size=24).map("\n".join)


def at_once(text: str) -> list[str]:
    return [line.text for line in element_lines(parser().parse(text), DrawContext(LOOK, WIDTH))]


def drawn(block: ReplyBlock) -> list[str]:
    block.gap = False
    block.open(LOOK, WIDTH)
    return [line.text for part in block.parts for line in part.lines(LOOK, WIDTH)]


def streamed(chunks: list[str]) -> ReplyBlock:
    block = ReplyBlock()
    block.gap = False
    for chunk in chunks:
        block.append(chunk)
        while block.advance(LOOK, WIDTH):
            pass
    block.finish()
    while block.advance(LOOK, WIDTH):
        pass
    return block


def cut(text: str, places: list[int]) -> list[str]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(edges)]


@settings(max_examples=400, deadline=None)
@given(documents, st.lists(st.integers(0, 2000), max_size=40))
def test_any_chunking_gives_the_picture_of_the_whole_text(text: str, places: list[int]) -> None:
    block = streamed(cut(text, places))

    assert drawn(block) == at_once(block.source)


@settings(max_examples=200, deadline=None)
@given(documents, st.lists(st.integers(0, 2000), max_size=40))
def test_code_taken_apart_gives_the_picture_of_the_whole_text(text: str, places: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "CHUNK_LINES", 2)
        block = streamed(cut(f"```python\n{text}", places))

        assert drawn(block) == at_once(block.source)


@settings(max_examples=100, deadline=None)
@given(documents)
def test_one_character_at_a_time_gives_the_picture_of_the_whole_text(text: str) -> None:
    block = streamed(list(text))

    assert drawn(block) == at_once(block.source)


@settings(max_examples=100, deadline=None)
@given(documents.filter(lambda text: "]:" not in text), st.integers(0, 400))
def test_unfinished_text_is_shown_whole(text: str, length: int) -> None:
    block = ReplyBlock()
    block.gap = False

    for character in text[:length]:
        block.append(character)
        block.advance(LOOK, WIDTH)

    assert drawn(block) == at_once(block.source)
