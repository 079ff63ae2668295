"""The whole program in a terminal against a local model server: long replies, unthrottled and paced, and tool turns."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from fakes.model_server import Raw, Reply  # noqa: E402  the path comes first
from measure import report  # noqa: E402
from stage import Script, cinch, smallest  # noqa: E402
from terminal import Watched  # noqa: E402
from transcript import answer  # noqa: E402

TURNS = 20
FLAT_OUT = 20_000
PACED = 2_000
RATE = 200
WATCHED = 5
THAN = "the smallest Textual app"
READ = Reply(calls=[("read_file", {"path": "module.py"})])


def end_of(tokens: int) -> str:
    """Return the last word of a reply: one token for a lexer, too, since the reply may end in a code block."""
    return f"ßendof{tokens}ß"


def flat_out(tokens: int) -> Raw:
    """Return a reply of this many deltas without pause, and a last word."""
    deltas = [*answer(tokens), f"\n\n{end_of(tokens)}"]
    chunks = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return Raw(body.encode(), chunk_size=16_384)


def cost_of(app: Watched, sign: str, work: Callable[[], None]) -> tuple[float, float, int]:
    """Return the CPU seconds, the seconds until the sign is painted, and the bytes to the terminal."""
    cpu, written, began = app.cpu(), app.written, time.perf_counter()
    work()
    app.see(sign.encode())
    took = time.perf_counter() - began
    app.settle(0.3)
    return app.cpu() - cpu, took, app.written - written


def answers(app: Watched, script: Script) -> None:
    with smallest() as bare:
        bare_cpu, bare_took, _ = cost_of(bare, "§done§", lambda: bare.type(f"{FLAT_OUT}\r"))
    reference = 0.0
    for name, tokens in (("20,000 tokens", FLAT_OUT), ("40,000 more", 40_000), ("20,000 again", 20_001)):
        script.items = [flat_out(tokens)]
        cpu, took, written = cost_of(app, end_of(tokens), lambda: app.type("go\r"))
        if not reference:
            reference = cpu
            report(f"{name}, CPU", cpu, bare_cpu, unit="s", than=THAN, goal="≤ 0.5 s")
            report("  painted after", took, bare_took, unit="s", than=THAN)
        goal = "" if tokens == 40_000 else "   goal ≤ 0.5 s CPU"
        print(f"{name}: {cpu:.2f} s CPU ({cpu / reference:.2f} × the first), painted after {took:.2f} s{goal}")
        print(f"  {written / 1e3:.0f} KB to the terminal, {app.memory():.1f} MB")


def paced(app: Watched, script: Script) -> None:
    text = "".join(answer(PACED)) + " §paced-end§"
    script.items = [Reply(text, pause_s=1 / RATE)]
    frames = app.frames
    cpu, took, written = cost_of(app, "§paced-end§", lambda: app.type("slowly\r"))
    frames = app.frames - frames
    with smallest(rate=RATE) as bare:
        bare_cpu, bare_written, bare_frames = bare.cpu(), bare.written, bare.frames
        bare.watch(WATCHED)
        bare_cpu, bare_written = bare.cpu() - bare_cpu, bare.written - bare_written
        bare_frames = bare.frames - bare_frames
    spent, bare_spent = cpu / took * 10, bare_cpu / WATCHED * 10
    report(f"{RATE} tokens/s, CPU per 10 s", spent, bare_spent, unit="s", than=THAN, goal="≤ 1.2 s")
    each, bare_each = written / took / RATE, bare_written / WATCHED / RATE
    report("  to the terminal, a token", each, bare_each, unit="bytes", than=THAN, goal="≤ 250 bytes")
    report("  frames a second", frames / took, bare_frames / WATCHED, unit="frames", than=THAN, goal="≤ 30")


def turns(app: Watched, script: Script) -> None:
    script.items = [*[READ] * TURNS, Reply("§turned§")]
    script.asked.clear()
    typed = time.perf_counter()
    app.type("look\r")
    app.see("§turned§".encode())
    gaps = [(later - sooner) * 1e3 for sooner, later in zip(script.asked, script.asked[1:], strict=False)]
    print(f"Enter to request: {(script.asked[0] - typed) * 1e3:.1f} ms   goal ≤ 30")
    print(f"request to next request with one read_file between: {statistics.median(gaps):.1f} ms   goal ≤ 4")


def main() -> None:
    script = Script()
    with cinch(script) as app:
        turns(app, script)
        answers(app, script)
        paced(app, script)


if __name__ == "__main__":
    main()
