"""What a process takes of the machine, as the kernel tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

GROWTH_KB = 40_000
"""What the interpreter keeps of what the largest conversation once took, and what is loaded when it is first used.

It levels off after some minutes; what is alive is counted in this process, see `in_process`.
"""

POOL = 4
"""Threads that Python starts for errands as they are needed, and keeps."""


@dataclass(frozen=True, slots=True)
class Vitals:
    memory_kb: int
    threads: int
    files: int
    children: int

    def __str__(self) -> str:
        return f"{self.memory_kb / 1000:.1f} MB, {self.threads} threads, {self.files} files, {self.children} children"


def vitals(pid: int) -> Vitals:
    process = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    children = (process / "task" / str(pid) / "children").read_text().split()
    private = int(status["RssAnon"].split()[0])
    return Vitals(private, int(status["Threads"]), len(list((process / "fd").iterdir())), len(children))


def grown(before: Vitals, after: Vitals) -> list[str]:
    """What is more than it was; memory by more than caches."""
    more = [
        ("memory", after.memory_kb - before.memory_kb, GROWTH_KB),
        ("threads", after.threads - before.threads, POOL),
        ("open files", after.files - before.files, 1),
        ("children", after.children - before.children, 0),
    ]
    return [f"{name} grew by {by:,}: {before} → {after}" for name, by, allowed in more if by > allowed]
