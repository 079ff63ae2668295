"""Opening long sessions compared with a short one: time to the last message, time until complete, memory, keys."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from measure import in_turn, report  # noqa: E402  the path comes first
from stage import LAST, environment, write_session  # noqa: E402
from terminal import Watched, watched  # noqa: E402

from harness.messages import Usage  # noqa: E402

RUNS = 5
SHORT = "short"
LONG, LONGER = "long", "longer"
SIZES = {SHORT: (0, 0), LONG: (10_000, 100_000_000), LONGER: (16_000, 116_000_000)}
"""Messages and bytes; 16,000 messages are 20,000 lines."""
USAGE = Usage(77_700_000)
COUNTED = "77.7M"
"""Tokens in the status bar, which are shown once the whole conversation is in the transcript."""
LETTERS = "ßðþæøłŋħ"
"""Letters that are typed while the session is loaded, and occur nowhere else."""


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        env = environment(home)
        for session_id, (messages, size) in SIZES.items():
            write_session(home, session_id, messages // 4, size * 4 // max(1, messages), USAGE)
        memories: dict[str, float] = {}

        def opened(session_id: str, measure: Callable[[Watched], float]) -> float:
            command = [sys.executable, "-m", "cinch_tui", "-m", "demo", "-r", session_id]
            with watched(command, env, home) as cinch:
                took = measure(cinch)
                if measure is complete:
                    cinch.settle()
                    memories[session_id] = cinch.memory()
            return took

        def compare(name: str, session_id: str, measure: Callable[[Watched], float], goal: str) -> None:
            took, short = in_turn(RUNS, partial(opened, session_id, measure), partial(opened, SHORT, measure))
            report(name, took, short, unit="ms", than="two messages", goal=goal)

        compare("10,000 messages, 100 MB: end shown", LONG, end_shown, "≤ 150 ms more")
        compare("10,000 messages, 100 MB: complete", LONG, complete, "≤ 500 ms more")
        compare("20,000 lines, 116 MB: end shown", LONGER, end_shown, "≤ 150 ms more")
        compare("20,000 lines, 116 MB: complete", LONGER, complete, "≤ 500 ms more")
        compare("slowest of eight keys while 100 MB are loaded", LONG, slowest_key, "≤ 10 ms more")
        for session_id in (LONG, LONGER):
            name = f"memory with {SIZES[session_id][1] // 1_000_000} MB"
            report(name, memories[session_id], memories[SHORT], unit="MB", than="two messages", goal="≤ 30 MB more")


def end_shown(cinch: Watched) -> float:
    return cinch.see(LAST.encode())


def complete(cinch: Watched) -> float:
    cinch.see(LAST.encode())
    return cinch.see(COUNTED.encode())


def slowest_key(cinch: Watched) -> float:
    cinch.see(LAST.encode())
    return max(map(cinch.echo, LETTERS))


if __name__ == "__main__":
    main()
