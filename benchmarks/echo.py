"""From a key press to its letter on the screen: idle and while streaming 200 words/s, after 10 and 10,000 messages."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from fakes.model_server import Reply  # noqa: E402  the path comes first
from measure import report  # noqa: E402
from stage import Script, cinch, smallest  # noqa: E402
from terminal import Watched  # noqa: E402

KEYS = 60
# Seconds between two keys, varied by an irrational fraction: each key falls on another moment of a frame.
BETWEEN, FURTHER = 0.04, 0.618
RATE = 200
# Letters that nothing else paints; the first ones are a warm-up.
LETTERS = [chr(letter) for letter in range(0x250, 0x250 + KEYS + 10)]
TALK = "The function reads every line before it looks at the first one, which takes long when the file is large.\n\n"


def times(app: Watched) -> list[float]:
    taken: list[float] = []
    for number, letter in enumerate(LETTERS):
        taken.append(app.echo(letter))
        app.watch(BETWEEN * (1 + number * FURTHER % 1))
    return sorted(taken[-KEYS:])


def ours(messages: int, *, streams: bool) -> list[float]:
    script = Script()
    with cinch(script, messages) as app:
        if streams:
            # More than will be received.
            script.items = [Reply(TALK * 200, pause_s=1 / RATE)]
            app.type("go\r")
            app.watch(1)
        return times(app)


def theirs(messages: int, *, streams: bool) -> list[float]:
    with smallest(messages, RATE if streams else 0) as app:
        return times(app)


def main() -> None:
    for messages in (10, 10_000):
        for streams, goal in ((False, "≤ 10 ms"), (True, "≤ 7 ms")):
            reference, taken = theirs(messages, streams=streams), ours(messages, streams=streams)
            name = f"key to echo after {messages:,} messages{f', at {RATE} words/s' if streams else ''}"
            than = "the smallest Textual app"
            report(f"{name}, p50", median(taken), median(reference), unit="ms", than=than)
            late = KEYS * 95 // 100
            report(f"{name}, p95", taken[late], reference[late], unit="ms", than=than, goal=goal)


if __name__ == "__main__":
    main()
