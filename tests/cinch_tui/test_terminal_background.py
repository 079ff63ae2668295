from __future__ import annotations

from pathlib import Path

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key
from textual.message import Message

from cinch_tui.terminal.background import ReplyParser, TerminalBackground, guess, remember

LIGHT, DARK = "\x1b]11;rgb:fdfd/f6f6/e3e3\x1b\\", "\x1b]11;rgb:00/2b/36\x07"


def said(messages: list[Message]) -> list[bool | str | None]:
    return [
        message.dark if isinstance(message, TerminalBackground) else message.key
        for message in messages
        if isinstance(message, TerminalBackground | Key)
    ]


def fed(*chunks: str) -> list[bool | str | None]:
    parser = ReplyParser()
    return said([message for chunk in chunks for message in (*parser.feed(chunk), *parser.tick())])


@pytest.mark.parametrize(
    ("reply", "dark"),
    [
        (LIGHT, False),
        (DARK, True),
        ("\x1b]11;rgba:0000/0000/0000/ffff\x1b\\", True),
        ("\x1b[?997;1n", True),
        ("\x1b[?997;2n", False),
    ],
)
def test_reply_is_received_and_not_typed(reply: str, *, dark: bool):
    assert fed(f"a{reply}b") == [dark, "a", "b"]


@pytest.mark.parametrize("place", range(2, len(LIGHT)))
def test_reply_may_come_in_pieces(place: int):
    assert fed(LIGHT[:place], LIGHT[place:], "b") == [False, "b"]


@pytest.mark.parametrize(
    "chunks", [("\x1b]", "x\x1b[A"), ("\x1b[?9", "7h", "b"), ("\x1b", "[A"), ("\x1b]11;" + "y" * 60,)]
)
def test_input_that_only_starts_like_a_terminal_reply_is_typed(chunks: tuple[str, ...]):
    parser = XTermParser()
    plain = said([message for chunk in chunks for message in (*parser.feed(chunk), *parser.tick())])

    assert fed(*chunks) == plain


def test_withheld_escape_is_a_key_after_the_timeout(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("cinch_tui.terminal.background.REPLY_TIMEOUT_S", -1.0)
    parser = ReplyParser()
    list(parser.feed("\x1b]"))

    list(parser.tick())

    assert said(list(parser.feed(LIGHT[2:]))) != [False]


def test_empty_answer_changes_nothing():
    assert fed("\x1b]11;\x1b\\", "b") == ["b"]


@pytest.mark.parametrize(("ground", "dark"), [("15;0", True), ("0;15", False), ("0;default;7", False), ("12;8", True)])
def test_the_environment_distinguishes_dark_from_light(tmp_path: Path, ground: str, *, dark: bool):
    assert guess({"COLORFGBG": ground}, tmp_path / "none") is dark


def test_the_reported_background_is_the_next_guess(tmp_path: Path):
    file, light, other = tmp_path / "background.json", {"TERM": "xterm"}, {"TERM": "foot"}

    remember(light, file, dark=False)

    assert (guess(light, file), guess(other, file)) == (False, True)


@pytest.mark.parametrize("text", ["", "[]", '{"xterm": 3}', "no json"])
def test_spoilt_memory_is_none(tmp_path: Path, text: str):
    (tmp_path / "background.json").write_text(text)

    assert guess({"TERM": "xterm"}, tmp_path / "background.json") is True
