from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cinch_tui.terminal.clipboard import CopyResult, copy_text


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "PATH", "TMUX", "STY", "TERM", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_display")
async def test_without_a_system_clipboard_the_terminal_copies_and_is_named():
    asked: list[str] = []

    copied = await copy_text("héllo", asked.append)

    assert asked == ["héllo"]
    assert copied == CopyResult(5, system=False)
    assert copied.message == "Copied 5 characters, if the terminal allows it."


@pytest.mark.usefixtures("no_display")
async def test_text_too_long_for_a_terminal_goes_to_a_private_file():
    text = "中文" * 200_000
    asked: list[str] = []

    copied = await copy_text(text, asked.append)

    file = Path(copied.file)
    try:
        assert asked == []
        assert file.read_text(encoding="utf-8") == text
        assert file.stat().st_mode & 0o077 == 0
        assert copied.file in copied.message
    finally:
        file.unlink()


@pytest.mark.usefixtures("no_display")
@pytest.mark.parametrize("knows_w", [True, False])
async def test_tmux_copies_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knows_w: bool):
    program = tmp_path / "tmux"
    refuses = "" if knows_w else 'case "$*" in *-w*) exit 1;; esac\n'
    program.write_text(f"#!/bin/sh\n{refuses}/bin/cat > '{tmp_path}/buffer'\n")
    program.chmod(0o755)
    monkeypatch.setenv("TMUX", "/tmp/tmux,1,0")
    monkeypatch.setenv("PATH", str(tmp_path))

    copied = await copy_text("héllo", lambda text: None)

    assert copied.system
    assert (tmp_path / "buffer").read_text(encoding="utf-8") == "héllo"


@pytest.mark.usefixtures("no_display")
@pytest.mark.parametrize(
    ("variable", "value", "advice"),
    [
        ("TERM", "tmux-256color", "set-clipboard on"),
        ("STY", "123.pts-0.host", "if screen and the terminal allow it"),
        ("TERM", "screen-256color", "if screen and the terminal allow it"),
    ],
)
async def test_a_multiplexer_that_filters_is_reported(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, advice: str
):
    monkeypatch.setenv(variable, value)

    copied = await copy_text("héllo", lambda text: None)

    assert advice in copied.message


@pytest.mark.usefixtures("no_display")
async def test_the_clipboard_of_a_remote_machine_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "pbcopy"
    program.write_text("#!/bin/sh\n/bin/cat > /dev/null\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 50000 10.0.0.2 22")

    copied = await copy_text("héllo", lambda text: None)

    assert not copied.system


def test_the_systems_clipboard_program_gets_the_text(tmp_path: Path):
    program = tmp_path / "xclip"
    program.write_text(f"#!/bin/sh\ncat > '{tmp_path}/copied'\n")
    program.chmod(0o755)
    code = """
import asyncio
from cinch_tui.terminal.clipboard import copy_text
print(asyncio.run(copy_text("héllo", print)).system)
"""
    root = Path(__file__).parents[2]
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DISPLAY": ":99", "PYTHONPATH": str(root)}

    ran = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)

    assert ran.stdout == "héllo\nTrue\n"
    assert (tmp_path / "copied").read_text() == "héllo"
