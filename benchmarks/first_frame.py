"""From process start to the first echoed key and to the loaded app, with and without the first frame."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks")]

from measure import as_installed, in_turn, report, seconds_of  # noqa: E402  the path comes first
from terminal import watched  # noqa: E402

RUNS = 9
TYPED = "zygote"
PAINTED = b"sk for a change"
TAKEN_OVER = b"\x1b[?2048$p"
"""Query that the app sends to the terminal after it has loaded."""


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        env = {
            **as_installed(),
            "CINCH_HOME": home,
            "CINCH_KEYRING": "off",
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
            "ANTHROPIC_API_KEY": "none",
        }
        cinch = [sys.executable, "-m", "cinch_tui"]
        _paint_once(cinch, env, home)
        without = {**env, "CINCH_FIRST_FRAME": "off"}
        first, late, nothing = in_turn(
            RUNS,
            lambda: _echo(cinch, env, home, b"\x1b[?1049h"),
            # Keys typed before Textual reads are lost in a pseudo-terminal.
            lambda: _echo(cinch, without, home, PAINTED),
            lambda: seconds_of(lambda: subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)) * 1e3,
        )
        report("first key echoed", first, nothing, unit="ms", than="python -c pass", goal="≤ 30 ms")
        report("first key echoed", first, late, unit="ms", than="without the first frame")
        over, alone = in_turn(RUNS, lambda: _taken_over(cinch, env, home), lambda: _taken_over(cinch, without, home))
        report("the app has taken over", over, alone, unit="ms", than="without the first frame", goal="≤ 1.05")


def _paint_once(command: list[str], env: dict[str, str], cwd: str) -> None:
    """Run once, to create the stored frame."""
    with watched(command, env, cwd) as app:
        app.settle(2.0)
    assert list(Path(env["CINCH_HOME"]).glob("state/first-frame/*")), "no picture was kept"


def _echo(command: list[str], env: dict[str, str], cwd: str, sign: bytes) -> float:
    """Return the milliseconds from process start until a letter typed at this sign is on the screen."""
    with watched(command, env, cwd) as app:
        app.see(sign)
        app.type(TYPED)
        return app.see(b"z")


def _taken_over(command: list[str], env: dict[str, str], cwd: str) -> float:
    with watched(command, env, cwd) as app:
        return app.see(TAKEN_OVER)


if __name__ == "__main__":
    main()
