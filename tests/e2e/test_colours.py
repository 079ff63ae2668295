from __future__ import annotations

import re
import sys

import pytest
from fakes.script import Reply

pytestmark = pytest.mark.pty

COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")
MIXED = re.compile(rb"[34]8;[25];")
CHOSEN = re.compile(rb"\x1b\[(?:[0-9;]*;)?7(?:;[0-9;]*)?m[^\x1b]*/theme")
QUERY = b"\x1b]11;?\x1b\\"
FOLLOW, UNFOLLOW = b"\x1b[?2031h", b"\x1b[?2031l"


@pytest.fixture
def start(terminal):
    def start(*settings: str):
        program = ("/usr/bin/env", *settings, sys.executable, "-m", "cinch_tui", "-m", "demo/tour", "--no-session")
        app = terminal(program=program)
        app.see("This is the tour")
        return app

    return start


def test_no_color_writes_no_colours_and_keeps_essential_markers(start):
    app = start("NO_COLOR=1")

    app.type("/the")
    app.see("change the color theme")

    assert not COLOUR.search(app.raw)
    assert CHOSEN.search(app.raw)


@pytest.mark.parametrize("kind", ["linux", "xterm-16color"])
def test_sixteen_colours_are_the_terminals_own(start, kind: str):
    app = start("-u", "COLORTERM", f"TERM={kind}")

    app.type("/the")
    app.see("change the color theme")

    assert COLOUR.search(app.raw)
    assert not MIXED.search(app.raw)
    assert CHOSEN.search(app.raw)
    assert b"40m" not in app.raw, "a ground of ours would hide that of the terminal"


def test_256_colours_match_the_theme(start):
    app = start("-u", "COLORTERM", "TERM=screen-256color", "COLORFGBG=15;0")

    app.written(b"48;5;235")
    app.written(b"48;5;233")

    assert b"48;5;17m" not in app.raw, "a grey with a touch of blue is no dark blue"


@pytest.mark.parametrize(
    ("settings", "marked"),
    [
        (("NO_COLOR=1",), rb"\x1b\[(?:[0-9;]*;)?7(?:;[0-9;]*)?m[^\x1b]*Allow once"),
        (("-u", "COLORTERM", "TERM=linux"), rb"\x1b\[[0-9;]*46[0-9;]*m[^\x1b]*Allow once"),
    ],
)
def test_default_answer_is_marked_without_many_colours(start, settings: tuple[str, ...], marked: bytes):
    app = start(*settings)

    app.enter("go")
    app.see("Allow once")
    app.settle()

    assert re.search(marked, app.raw)


def test_app_follows_the_terminal_theme_until_it_exits(start):
    app = start()
    dark = b"48;2;17;21;28"
    app.written(QUERY)

    app.type("\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
    app.written(b"48;2;251;250;247")
    app.type("\x1b[?997;1n")
    app.until(lambda: dark in app.raw[app.raw.rindex(b"48;2;251;250;247") :], "the dark ground")
    app.type("\x11")
    app.wait()

    assert app.raw.index(FOLLOW) < app.raw.rindex(UNFOLLOW) < app.raw.rindex(b"\x1b[?1049l")


def test_detected_theme_is_used_in_the_first_frame_of_the_next_start(terminal, serve, own_home):
    folder = own_home / "cinch" / "state" / "first-frame"
    light = b"48;2;251;250;247"
    env = {"ANTHROPIC_BASE_URL": serve([Reply("hello")]).url, "ANTHROPIC_API_KEY": "sk-x"}
    app = terminal(env=env)
    app.type("\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
    app.written(light)
    app.until(lambda: any(light in file.read_bytes() for file in folder.glob("[!.]*")), "a light picture")
    app.kill()

    again = terminal(env=env)
    again.see("Ask for a change")

    assert light in again.raw
    assert b"48;2;17;21;28" not in again.raw
