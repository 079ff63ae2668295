from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.output import cleaned
from tools.terminal_keys import characters_of, typed_characters
from tools.terminal_screen import TerminalScreen

ENTER, LEAVE = b"\x1b[?1049h\x1b[22;0;0t", b"\x1b[?1049l\x1b[23;0;0t"
VIM = (
    ENTER + b"\x1b[>4;2m\x1b[?1h\x1b=\x1b[?2004h\x1b[1;5r\x1b[?12h\x1b[27m\x1b[m\x1b[H\x1b[2J\x1b[?25l\x1b[5;1H"
    b'"f" 2 lines\x1b[1;1H1\r\n2\r\n\x1b[94m~                   \x1b[4;1H~\x1b[m\x1b[2;1H\x1b[?25h\x1b[?4m'
)
MENU = b"? Framework\r\n> vue\r\n  react\r\n"
MENU_DOWN = b"\x1b[2A\x1b[2K  vue\r\n\x1b[2K> react\r\n"
MENU_DONE = b"\x1b[3A\x1b[J? Framework: react\r\nScaffolding\r\n"


class Terminal:
    def __init__(self, rows: int = 5, columns: int = 20) -> None:
        self.output = b""
        self.replies = b""
        self.screen = TerminalScreen(rows, columns, self._print, self._reply)

    def feed(self, *chunks: bytes) -> Terminal:
        for chunk in chunks:
            self.screen.feed(chunk)
        return self

    @property
    def lines(self) -> list[str]:
        return cleaned(self.output.decode()).splitlines()

    @property
    def rows(self) -> list[str]:
        assert self.screen.drawn
        return self.screen.drawn.rows

    def _print(self, data: bytes) -> None:
        self.output += data

    def _reply(self, data: bytes) -> None:
        self.replies += data


def test_lines_pass_unchanged_and_without_an_emulator() -> None:
    data = b"one\r\n\x1b[32mtwo\x1b[0m\r\n\x1b[?2004h>>> \x1b[1G\x1b[0K$ " + "é".encode()
    terminal = Terminal().feed(data[:10], data[10:12], data[12:])

    assert terminal.output == data
    assert terminal.screen.drawn is None


def test_editor_on_the_alternate_screen_leaves_nothing_behind() -> None:
    terminal = Terminal().feed(b"before\r\n" + VIM)
    rows, is_alternate = terminal.rows, terminal.screen.is_alternate
    position = terminal.screen.drawn and terminal.screen.drawn.position
    terminal.feed(b"\x1b[5;1H:q\r" + LEAVE + b"after\r\n")

    assert rows == ["1", "2", "~", "~", '"f" 2 lines']
    assert (position, is_alternate) == ((2, 1), True)
    assert terminal.screen.drawn is None
    assert terminal.lines == ["before", "after"]


def test_menu_on_the_main_screen_shows_its_present_state_and_leaves_its_last() -> None:
    terminal = Terminal().feed(b"$ create\r\n", MENU, MENU_DOWN)
    drawn = terminal.rows
    terminal.feed(MENU_DONE)
    terminal.screen.close()

    assert drawn == ["$ create", "? Framework", "  vue", "> react", ""]
    assert terminal.lines[-2:] == ["? Framework: react", "Scaffolding"]


def test_lines_that_scroll_off_a_drawn_screen_stay_in_order() -> None:
    numbers = [f"{number}" for number in range(9)]
    terminal = Terminal().feed(b"a\r\nb\r\n", b"bar 10%\r\n\x1b[1A\x1b[2Kbar 99%\r\n")
    terminal.feed("".join(f"{number}\r\n" for number in numbers).encode())

    assert terminal.screen.drawn is None
    assert terminal.lines[-10:] == ["bar 99%", *numbers]
    assert terminal.lines[:2] == ["a", "b"]


def test_editor_opened_from_a_drawn_screen_returns_to_it() -> None:
    terminal = Terminal().feed(b"\x1b[2J\x1b[Hmenu", VIM, LEAVE)

    assert terminal.rows[0] == "menu"


