from __future__ import annotations

import re
import shlex
import subprocess
import sys
from base64 import b64decode
from io import BytesIO

import pytest
from fakes.script import Reply
from PIL import Image

from cinch_tui.transcript.terminal_images import MARKS, QUERY

pytestmark = pytest.mark.pty

SENT = re.compile(rb"\x1b_Ga=t,t=d,f=100,q=2,i=(\d+),m=[01];([^\x1b]*)\x1b\\((?:\x1b_Gq=2,m=[01];[^\x1b]*\x1b\\)*)")
MORE = re.compile(rb"\x1b_Gq=2,m=[01];([^\x1b]*)\x1b\\")
PLACED = re.compile(rb"\x1b_Ga=p,U=1,q=2,i=(\d+),c=(\d+),r=(\d+)\x1b\\")
FREED = re.compile(rb"\x1b_Ga=d,d=I,q=2,i=(\d+)\x1b\\")
KITTY = {"KITTY_WINDOW_ID": "1"}


@pytest.fixture
def start(terminal, serve, project):
    Image.new("RGB", (320, 160), (10, 200, 30)).save(project / "green.png")

    def begin(**more: str):
        script = [Reply(calls=[("read_file", {"path": "green.png"})]), Reply("It is green."), Reply("Well.")]
        server = serve(script)
        env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x", "TMUX": "", **more}
        app = terminal(env=env)
        app.see(r"anthropic/claude|Ask for a change")
        app.enter("look")
        return app

    return begin


def test_supporting_terminal_is_sent_the_image_once_and_has_it_removed(start):
    app = start(**KITTY)
    app.written(QUERY.encode())
    app.type("\x1b_Gi=31;OK\x1b\\")
    app.until(lambda: PLACED.search(app.raw), "the picture to be placed")
    app.see("It is green")

    number, first, rest = SENT.search(app.raw).groups()
    png = Image.open(BytesIO(b64decode(first + b"".join(MORE.findall(rest)))))
    assert png.convert("RGB").getpixel((0, 0)) == (10, 200, 30)
    assert PLACED.findall(app.raw) == [(number, b"40", b"10")]
    colour = b";".join(str(int(number) >> shift & 0xFF).encode() for shift in (16, 8, 0))
    app.until(lambda: b"38;2;" + colour in app.raw, "its cells to be painted")
    corner = f"\U0010eeee{MARKS[9]}{MARKS[39]}".encode()
    app.until(lambda: corner in app.raw, "its last cell to be painted")

    app.enter("again")
    app.see("Well")
    app.resize(80, 20)
    app.settle()
    app.enter("/quit")
    assert app.wait() == 0

    assert len(SENT.findall(app.raw)) == 1
    assert FREED.findall(app.raw) == [number]


def test_silent_terminal_gets_half_blocks(start):
    app = start(**KITTY)
    app.written(QUERY.encode())
    app.see("It is green")
    app.until(lambda: b"48;2;8;200;24m" in app.raw, "the picture to be painted in colours")

    assert not SENT.search(app.raw)
    assert "green.png · image/png · 320×160" in app.see("green.png · ")


@pytest.mark.parametrize("more", [{}, {"TERM_PROGRAM": "Apple_Terminal"}])
def test_unsupported_terminal_is_not_queried(start, more):
    app = start(**more)
    app.see("It is green")
    app.until(lambda: b"48;2;8;200;24m" in app.raw, "the picture to be painted in colours")

    assert b"\x1b_G" not in app.raw


def test_image_is_a_frame_without_colours(start):
    app = start(NO_COLOR="1")
    app.see("It is green")

    assert "│ image/png · 320×160" in app.see("│ green.png")


def test_images_are_sent_again_after_the_terminal_was_released(start, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\necho "PAGER: $(grep -c "image: green.png 320×160" "$1")"\nread -r done\n')
    pager.chmod(0o755)
    app = start(**KITTY, PAGER=str(pager))
    app.written(QUERY.encode())
    app.type("\x1b_Gi=31;OK\x1b\\")
    app.until(lambda: PLACED.search(app.raw), "the picture to be placed")
    app.see("It is green")

    app.type("\x0f")
    app.see("PAGER: 1")
    app.type("\r")

    app.until(lambda: len(SENT.findall(app.raw)) == 2, "it to be sent again")


@pytest.fixture
def start_in_tmux(terminal, serve, project, tmp_path):
    Image.new("RGB", (320, 160), (10, 200, 30)).save(project / "green.png")
    server = serve([Reply(calls=[("read_file", {"path": "green.png"})]), Reply("It is green.")])
    socket = str(tmp_path / "s")
    settings = tmp_path / "tmux.conf"
    settings.write_text(
        "set -g allow-passthrough on\nset -as terminal-features ',xterm-256color:RGB'\nset -g status off\n"
    )

    def begin(images: str):
        command = shlex.join([sys.executable, "-m", "cinch_tui"])
        env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x", "CINCH_UI_IMAGES": images}
        app = terminal("-S", socket, "-f", str(settings), "new-session", command, program=("tmux",), env=env)
        app.see(r"anthropic/claude|Ask for a change")
        app.enter("look")
        return app

    yield begin
    subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)


@pytest.mark.requires_program("tmux")
def test_tmux_passes_an_image_through_and_keeps_its_cells(start_in_tmux):
    app = start_in_tmux("kitty")
    app.until(lambda: PLACED.search(app.raw), "the picture to be handed on")

    number = int(PLACED.search(app.raw)[1])
    colour = ";".join(str(number >> shift & 0xFF) for shift in (16, 8, 0))
    app.written(f"38;2;{colour}m\U0010eeee".encode())


@pytest.mark.requires_program("tmux")
def test_images_are_half_blocks_in_tmux_on_an_unsupported_terminal(start_in_tmux):
    app = start_in_tmux("auto")
    app.until(lambda: b"48;2;8;200;24m" in app.raw, "the picture to be painted in colours")

    assert b"\x1b_G" not in app.raw
