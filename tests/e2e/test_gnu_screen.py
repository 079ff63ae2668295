from __future__ import annotations

import os
import re
import signal
import sys

import pytest
from fakes.script import Reply

pytestmark = pytest.mark.pty

IN_SCREEN = (
    "/usr/bin/env",
    "COLORTERM=truecolor",
    "TERM=screen-256color",
    "STY=1.pts-0.host",
    sys.executable,
    "-m",
    "cinch_tui",
)
EMPTIED, LEFT = b"\x1b[H\x1b[J", b"\x1b[?1049l"
SLANTED = re.compile(rb"\x1b\[(?:[0-9]+;)*3(?:;[0-9]+)*m")


@pytest.fixture
def app(terminal, serve):
    server = serve([Reply("This word is *slanted* and **bold**.")])
    app = terminal(program=IN_SCREEN, env={"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"})
    app.see("Ask for a change")
    return app


def test_shell_screen_is_cleared_without_an_alternate_screen(app):
    app.type("\x11")
    app.wait()

    assert app.raw.rindex(EMPTIED) < app.raw.rindex(LEFT)


def test_shell_screen_is_cleared_after_a_kill(app):
    app.settle()
    before = len(app.raw)

    os.kill(app.pid, signal.SIGKILL)

    app.until(lambda: LEFT in app.raw[before:], "the screen to be left")
    assert EMPTIED in app.raw[before : app.raw.rindex(LEFT)]


def test_mouse_is_disabled_where_it_would_delay_esc(app):
    app.settle()

    assert b"\x1b[?1000h" not in app.raw


def test_colours_are_limited_to_those_of_screen(app):
    app.written(b"48;5;")

    assert b"8;2;" not in app.raw


def test_no_italics_where_they_would_swap_colours(app):
    app.enter("hello")

    app.see("This word is slanted and bold")

    assert not SLANTED.search(app.raw)
