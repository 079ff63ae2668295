"""From process start to first paint in a pseudo-terminal, compared with the smallest Textual app; and `--version`."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from fcntl import ioctl
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks")]

from measure import as_installed, in_turn, report, seconds_of  # noqa: E402  the path comes first

RUNS = 9
BARE = """
from textual.app import App
from textual.widgets import Input
class Bare(App):
    CSS = "Input { dock: bottom; }"
    def compose(self):
        yield Input(placeholder="Ask for a change")
Bare().run()
"""
PAINTED = b"sk for a change"  # the cursor covers the first letter


def first_paint(command: list[str], env: dict[str, str], cwd: str) -> float:
    """Return the seconds from process start until the prompt's placeholder is written to the terminal."""
    began = time.perf_counter()
    pid, fd = pty.fork()
    if pid == 0:
        ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.chdir(cwd)
        os.execvpe(command[0], command, env)
    seen = b""
    while PAINTED not in seen:
        if not select.select([fd], [], [], 20)[0]:
            raise SystemExit(f"nothing painted by {command}")
        seen += os.read(fd, 65536)
    took = time.perf_counter() - began
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(fd)
    return took * 1e3


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        env = {
            **as_installed(),
            "CINCH_HOME": home,
            "CINCH_KEYRING": "off",
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
        }
        cinch = [sys.executable, "-m", "cinch_tui", "-m", "demo"]
        bare = [sys.executable, "-c", BARE]
        # Create bytecode.
        first_paint(cinch, env, home), first_paint(bare, env, home)
        ours, smallest = in_turn(RUNS, lambda: first_paint(cinch, env, home), lambda: first_paint(bare, env, home))
        report("first paint", ours, smallest, unit="ms", than="the smallest Textual app", goal="≤ 1.4")
        version, nothing = in_turn(
            RUNS,
            lambda: (
                seconds_of(
                    lambda: subprocess.run([*cinch[:3], "--version"], env=env, check=True, stdout=subprocess.DEVNULL)
                )
                * 1e3
            ),
            lambda: seconds_of(lambda: subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)) * 1e3,
        )
        report("cinch --version", version, nothing, unit="ms", than="python -c pass", goal="≤ 3")


if __name__ == "__main__":
    main()
