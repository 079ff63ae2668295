"""A megabyte pasted as one line and as 50,000 lines, and the next key, compared with the smallest Textual app."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from measure import report  # noqa: E402  the path comes first
from stage import Script, cinch, smallest  # noqa: E402
from terminal import Watched  # noqa: E402

LINES = 50_000
TEXTS = {"one line": "word " * 200_000, f"{LINES:,} lines": "a line of a log, 19\n" * LINES}
KEYS = 20
LETTERS = [chr(letter) for letter in range(0x250, 0x250 + KEYS + 1)]
BEFORE, AFTER = "\x1b[200~", "\x1b[201~"
THAN = "the smallest Textual app"


def pasted(app: Watched, text: str) -> tuple[float, float, float]:
    """Return the milliseconds to echo a key right after the paste and a later one, and the additional megabytes."""
    before, began = app.memory(), perf_counter()
    app.type(BEFORE + text + AFTER)
    app.type(LETTERS[0])
    app.see(LETTERS[0].encode())
    taken = (perf_counter() - began) * 1e3
    app.watch(1)
    times: list[float] = []
    for letter in LETTERS[1:]:
        times.append(app.echo(letter))
        app.watch(0.03)
    return taken, sorted(times)[KEYS // 2], app.memory() - before


def main() -> None:
    for name, text in TEXTS.items():
        with smallest(takes_lines=True) as app:
            bare, bare_key, bare_memory = pasted(app, text)
        with cinch(Script()) as app:
            taken, key, memory = pasted(app, text)
        report(f"1 MB pasted, {name}: to the next key's letter", taken, bare, unit="ms", than=THAN, goal="≤ 300 ms")
        report("  a key after that", key, bare_key, unit="ms", than=THAN, goal="≤ 10 ms")
        report("  memory", memory, bare_memory, unit="MB", than=THAN, goal="≤ 10 MB")


if __name__ == "__main__":
    main()
