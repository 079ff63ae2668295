from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cinch_tui.config.tables.ui import Images
from cinch_tui.terminal.background import ReplyParser, TerminalImages
from cinch_tui.transcript.terminal_images import answers_queries, initial_image_mode, tmux_passes_images


@pytest.mark.parametrize(
    ("wanted", "colours", "way"),
    [
        ("auto", "truecolor", "blocks"),
        ("auto", "256", "blocks"),
        ("auto", "standard", "off"),
        ("auto", None, "off"),
        ("off", "truecolor", "off"),
        ("kitty", "truecolor", "kitty"),
        # The number of a picture is a colour: with fewer of them it would be another's.
        ("kitty", "256", "off"),
        ("blocks", None, "off"),
    ],
)
def test_initial_image_protocol(wanted: Images, colours: str | None, way: str) -> None:
    assert initial_image_mode(wanted, colours) == way


@pytest.mark.parametrize(
    ("environ", "may"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-ghostty"}, True),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, False),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1", "TMUX": "x"}, False),
        ({"TERM": "screen", "KITTY_WINDOW_ID": "1", "STY": "x"}, False),
        ({}, False),
    ],
)
def test_only_terminals_that_do_not_print_the_query_are_queried(environ: Mapping[str, str], may: bool) -> None:
    assert answers_queries(environ) is may


@pytest.mark.parametrize("cut", [0, 2, 3, 9, 11])
def test_an_answer_is_received_wherever_it_is_cut_and_never_typed(cut: int) -> None:
    parser, answer = ReplyParser(), "\x1b_Gi=31;OK\x1b\\"

    heard = [*parser.feed("a"), *parser.feed(answer[:cut] or "b"), *parser.feed(answer[cut:]), *parser.feed("c")]

    keys = [event.character for event in heard if hasattr(event, "character")]
    assert sum(isinstance(event, TerminalImages) for event in heard) == 1
    assert keys == (["a", "c"] if cut else ["a", "b", "c"])


@pytest.mark.parametrize(
    ("version", "shows"),
    [("kitty(0.26.5)", False), ("kitty(0.28.0)", True), ("kitty(1.0.1)", True), ("ghostty 1.0.0", True)],
)
@pytest.mark.parametrize("cut", [0, 2, 3, 4, 9, 18, 25])
def test_a_kitty_that_has_no_pictures_in_cells_shows_none(version: str, shows: bool, cut: int) -> None:
    parser, answer = ReplyParser(), f"\x1bP>|{version}\x1b\\\x1b_Gi=31;OK\x1b\\"

    heard = [*parser.feed(answer[:cut] or "b"), *parser.feed(answer[cut:]), *parser.feed("c")]

    assert any(isinstance(event, TerminalImages) for event in heard) is shows
    assert [event.character for event in heard if hasattr(event, "character")] == (["c"] if cut else ["b", "c"])


def test_a_negative_answer_is_consumed_and_shows_nothing() -> None:
    heard = list(ReplyParser().feed("\x1b_Gi=31;ENOTSUPPORTED:no\x1b\\"))

    assert heard == []


@pytest.mark.parametrize(
    ("said", "hands_on"),
    [("on xterm-kitty", True), ("all xterm-ghostty", True), ("off xterm-kitty", False), ("on xterm-256color", False)],
)
def test_tmux_is_queried_for_its_options_and_clients(
    said: str, hands_on: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmux = tmp_path / "tmux"
    tmux.write_text(f"#!/bin/sh\necho {said}\n")
    tmux.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert tmux_passes_images() is hands_on
