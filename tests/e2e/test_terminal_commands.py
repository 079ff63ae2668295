from __future__ import annotations

import os
import re
import signal
import subprocess
import termios

import pytest
from e2e.conftest import ROOT
from e2e.shell import left_on
from e2e.terminal import CINCH

pytestmark = pytest.mark.pty

USUAL = termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN
BREAK = r"stty raw -echo; printf '\033[?1049h\033[?1003h\033[?1006h\033[?25l\033[?2004h\033[?7l\033[5;9r\033[>1u'"


@pytest.fixture
def keys(terminal):
    screen = terminal("keys")
    screen.see("Press a key")
    screen.settle()
    return screen


@pytest.mark.parametrize(
    ("pressed", "shown"),
    [
        ("\x07", r"07 +· · ctrl\+g\n +In the prompt: .*\(prompt\.open_editor\) +\"prompt.open_editor\" = \"…\""),
        ("\x1b[103;5u", r"1b 5b 31 30 33 3b 35 75 +ESC \[103;5u · ctrl\+g\n.*\(prompt\.open_editor\)"),
        ("\x1bOP", r"1b 4f 50 +ESC OP · f1\n.*\(chat\.help\)"),
        ("\x1b\r", r"1b 0d +ESC · · alt\+enter\n.*\(prompt\.follow_up\)"),
        ("\x1b", r"\(chat\.abort\).*\n(.*\n)*.*\(confirmation\.no\)"),
        ("x", r"78 +x · x\n(.*\n)*.*\(changes\.put_back_file\)"),
        ("w", r"77 +w · w\n"),
        ("\x1b[24~", r"f12\n +not bound; to bind it: \"ID\" = \"F12\""),
        ("\x1b[200~two words\x1b[201~", r"paste\s+of 9 characters"),
    ],
)
def test_key_is_shown_with_its_bytes_name_and_action(keys, pressed: str, shown: str):
    keys.type(pressed)

    keys.see(shown)


@pytest.mark.parametrize("ending", ["\x03\x03", "q\x1b", "\x1b[99;5u\x1b[99;5u", "\x1b[113;;113u\x1b[27u"])
def test_two_keys_end_it_and_restore_the_terminal(terminal, ending: str):
    screen = terminal("keys")
    before = screen.attributes
    screen.see("Press a key")
    assert screen.attributes != before

    screen.type(ending)

    screen.until(lambda: screen.attributes == before, "the attributes to be as before")
    assert screen.wait() == 0
    assert left_on(screen.raw) == set()


def test_sigterm_restores_the_terminal(terminal):
    screen = terminal("keys")
    before = screen.attributes
    screen.see("Press a key")
    screen.settle()

    os.kill(screen.pid, signal.SIGKILL)

    screen.until(lambda: screen.attributes == before, "the attributes to be as before")
    assert left_on(screen.raw) == set()


def test_broken_terminal_is_repaired(terminal):
    screen = terminal(program=("sh", "-c", f'{BREAK}; "$0" "$@" reset-terminal; echo fixed; read -r line', *CINCH))

    screen.written(b"fixed")

    assert left_on(screen.raw) == set()
    assert screen.attributes[3] & USUAL == USUAL
    assert b"\x1b[r" in screen.raw


@pytest.mark.parametrize("command", ["keys", "reset-terminal"])
def test_commands_report_a_missing_terminal(command: str):
    done = subprocess.run(
        [*CINCH, command], cwd=ROOT, capture_output=True, text=True, start_new_session=True, check=False
    )

    assert done.returncode == 2
    assert "no terminal available" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["keys", "reset-terminal"])
def test_commands_take_no_arguments(printed, command: str):
    done = printed(command, "--all")

    assert done.returncode == 2
    assert f"cinch {command} takes no arguments" in done.stderr
    assert "not '--all'" in done.stderr


def test_all_keys_are_listed_with_custom_and_unavailable_ones_marked(printed, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('[keys]\n"chat.search" = "F20"\n"chat.help" = "Ctrl+G"\n')

    done = printed("keys", "--list", CINCH_HOME=str(home))

    assert done.returncode == 0
    assert re.search(
        r"^\* F20 +chat\.search +find in the conversation \(by default Ctrl\+F\)$", done.stdout, re.MULTILINE
    )
    assert re.search(r"^  F1 +chat\.help ", done.stdout, re.MULTILINE)
    assert re.search(r"^! .*config\.toml, line 3: keys: chat\.help .* cannot be Ctrl\+G", done.stdout, re.MULTILINE)
