"""What a process takes of the machine, as the kernel tells it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

GROWTH_KB = 40_000
"""What the interpreter keeps of what the largest conversation once took, and what is loaded when it is first used.

It levels off after some minutes; what is alive is counted in this process, see `in_process`.
"""

POOL = 4
"""Threads that Python starts for errands as they are needed, and keeps."""

KEPT = {"socket": 4, "pipe": 1, ".log": 1, ".jsonl": 1, ".lock": 1}
"""Open files, by how their names end: connections to a model that stay open for the next request, the pipe to the
process guard, the log, which is opened when there is something to tell, and the session that goes on."""

GUARD = 1
"""The process guard, started by the first command."""


@dataclass(frozen=True, slots=True)
class Vitals:
    memory_kb: int
    threads: int
    files: tuple[str, ...]
    """What its file descriptors stand for; a socket or pipe by its kind alone."""

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
    """What is more than it was; memory by more than caches."""
    more = [
        ("memory", after.memory_kb - before.memory_kb, GROWTH_KB),
        ("threads", after.threads - before.threads, POOL),
        ("children", after.children - before.children, GUARD),
    ]
    old, new = _by_kind(before), _by_kind(after)
    more += [(f"open files {kind}", new[kind] - old[kind], KEPT.get(kind, 0)) for kind in new]
    return [f"{name} grew by {by:,}: {before} → {after}" for name, by, allowed in more if by > allowed]


def _by_kind(seen: Vitals) -> Counter[str]:
    """How many files are open, by the ends of their names where we know them, else by their names."""
    return Counter(next((end for end in KEPT if name.endswith(end)), name) for name in seen.files)
