"""Shared by the benchmarks: medians of runs taken in turn, since machines drift, and one line per figure."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path


def in_turn(runs: int, *works: Callable[[], float]) -> list[float]:
    """Return the median of each work; the works take turns so that drift affects all alike."""
    figures: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for taken, work in zip(figures, works, strict=True):
            taken.append(work())
    return [statistics.median(taken) for taken in figures]


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def as_installed() -> dict[str, str]:
    """Return the environment with bytecode caching enabled, as after an installation."""
    bytecode = str(Path(tempfile.gettempdir()) / "cinch-benchmarks")
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}


def process_tree(process: int) -> list[int]:
    """Return a process and its descendants."""
    children = [each for path in Path(f"/proc/{process}/task").glob("*/children") for each in path.read_text().split()]
    return [process, *(each for child in children for each in process_tree(int(child)))]


def memory(process: int | str = "self") -> float:
    """Return the memory of a process (PSS), in megabytes."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def report(name: str, figure: float, reference: float, *, unit: str, than: str, goal: str = "") -> None:
    """Print a figure, its reference and their ratio."""
    aim = f"   goal {goal}" if goal else ""
    print(f"{name}: {figure:.3g} {unit}, {than} {reference:.3g} {unit}, ratio {figure / reference:.2f}{aim}")
