from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style

from cinch_tui.transcript.lines import StyledLine, plain_line
from cinch_tui.transcript.painting import Highlight, difference, paint_line

PLAIN, BOLD = Style(), Style(bold=True)

words = st.lists(st.sampled_from([*"ab 中👍", "e\u0301"]), min_size=1, max_size=6).map("".join)
lines = st.lists(st.tuples(words, st.sampled_from([PLAIN, BOLD])), max_size=4).map(
    lambda runs: StyledLine(tuple(Segment(*run) for run in runs))
)


@given(lines, lines)
def test_cells_outside_the_difference_are_equal(before: StyledLine, after: StyledLine) -> None:
    start, cells = difference(before, after, 60)

    old, new = paint_line(before, 60, PLAIN), paint_line(after, 60, PLAIN)

    assert cells > 0 or before == after
    assert old.crop(0, start) == new.crop(0, start)
    assert old.crop(start + cells) == new.crop(start + cells)


def test_a_word_more_sends_only_that_word() -> None:
    assert difference(plain_line("one two", PLAIN), plain_line("one two three", PLAIN), 80) == (7, 6)


def test_another_background_sends_the_whole_row() -> None:
    assert difference(StyledLine((), fill=BOLD), StyledLine((), fill=PLAIN), 80) == (0, 80)


def test_marked_characters_keep_their_own_style_too() -> None:
    line = StyledLine((Segment("ab", BOLD), Segment("cd", PLAIN)))

    strip = paint_line(line, 5, PLAIN, [Highlight(1, 3, Style(reverse=True))])

    assert [(segment.text, segment.style) for segment in strip] == [
        ("a", BOLD),
        ("b", BOLD + Style(reverse=True)),
        ("c", Style(reverse=True)),
        ("d ", PLAIN),
    ]


EMPTY = """
import asyncio, sys
from textual.app import App
from cinch_tui.transcript.view import Transcript
from cinch_tui.transcript import blocks, history_blocks

class Empty(App):
    def compose(self):
        yield Transcript()

async def main():
    app = Empty()
    async with app.run_test():
        await app.query_one(Transcript).drained()
        print(sorted({"markdown_it", "pygments", "rich.markdown", "httpx"} & set(sys.modules)))
        from cinch_tui.app.preload import draw_samples
        draw_samples()
        before = set(sys.modules)
        view = app.query_one(Transcript)
        view.add(blocks.ReplyBlock("# A\\n\\n- b\\n\\n```python\\nimport os\\n```"))
        await view.drained()
        print(sorted(set(sys.modules) - before))

asyncio.run(main())
"""


def test_an_empty_conversation_loads_nothing_that_draws_replies_and_a_warm_one_everything() -> None:
    done = subprocess.run([sys.executable, "-c", EMPTY], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["[]", "[]"]
