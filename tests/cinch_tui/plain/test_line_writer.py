from __future__ import annotations

import asyncio
import io

from cinch_tui.plain.line_writer import LineWriter, LiveOutput
from harness.views import TerminalView


def test_messages_are_on_separate_lines():
    out = io.StringIO()
    paper = LineWriter(out)

    paper.begin("Assistant")
    paper.add("Let me lo")
    paper.add("ok at")
    paper.write("Tool", "bash ls\nthere")
    paper.add(" more\n\n  code\n")
    paper.end()

    assert out.getvalue() == "Assistant: Let me look at\nTool: bash ls\n  there\n  more\n\n    code\n"


def test_words_are_written_whole():
    out = io.StringIO()
    paper = LineWriter(out)
    paper.begin("Assistant")

    paper.add("Let me lo")
    before = out.getvalue()
    paper.add("ok ")

    assert before == "Assistant: Let me "
    assert out.getvalue() == "Assistant: Let me look "


def test_nothing_is_written_into_a_line_that_is_typed():
    out = io.StringIO()
    paper = LineWriter(out)
    paper.begin("Assistant")
    paper.add("I will ")

    paper.pause("steer> ")
    paper.add("go on ")
    paper.write("Notice", "hear")
    meanwhile = out.getvalue()
    paper.resume()

    assert meanwhile == "Assistant: I will \nsteer> "
    assert out.getvalue() == "Assistant: I will \nsteer>   go on \nNotice: hear\n"


def test_control_sequences_are_made_visible_even_in_two_halves():
    out = io.StringIO()
    paper = LineWriter(out)

    paper.begin("Assistant")
    paper.add("\x1b")
    paper.add("[2J ")
    paper.write("Tool", "\x9b31m")

    assert "\x1b" not in out.getvalue()
    assert "\x9b" not in out.getvalue()


def test_a_reader_that_goes_away_is_reported_once():
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    reported: list[str] = []
    paper = LineWriter(Closed())
    paper.on_failure = lambda: reported.append("gone")

    paper.write("Notice", "one")
    paper.write("Notice", "two")

    assert reported == ["gone"]
    assert paper.failed


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bell_is_in_no_line_and_does_not_wait_for_the_end_of_one():
    stream = Tty()
    paper = LineWriter(stream)

    paper.pause("You: ")
    paper.bell()
    paper.write("Notice", "later")

    assert stream.getvalue() == "You: \x07"


def test_a_file_is_not_rung():
    stream = io.StringIO()

    LineWriter(stream).bell()

    assert stream.getvalue() == ""


MOST = 5
WHOLE = 8_000


class Command:
    """A command whose output grows, seen through the window that the tool shows."""

    def __init__(self, *, pace: float = 0.0, window: int = WHOLE) -> None:
        self.out = io.StringIO()
        self.paper = LineWriter(self.out)
        self.live = LiveOutput(self.paper, lambda: "Output", most=MOST, pace=pace)
        self._window = window
        self._printed = ""

    @property
    def view(self) -> TerminalView:
        shown = self._printed[-self._window :]
        return TerminalView("make", shown, left_out=len(self._printed) - len(shown) or None)

    def prints(self, text: str) -> None:
        self._printed += text
        self.live.update(self.view)

    async def shows(self, text: str) -> None:
        async with asyncio.timeout(10):
            while text not in self.out.getvalue():
                await asyncio.sleep(0)


async def test_each_complete_line_is_printed_once():
    command = Command()
    command.prints("one\ntw")
    await command.shows("one")
    assert "tw" not in command.out.getvalue()

    command.prints("o\ntwo\n")
    await command.shows("two")
    command.prints("end")
    command.live.finish(command.view)

    assert command.out.getvalue() == "Output: one\nOutput: two\n  two\nOutput: end\n"


async def test_the_last_lines_of_a_flood_are_printed():
    command = Command()
    command.prints("".join(f"line {number}\n" for number in range(500)))
    await command.shows("line 499")

    assert command.out.getvalue().splitlines()[:2] == [f"Output: [{500 - MOST} more lines]", "  line 495"]
    assert len(command.out.getvalue().splitlines()) == MOST + 1


async def test_lines_that_the_window_has_lost_are_reported_as_left_out():
    command = Command(window=100)
    command.prints("first\n")
    await command.shows("first")

    command.prints("tick\n" * 100)
    await command.shows("tick")

    assert command.out.getvalue() == "Output: first\nOutput: [lines left out]\n" + "  tick\n" * MOST


async def test_equal_lines_are_all_printed_when_the_window_moves():
    command = Command(window=12)
    for number in range(1, 6):
        command.prints("tick\n")
        async with asyncio.timeout(10):
            while command.out.getvalue().count("tick") < number:
                await asyncio.sleep(0)

    assert command.out.getvalue() == "Output: tick\n" * 5


async def test_output_waits_while_the_user_types_a_line():
    command = Command()
    command.paper.pause("steer> ")
    command.prints("one\n")
    for _ in range(50):
        await asyncio.sleep(0)
    meanwhile = command.out.getvalue()
    command.paper.resume()
    await command.shows("one")

    assert meanwhile == "steer> "
    assert command.out.getvalue() == "steer> Output: one\n"


async def test_command_that_ends_at_once_prints_nothing_live():
    command = Command(pace=3600)
    command.prints("one\n")
    command.live.finish(command.view)

    assert not command.live.has_printed
    assert command.out.getvalue() == ""
