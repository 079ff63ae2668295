"""Print mode against a local model server, compared with a bare httpx script that does the same."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from fakes.model_server import ModelServer, Reply  # noqa: E402  the path comes first
from measure import as_installed, in_turn, report  # noqa: E402

RUNS = 9
TURNS = 20
BARE = """
import asyncio, httpx, json, sys
async def main():
    async with httpx.AsyncClient() as client:
        messages = [{"role": "user", "content": "hi"}]
        for turn in range(int(sys.argv[2])):
            body = {"model": "m", "stream": True, "messages": messages}
            async with client.stream("POST", sys.argv[1] + "/chat/completions", json=body) as reply:
                async for line in reply.aiter_lines():
                    pass
            open("module.py").read()
            messages.append({"role": "user", "content": "more"})
asyncio.run(main())
"""
AFTER: list[float] = []
"""Milliseconds from the answer to the end of each process."""


def wall(command: list[str], folder: str) -> float:
    env = {**as_installed(), "CINCH_HOME": folder, "CINCH_KEYRING": "off", "PYTHONPATH": str(ROOT)}
    env["OPENAI_API_KEY"] = "x"
    began = time.perf_counter()
    program = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert program.stdout is not None
    answered = time.perf_counter() if program.stdout.read(1) else None
    program.stdout.read()
    if program.wait():
        raise SystemExit(f"{command} failed")
    ended = time.perf_counter()
    if answered:
        AFTER.append((ended - answered) * 1e3)
    return (ended - began) * 1e3


def compare(name: str, folder: str, turns: int, goal: str) -> None:
    calls = [Reply(calls=[("read_file", {"path": "module.py"})])] * (turns - 1)

    def ours() -> float:
        with ModelServer([*calls, Reply("done")]) as server:
            command = [sys.executable, "-m", "cinch_tui", "-p", "hi", "-m", "openai-chat/m"]
            return wall([*command, "--base-url", server.openai_url], folder)

    def bare() -> float:
        with ModelServer([*calls, Reply("done")]) as server:
            return wall([sys.executable, "-c", BARE, server.openai_url, str(turns)], folder)

    ours(), bare()
    took, reference = in_turn(RUNS, ours, bare)
    report(name, took, reference, unit="ms", than="bare httpx", goal=goal)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "module.py").write_text("def load():\n    return 1\n" * 20, encoding="utf-8")
        compare("one word", folder, 1, "≤ 190 ms")
        compare(f"{TURNS} tool turns", folder, TURNS + 1, "≤ 350 ms")
        print(f"exit after the answer: {statistics.median(AFTER):.3g} ms   goal ≤ 30 ms")


if __name__ == "__main__":
    main()
