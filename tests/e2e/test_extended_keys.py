from __future__ import annotations

import os
import signal

import pytest

pytestmark = pytest.mark.pty

XTERM = {"XTERM_VERSION": "XTerm(379)"}
ASKED, GIVEN_BACK = b"\x1b[>4;1m", b"\x1b[>4m"
ALT, ALT_AS_BEFORE = b"\x1b[?1036;1039h", b"\x1b[?1036;1039r"


@pytest.fixture
def start(terminal):
    def start(**env: str):
        app = terminal("-m", "demo/tour", "--no-session", env=env)
        app.see("This is the tour")
        return app

    return start


def test_extended_keys_are_enabled_while_cinch_has_the_terminal(start):
    app = start(**XTERM)
    app.written(ALT)

    app.type("\x11")
    app.wait()

    assert app.raw.count(ASKED) == app.raw.count(GIVEN_BACK) == 1
    assert app.raw.index(ALT) < app.raw.index(ALT_AS_BEFORE) < app.raw.rindex(b"\x1b[?1049l")


def test_kill_disables_extended_keys(start):
    app = start(**XTERM)
    app.written(ALT)

    os.kill(app.pid, signal.SIGKILL)

    app.written(ALT_AS_BEFORE)
    app.written(GIVEN_BACK)


def test_shift_enter_inserts_a_newline_in_a_terminal_that_reports_it(start):
    app = start()

    app.type("one\x1b[27;2;13~two")

    app.see(r"one *│?\n.*two")


def test_shift_enter_inserts_a_newline_in_konsole(start):
    app = start(KONSOLE_VERSION="221203")

    app.type("one\x1bOMtwo")

    app.see(r"one *│?\n.*two")
