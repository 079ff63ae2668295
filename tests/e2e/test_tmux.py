from __future__ import annotations

import os
import shlex
import subprocess
from base64 import b64encode
from uuid import uuid4

import pytest
from e2e.conftest import ROOT
from e2e.terminal import CINCH, Terminal
from fakes.script import Reply

pytestmark = [pytest.mark.pty, pytest.mark.requires_program("tmux")]


@pytest.fixture
def inside(project, serve, tmp_path):
    """Start cinch in tmux with these tmux options."""
    name = f"cinch-{uuid4().hex[:8]}"
    server = serve([Reply("Said in tmux."), Reply("Said next.")])
    started: list[Terminal] = []

    def start(*options: str) -> Terminal:
        environ = {
            "PYTHONPATH": str(ROOT),
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "sk-x",
            "CINCH_HOME": str(tmp_path / "home"),
            "CINCH_KEYRING": "off",
        }
        file = tmp_path / "tmux.conf"
        file.write_text("".join(f"set -g {option}\n" for option in options))
        command = shlex.join([f"{variable}={value}" for variable, value in environ.items()] + [*CINCH])
        argv = ("tmux", "-L", name, "-f", str(file), "new-session", f"exec env {command}")
        clean = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE", "DISPLAY")}
        started.append(Terminal(project, clean, program=argv))
        started[0].see("Ask for a change")
        return started[0]

    yield start
    subprocess.run(["tmux", "-L", name, "kill-server"], check=False, capture_output=True)
    for terminal in started:
        terminal.close()


@pytest.mark.parametrize("option", ["allow-passthrough on", "set-clipboard on"])
def test_copied_text_reaches_the_terminal_outside_tmux(inside, option: str):
    app = inside(option, *(["set-clipboard off"] if "pass" in option else []))
    app.enter("go")
    app.see(r"Said in tmux\.")

    app.enter("#copy")

    app.written(b"\x1b]52;")
    app.written(b64encode(b"Said in tmux."))


def test_tmux_keys_trigger_their_action(inside):
    app = inside()
    app.enter("go")
    app.see(r"Said in tmux\.")

    app.type("first\x1b\r")
    app.see(r"Said next\.")
    app.type("\x1bOP")
    app.see("In the prompt")
    app.type("\x1b")
    app.miss("closes")
    app.type("\x1b[A")
    app.see("first *│")
