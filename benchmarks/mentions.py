"""Completing an `@` path among a million files: cost per key, compared with a plain scan of the list."""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from measure import memory, report, seconds_of  # noqa: E402  the path comes first

from cinch_tui.widgets.prompt.path_completion import MentionCompletion  # noqa: E402
from cinch_tui.widgets.prompt.project_files import FileIndex  # noqa: E402

FILES = 1_000_000
GOAL = 50
"""Milliseconds per key."""
WORDS = (
    "src lib core test model view render parse index main data net http json build tool docs widget screen stream cache"
)
QUERIES = ("widget_screen77", "srcmain", "json/http", "zebra", "Cache", "tls3", "core/docs/view_te")


def generated() -> list[str]:
    chance, words = random.Random(7), WORDS.split()
    folders = ["/".join(chance.choices(words, k=chance.randint(1, 6))) for _ in range(FILES // 25)]
    name = "{0}/{1[0]}_{1[1]}{2}.py".format
    return [name(chance.choice(folders), chance.choices(words, k=2), number % 1_000) for number in range(FILES)]


def key_seconds(mentions: MentionCompletion, query: str) -> list[float]:
    """Return the seconds of each key of the query, including the work in the background."""
    spent: list[float] = []
    for end in range(1, len(query) + 1):
        before = f"see @{query[:end]}"
        spent.append(seconds_of(lambda before=before: mentions.complete(before, one_line=True)))
    while mentions.has_more:
        spent.append(seconds_of(lambda: mentions.complete(f"see @{query}", one_line=True)))
    return spent


def main() -> None:
    before = memory()
    paths = generated()
    as_list = memory()
    mentions = MentionCompletion(ROOT)
    began = time.perf_counter()
    mentions._index = FileIndex(paths)
    built = time.perf_counter() - began
    print(f"index of {len(paths):,} files: {built:.2f} s in a thread, at most once in {30 * built:.0f} s")
    report("memory", memory() - as_list, as_list - before, unit="MB", than="the list of them")
    spent = [seconds for query in QUERIES for seconds in key_seconds(mentions, query)]
    scans = [
        seconds_of(lambda query=query: [path for path in paths if query.lower() in path.lower()]) for query in QUERIES
    ]
    scan = statistics.median(scans) * 1e3
    for name, figure in (("key, median", statistics.median(spent)), ("key, worst", max(spent))):
        report(name, figure * 1e3, scan, unit="ms", than="a scan of the list", goal=f"≤ {GOAL} ms")


if __name__ == "__main__":
    main()
