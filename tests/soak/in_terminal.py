"""Random use of cinch in a real terminal for a while, with everything that must hold meanwhile.

`PYTHONPATH=.:tests python -m soak.in_terminal --seconds 300 --seed 1`, or `make soak`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.shell import left_on
from e2e.terminal import Terminal
from fakes.model_server import ModelServer
from soak.played import CONTENT, FILE, Played
from soak.steps import ESC_IS_ALONE, Step, User
from soak.vitals import Vitals, grown, vitals

from harness.session.doctor import examine

ROOT = Path(__file__).resolve().parents[2]
BOUND = 30.0
"""Seconds within which keys must reach the prompt, even on a slow machine."""

ESCAPES = 5
GRACE = 1.2
"""Seconds after which every dialog accepts keys."""

REMEMBERED = 60
PARTS = 3
"""Steps between two checks of the idle program; also checked once a minute."""

EDITOR = """#!/bin/sh
n=$(cat "$0.count" 2>/dev/null || echo 0)
echo $((n + 1)) > "$0.count"
case $((n % 4)) in 0) echo "and a line more" >> "$1";; 1) : > "$1";; 2) exit 1;; esac
"""


class Broken(AssertionError):
    """A check failed; the message says how to reproduce it."""


class Soak:
    """One cinch in one terminal, and a simulated user."""

    def __init__(self, folder: Path, seed: int, tell: Callable[[str], object] = str) -> None:
        """Start with a seed; `tell` receives progress lines."""
        self.seed = seed
        self._tell = tell
        self._home = folder / "home"
        self._project = _project(folder / "shop-of-chance")
        self._done: deque[str] = deque(maxlen=REMEMBERED)
        self._deeds = User(seed).deeds()
        self._environ = _environ(folder, self._home)
        self.taken = 0
        self.record: list[Vitals] = []
        """Resource usage at each check."""

    def run(self, seconds: float) -> None:
        with ModelServer(Played(self.seed), models=("fake-model", "another", "one", "two")) as server:
            self._environ["ANTHROPIC_BASE_URL"] = server.url
            with self._terminal() as terminal:
                parts = max(PARTS, round(seconds / 60))
                for _ in range(parts):
                    self._use(terminal, seconds / parts)
                    self._rest(terminal)
                    self.record.append(vitals(terminal.pid))
                    self._tell(str(self.record[-1]))
                self._expect(not (more := grown(self.record[0], self.record[-1])), "; ".join(more))
                self._leave(terminal)
            self._look_at_sessions()
            with self._terminal("-c") as terminal:
                self._reach_prompt(terminal)
                self._leave(terminal)

    @contextmanager
    def _terminal(self, *args: str) -> Iterator[Terminal]:
        terminal = Terminal(self._project, self._environ, "-m", "anthropic/fake-model", *args, columns=80, rows=24)
        self._before = terminal.attributes
        try:
            terminal.see("fake-mod")  # a narrow status bar omits the provider
            yield terminal
        except Broken:
            raise
        except Exception as error:
            raise self._broken(f"{type(error).__name__}: {error}") from error
        finally:
            terminal.close()

    def _use(self, terminal: Terminal, seconds: float) -> None:
        until = time.monotonic() + seconds
        checked_at = time.monotonic()
        while time.monotonic() < until:
            for step in next(self._deeds):
                self._take(terminal, step)
            self._look(terminal)
            if time.monotonic() - checked_at > 8:
                self._reach_prompt(terminal)
                checked_at = time.monotonic()

    def _take(self, terminal: Terminal, step: Step) -> None:
        self._done.append(str(step))
        self.taken += 1
        self._send(terminal, step)

    def _send(self, terminal: Terminal, step: Step) -> None:
        if step.size[0]:
            terminal.resize(*step.size)
        if step.keys:
            terminal.type(step.keys)
        until = time.monotonic() + step.pause
        terminal.read(0.01)
        while (left := until - time.monotonic()) > 0:
            terminal.read(left)

    def _look(self, terminal: Terminal) -> None:
        if not terminal.is_alive():
            screen = terminal.text
            raise self._broken(
                f"it has ended with status {terminal.wait()}; the screen is:\n{screen}\n{self._faults()}"
            )
        self._expect(not self._faults(), self._faults())

    def _faults(self) -> str:
        state = self._home / "state"
        reports = [path.read_text() for path in state.glob("crash-*.txt")]
        log = state / "cinch.log"
        reported = log.read_text() if log.exists() else ""
        return "\n".join([*reports, *([reported] if re.search(r"Traceback| ERROR ", reported) else [])])

    def _reach_prompt(self, terminal: Terminal) -> None:
        """Reach the prompt by keys alone: Esc closes everything open, and then a key appears in the prompt."""
        if terminal.size[0] < 40 or terminal.size[1] < 10:
            terminal.resize(80, 24)
        sign, until = f"zq{secrets.randbelow(10**6)}", time.monotonic() + BOUND
        self._done.append("to the prompt, by Esc")
        while time.monotonic() < until:
            # A user waits for a dialog that does not accept keys yet.
            self._send(terminal, Step(pause=GRACE))
            for _ in range(ESCAPES):
                self._send(terminal, Step("\x1b", pause=ESC_IS_ALONE))
            # With vi keys, Esc leaves insert mode.
            self._send(terminal, Step(f"i{sign}" if "NORMAL" in terminal.text else sign, pause=0.3))
            if self._stands_in_prompt(terminal, sign):
                self._send(terminal, Step("\x7f" * len(sign)))
                return
        raise self._broken(f"the prompt was not reached in {BOUND:g} s; the screen is:\n{terminal.text}")

    def _stands_in_prompt(self, terminal: Terminal, sign: str) -> bool:
        """Return True if the cursor is after the prompt sign, in the box over the last line."""
        lines, (_, row) = terminal.text.split("\n"), terminal.cursor
        box = lines[row:-2]
        return sign in lines[row] and lines[-2].startswith("╰") and all(line.startswith("│") for line in box)

    def _rest(self, terminal: Terminal) -> None:
        """Return to the idle, empty state, to measure cinch itself."""
        terminal.resize(100, 32)
        until = time.monotonic() + BOUND
        while time.monotonic() < until:
            self._reach_prompt(terminal)
            self._take(terminal, Step("\x15" * 4 + "\x0b" * 4))
            self._take(terminal, Step("/new"))
            self._take(terminal, Step("\r", pause=1.0))
            self._take(terminal, Step("\x1b", pause=0.5))
            if "RUNNING" not in terminal.text:
                return
        raise self._broken(f"it does not come to rest; the screen is:\n{terminal.text}")

    def _leave(self, terminal: Terminal) -> None:
        self._take(terminal, Step("\x11"))
        terminal.until(lambda: left_on(terminal.raw) == set(), "the terminal to be given back")
        terminal.until(lambda: terminal.attributes == self._before, "its attributes to be as before")
        status = terminal.wait()
        self._expect(status == 0, f"it has ended with status {status}")
        self._expect(not self._faults(), self._faults())

    def _look_at_sessions(self) -> None:
        for path in (self._home / "data").rglob("*.jsonl"):
            for line in path.read_text(encoding="utf-8").splitlines():
                json.loads(line)
            seen = examine(path)
            self._expect(seen.healthy, f"the session is not whole: {seen}")

    def _expect(self, holds: object, otherwise: str) -> None:
        if not holds:
            raise self._broken(otherwise)

    def _broken(self, what: str) -> Broken:
        steps = "\n".join(f"  {step}" for step in self._done)
        return Broken(f"seed {self.seed}, after {self.taken} steps: {what}\nThe last steps were:\n{steps}")


def _project(root: Path) -> Path:
    for name, text in ((FILE, CONTENT), ("README.md", "# The shop\n\nIt sells by chance.\n")):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True, env=_git_environ())
    return root


def _git_environ() -> dict[str, str]:
    who = {"NAME": "Ada", "EMAIL": "ada@example.org"}
    names = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    return {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def _environ(folder: Path, home: Path) -> dict[str, str]:
    editor = folder / "editor"
    editor.write_text(EDITOR)
    editor.chmod(0o700)
    foreign = ("_API_KEY", "_BASE_URL", "_PROXY", "VISUAL", "NO_COLOR")
    kept = {name: value for name, value in _git_environ().items() if not name.upper().endswith(foreign)}
    own = {"HOME": str(folder), "CINCH_HOME": str(home), "CINCH_KEYRING": "off", "ANTHROPIC_API_KEY": "sk-ant-soak"}
    tools = {"EDITOR": str(editor), "PAGER": "cat", "BROWSER": "true"}
    return {**kept, **own, **tools, "PYTHONPATH": str(ROOT)}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description="Use cinch by chance for a while.")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    options = parser.parse_args()
    _say(f"seed {options.seed}, {options.seconds:g} s")
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        soak = Soak(Path(folder), options.seed, _say)
        try:
            soak.run(options.seconds)
        except Broken as broken:
            _say(str(broken))
            return 1
    _say(f"{soak.taken} steps, and all was well")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