def test_queries_are_answered() -> None:
    assert Terminal().feed(b"ab\x1b[6n").replies == b"\x1b[1;3R"


def test_sequences_that_other_emulators_lack() -> None:
    terminal = Terminal().feed(
        ENTER + b"\x1b[H-\x1b[3b\r\n\x1b(0lqk\x1b(B\r\n\x1b]8;;http://x\x1b\\link\x1b[3;4r\x1b[S"
    )

    assert terminal.rows[:3] == ["----", "┌─┐", ""]


def test_characters_of_all_widths_are_shown() -> None:
    terminal = Terminal().feed(ENTER + "a\u200bb é e\u0301 漢 👩\u200d💻 ok".encode())

    assert terminal.rows[0] == "ab é é 漢 👩💻 ok"


@given(cuts=st.lists(st.integers(0, 400), max_size=20))
def test_any_chunking_shows_the_same(cuts: list[int]) -> None:
    data = b"$ vi\r\n" + VIM + b"\x1b[1;1Hx" + LEAVE + MENU + MENU_DOWN
    ends = sorted({*cuts, len(data)})
    terminal = Terminal().feed(*(data[start:end] for start, end in zip([0, *ends], ends, strict=False)))

    assert terminal.rows == ["$ vi", "? Framework", "  vue", "> react", ""]


def test_no_output_raises() -> None:
    chance = random.Random(7)
    parts = [b"\x1b[", b"\x1b]", b"\x1bP", b"?", b";", b"9", b"\xc2\xb2", b"\xff", b"\n", "漢".encode(), ENTER, LEAVE]
    parts += [bytes([code]) for code in range(64, 127)]
    for _ in range(300):
        terminal = Terminal().feed(*(b"".join(chance.choices(parts, k=40)) for _ in range(5)))
        terminal.screen.resize(chance.randrange(1, 9), chance.randrange(1, 30))
        terminal.feed(b"x\n" * 9)
        terminal.screen.close()


def test_an_endless_sequence_does_not_grow() -> None:
    terminal = Terminal().feed(b"\x1b]0;", *[b"x" * 1_000] * 50)

    assert sys.getsizeof(terminal.output) > 40_000


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("enter", "\r"), ("Escape", "\x1b"), ("BSpace", "\x7f"), ("PPage", "\x1b[5~"), ("page_up", "\x1b[5~"),
        ("ctrl-c", "\x03"), ("C-c", "\x03"), ("Ctrl+C", "\x03"), ("^C", "\x03"), ("ctrl-]", "\x1d"), ("M-x", "\x1bx"),
        ("alt+up", "\x1b\x1b[A"), ("shift+tab", "\x1b[Z"), ("F10", "\x1b[21~"), ("x", "x"), ("<esc>", "\x1b"),
        ("hyper", None), ("cd", None), ("", None),
    ],
)  # fmt: skip
def test_keys_are_known_by_the_names_of_common_programs(key: str, sent: str | None) -> None:
    assert characters_of(key) == sent


def test_cursor_keys_follow_the_mode_of_the_program() -> None:
    terminal = Terminal().feed(b"\x1b[?1;25h")
    application = terminal.screen.uses_application_keys
    terminal.feed(b"\x1b[?1l")

    assert characters_of("up", application=application) == "\x1bOA"
    assert not terminal.screen.uses_application_keys


def test_keys_in_a_text_are_pressed_and_other_angles_stay() -> None:
    assert typed_characters("<esc>:wq<enter> a < b <b>x</b>") == "\x1b:wq\r a < b <b>x</b>"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("(gdb) bra\a\b\b\b\x1b[Kquit\n", "(gdb) quit\n"),
        ("⠙\x1b[1G\x1b[0Kpackage name: (x) \x1b[20G", "package name: (x) "),
        ("abX\b \b\n\b\bc\n", "ab\nc\n"),
    ],
)
def test_edited_lines_are_shown_as_they_are_in_the_end(printed: str, shown: str) -> None:
    assert cleaned(printed) == shown
