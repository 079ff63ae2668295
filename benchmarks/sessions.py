"""Opening a session of 10,000 messages (100 MB) compared with a short one: time to the last message, and memory."""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks")]

from measure import in_turn, report  # noqa: E402  the path comes first
from stage import LAST, environment, write_session  # noqa: E402
from terminal import watched  # noqa: E402

RUNS = 5
MESSAGES = 10_000
BYTES = 100_000_000
SHORT, LONG = "short", "long"


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        env = environment(home)
        write_session(home, SHORT, 0, 0)
        write_session(home, LONG, MESSAGES // 4, BYTES * 4 // MESSAGES)
        memories: dict[str, float] = {}

        def opened(session_id: str) -> float:
            command = [sys.executable, "-m", "cinch_tui", "-m", "demo", "-r", session_id]
            with watched(command, env, home) as cinch:
                took = cinch.see(LAST.encode())
                cinch.settle()
                memories[session_id] = cinch.memory()
            return took

        long, short = in_turn(RUNS, partial(opened, LONG), partial(opened, SHORT))
        report("10,000 messages opened", long, short, unit="ms", than="two messages", goal="≤ 150 ms more")
        report("its memory", memories[LONG], memories[SHORT], unit="MB", than="two messages", goal="≤ 30 MB more")


if __name__ == "__main__":
    main()
