"""A conversation of 10,000 messages compared with 100: memory, resize, paging and search."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from fakes.model_server import Reply  # noqa: E402  the path comes first
from measure import report  # noqa: E402
from stage import Script, cinch, smallest  # noqa: E402
from terminal import COLUMNS, FRAME_ENDS, ROWS, Watched  # noqa: E402

FEW, MANY = 100, 10_000
PAGES = 20
SIZES = ((30, 100), (ROWS, COLUMNS), (24, 80), (50, 160), (ROWS, COLUMNS))
PAGE_UP, PAGE_DOWN, TO_START, FIND = "\x1b[5~", "\x1b[6~", "\x1b[1;5H", "\x06"
THAN = "the smallest Textual app"
TALK = "The function reads every line before it looks at the first one, which takes long when the file is large.\n\n"


def to_frame(app: Watched, work: Callable[[], None]) -> float:
    """Return the milliseconds until the next frame is painted."""
    app.forget()
    began = perf_counter()
    work()
    app.see(FRAME_ENDS)
    return (perf_counter() - began) * 1e3


def resized(app: Watched, *, is_quiet: bool = True) -> tuple[float, float]:
    """Return the milliseconds from a resize to its first and its last frame."""
    firsts: list[float] = []
    lasts: list[float] = []
    for rows, columns in SIZES:
        began = perf_counter()
        firsts.append(to_frame(app, lambda rows=rows, columns=columns: app.resize(rows, columns)))
        if is_quiet:
            app.settle(0.4)
            lasts.append((app.last_wrote - began) * 1e3)
        else:
            app.watch(0.5)
    return median(firsts), median(lasts or [0.0])


def paged(app: Watched) -> float:
    times: list[float] = []
    for key in [PAGE_UP, PAGE_DOWN] * PAGES:
        times.append(to_frame(app, lambda key=key: app.type(key)))
        app.watch(0.03)
    return median(times)


def found(app: Watched) -> tuple[float, float]:
    """Return the milliseconds until the search field opens, and from the last letter until the match is painted."""
    opened = to_frame(app, lambda: app.type(FIND))
    app.settle(0.3)
    app.type("module ")
    app.settle(0.5)
    began = perf_counter()
    app.type("1 is")
    app.settle(0.5)
    taken = (app.last_wrote - began) * 1e3
    app.type("\x1b")
    app.settle(0.5)
    return opened, taken


def main() -> None:
    with smallest(MANY) as app:
        app.watch(2)
        bare_memory, (bare_first, bare_settled) = app.memory(), resized(app)
    with cinch(Script(), FEW) as app:
        few_memory, few_pages, few_resized = app.memory(), paged(app), resized(app)
        few_found = found(app)
    script = Script()
    with cinch(script, MANY) as app:
        memory, pages, (first, settled) = app.memory(), paged(app), resized(app)
        to_start = to_frame(app, lambda: app.type(TO_START))
        app.settle(0.5)
        opened, search = found(app)
        script.items = [Reply(TALK * 40, pause_s=1 / 200)]
        app.type("go\r")
        app.watch(1)
        amid, _ = resized(app, is_quiet=False)
    many, some = f"{MANY:,} messages", f"{FEW} messages"
    report(f"memory of {many}", memory, bare_memory, unit="MB", than=THAN)
    print(f"  {(memory - few_memory) / (MANY - FEW) * 1e3:.2f} KB a message   goal ≤ 3 KB")
    report("resize, first frame", first, bare_first, unit="ms", than=THAN, goal="≤ 50 ms")
    report("  all painted", settled, bare_settled, unit="ms", than=THAN, goal="≤ 150 ms")
    report("  first frame", first, few_resized[0], unit="ms", than=some, goal="ratio ≤ 1.5")
    report("  while streaming 200 words/s", amid, bare_first, unit="ms", than=THAN, goal="≤ 50 ms")
    report("a page up or down", pages, few_pages, unit="ms", than=some, goal="≤ 20 ms")
    print(f"to the start: {to_start:.1f} ms   goal ≤ 50 ms")
    report("a search opened", opened, few_found[0], unit="ms", than=some, goal="≤ 50 ms")
    report("  match in the first message, from the last letter", search, few_found[1], unit="ms", than=some)


if __name__ == "__main__":
    main()
