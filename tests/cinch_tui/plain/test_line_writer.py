from __future__ import annotations

import io

from cinch_tui.plain.line_writer import LineWriter


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
