"""Leftovers of aborted runs: during a reply, during a command, and with a background job."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from dataclasses import fields
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from fakes.leftovers import Held, break_off_runs, held, model_server  # noqa: E402  the path comes first
from measure import memory  # noqa: E402

ROUNDS = 30


async def work(base_url: str, folder: Path) -> tuple[Held, Held]:
    """Return the resources before and after the runs, in one event loop, with a warm-up before."""
    await break_off_runs(base_url, folder, 1)
    before = held()
    await break_off_runs(base_url, folder, ROUNDS)
    return before, held()


def main() -> None:
    os.environ["OPENAI_API_KEY"] = "none"
    with tempfile.TemporaryDirectory() as name, model_server(Path(name)) as base_url:
        outside, small, began = held(), memory(), time.perf_counter()
        before, after = asyncio.run(work(base_url, Path(name)))
        took, grown, end = time.perf_counter() - began, memory() - small, held()
    print(f"{ROUNDS * 12} runs aborted in {took:.1f} s; memory grew by {grown:.1f} MB, imports included")
    for each in fields(Held):
        first, last = (after, before) if each.name != "threads" else (end, outside)
        counts = getattr(first, each.name), getattr(last, each.name)
        print(f"  {each.name}: {counts[0]} after, {counts[1]} before, {counts[0] - counts[1]} left   goal 0")


if __name__ == "__main__":
    main()
