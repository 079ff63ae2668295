"""Resource usage of a process, from the kernel."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

GROWTH_KB = 40_000
"""Memory the interpreter keeps after the largest conversation, and modules loaded on first use.

It levels off after some minutes; live objects are counted by `in_process`.
"""

POOL = 4
"""Threads of Python's pools, which are kept."""

KEPT = {"socket": 4, "pipe": 1, ".log": 1, ".jsonl": 1, ".lock": 1}
"""Open files, by the ends of their names: kept connections to a model, the pipe to the process guard, the log, and
the session file.
"""

GUARD = 1
"""The process guard, started by the first command."""


@dataclass(frozen=True, slots=True)
class Vitals:
    memory_kb: int
    threads: int
    files: tuple[str, ...]
    """Return what its file descriptors refer to; a socket or pipe by its kind only."""

    children: int

    def __str__(self) -> str:
        counts = f"{self.threads} threads, {len(self.files)} files, {self.children} children"
        return f"{self.memory_kb / 1000:.1f} MB, {counts}"


def vitals(pid: int) -> Vitals:
    process = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    children = (process / "task" / str(pid) / "children").read_text().split()
    private = int(status["RssAnon"].split()[0])
    return Vitals(private, int(status["Threads"]), _files(process), len(children))


def _files(process: Path) -> tuple[str, ...]:
    names: list[str] = []
    for descriptor in (process / "fd").iterdir():
        try:
            names.append(re.sub(r":\[\d+\]$", "", str(descriptor.readlink())))
        except FileNotFoundError:
            continue
    return tuple(sorted(names))


def grown(before: Vitals, after: Vitals) -> list[str]:
    """Return what has grown; memory by more than caches."""
    more = [
        ("memory", after.memory_kb - before.memory_kb, GROWTH_KB),
        ("threads", after.threads - before.threads, POOL),
        ("children", after.children - before.children, GUARD),
    ]
    old, new = _by_kind(before), _by_kind(after)
    more += [(f"open files {kind}", new[kind] - old[kind], KEPT.get(kind, 0)) for kind in new]
    return [f"{name} grew by {by:,}: {before} → {after}" for name, by, allowed in more if by > allowed]


def _by_kind(seen: Vitals) -> Counter[str]:
    """Return the number of open files by known name endings, otherwise by name."""
    return Counter(next((end for end in KEPT if name.endswith(end)), name) for name in seen.files)
