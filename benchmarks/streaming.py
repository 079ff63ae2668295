"""The whole program in a terminal against a local model server: long answers flat out and paced, and tool turns."""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from fakes.model_server import Item, ModelServer, Raw, Reply  # noqa: E402  the path comes first
from terminal import Watched, watched  # noqa: E402
from transcript import answer  # noqa: E402

TURNS = 20
PACED = 2_000
READ = Reply(calls=[("read_file", {"path": "module.py"})])


def flat_out(tokens: int) -> Raw:
    """So many deltas as fast as they are read, and a last word to look for."""
    deltas = [*answer(tokens), f"\n\nend-of-{tokens}."]
    chunks = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return Raw(body.encode(), chunk_size=16_384)


class Script:
    """Answers with what is put in `items`, and notes when each request came."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.asked: list[float] = []

    def __call__(self, body: dict[str, Any]) -> Item:
        del body
        self.asked.append(time.perf_counter())
        return self.items.pop(0)


def cost_of(cinch: Watched, sign: str, work: Callable[[], None]) -> tuple[float, float, int]:
    """Seconds of processor time, seconds until the sign is painted, and bytes to the terminal."""
    cpu, written, began = cinch.cpu(), cinch.written, time.perf_counter()
    work()
    cinch.see(sign.encode())
    took = time.perf_counter() - began
    cinch.settle(0.3)
    return cinch.cpu() - cpu, took, cinch.written - written


def answers(cinch: Watched, script: Script) -> None:
    reference = 0.0
    for name, tokens in (("20,000 tokens", 20_000), ("40,000 more", 40_000), ("20,000 again", 20_001)):
        script.items = [flat_out(tokens)]
        cpu, took, written = cost_of(cinch, f"end-of-{tokens}", lambda: cinch.type("go\r"))
        reference = reference or cpu
        goal = "" if tokens == 40_000 else "   goal ≤ 0.5 s CPU"
        print(f"{name}: {cpu:.2f} s CPU ({cpu / reference:.2f} × the first), painted after {took:.2f} s{goal}")
        print(f"  {written / 1e3:.0f} KB to the terminal, {cinch.memory():.1f} MB")


def paced(cinch: Watched, script: Script) -> None:
    text = "".join(answer(PACED)) + " paced-end."
    script.items = [Reply(text, pause_s=1 / 200)]
    cpu, took, written = cost_of(cinch, "paced-end", lambda: cinch.type("slowly\r"))
    each = written / took / 200
    print(f"200 tokens/s: {cpu / took * 10:.2f} s CPU per 10 s   goal ≤ 2; {each:.0f} bytes a token   goal ≤ 250")


def turns(cinch: Watched, script: Script) -> None:
    script.items = [*[READ] * TURNS, Reply("turned.")]
    script.asked.clear()
    typed = time.perf_counter()
    cinch.type("look\r")
    cinch.see(b"turned.")
    gaps = [(later - sooner) * 1e3 for sooner, later in zip(script.asked, script.asked[1:], strict=False)]
    print(f"Enter to request: {(script.asked[0] - typed) * 1e3:.1f} ms   goal ≤ 30")
    print(f"request to next request with one read_file between: {statistics.median(gaps):.1f} ms   goal ≤ 10")


def idle(cinch: Watched) -> None:
    cinch.settle(3)
    cpu = cinch.cpu()
    time.sleep(5)
    print(f"idle: {(cinch.cpu() - cpu) / 5:.1%} of a core   goal ≤ 0.5 %")


def main() -> None:
    script = Script()
    with tempfile.TemporaryDirectory() as folder, ModelServer(script) as server:
        (Path(folder) / "module.py").write_text("def load():\n    return 1\n" * 20, encoding="utf-8")
        env = {**os.environ, "CINCH_HOME": f"{folder}/home", "CINCH_KEYRING": "off", "OPENAI_API_KEY": "x"}
        env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "cinch_tui", "-m", "openai-chat/m", "--base-url", server.openai_url]
        with watched(command, env, folder) as cinch:
            cinch.see(b"openai-chat/m")
            cinch.settle(1)
            print(f"memory idle: {cinch.memory():.1f} MB   goal ≤ 55")
            turns(cinch, script)
            answers(cinch, script)
            paced(cinch, script)
            idle(cinch)


if __name__ == "__main__":
    main()
