"""Cost of the conversation view, each figure with a reference measured in the same run.

Run `python benchmarks/transcript.py` for all parts, or one by its name: `open`, `flat`, `echo`, `pty`.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import pty
import re
import resource
import struct
import sys
import termios
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input

from cinch_tui.transcript.blocks import ReplyBlock, ToolBlock, UserBlock
from cinch_tui.transcript.view import Transcript
from harness.views import TerminalView

STYLES = Path(__file__).resolve().parents[1] / "cinch_tui" / "styles"
SIZE = (120, 40)
ANSWER = """## Step {n}: findings

The function `load_{n}` reads **every** line before it looks at the first one, which is why the
start takes so long when the file is large. It should stop as soon as it has seen enough.

- read line by line, and stop at the first match
- keep the *last* offset, so that the next call continues from there
- see [the notes](https://example.org/{n}) for the format

```python
def load_{n}(path: Path) -> Iterator[str]:
    with path.open() as lines:
        for line in lines:
            yield line.rstrip()
```

"""


class Bench(App[None]):
    CSS_PATH: ClassVar[list[str | Path]] = [STYLES / "code.tcss", STYLES / "transcript.tcss"]

    def compose(self) -> ComposeResult:
        yield Transcript()
        yield Input()


def words(text: str) -> list[str]:
    """Return the text in tokens of about four characters, as a model sends it."""
    return [text[start : start + 4] for start in range(0, len(text), 4)]


def answer(tokens: int) -> list[str]:
    text, number = "", 0
    while len(text) < tokens * 4:
        text += ANSWER.format(n=number)
        number += 1
    return words(text)[:tokens]


def messages(count: int) -> list[UserBlock | ReplyBlock | ToolBlock]:
    blocks: list[UserBlock | ReplyBlock | ToolBlock] = []
    for number in range(count):
        match number % 3:
            case 0:
                blocks.append(UserBlock(f"Look at step {number} and fix it."))
            case 1:
                block = ToolBlock(str(number), "Bash", f"pytest -k step_{number}")
                block.status = "done"
                block.view = TerminalView(f"pytest -k step_{number}", "one passed\n" * 20, 0)
                blocks.append(block)
            case _:
                blocks.append(ReplyBlock(ANSWER.format(n=number) * 2))
    return blocks


def memory() -> float:
    """Return the resident memory of this process, in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


async def with_view(leg: Callable[[Transcript, Bench], Awaitable[None]]) -> None:
    app = Bench()
    async with app.run_test(size=SIZE):
        view = app.query_one(Transcript)
        view.add(ReplyBlock(ANSWER.format(n=0)))
        await view.drained()
        view.clear()
        await view.drained()
        await leg(view, app)


async def opening(view: Transcript, app: Bench) -> None:
    del app
    reference = 0.0
    for count in (10, 1_000, 10_000):
        blocks = messages(count)
        gc.collect()
        before, start = memory(), time.perf_counter()
        view.extend(blocks)
        fed = time.perf_counter() - start
        await view.drained()
        took = time.perf_counter() - start
        reference = reference or took
        print(
            f"open {count:>6} messages: {took * 1e3:7.1f} ms to the screen ({took / reference:5.2f} × that of 10), "
            f"extend {fed * 1e3:6.1f} ms, {memory() - before:5.1f} MB more"
        )
        view.clear()
        await view.drained()


async def flat_out(view: Transcript, app: Bench) -> None:
    del app
    reference = 0.0
    for name, tokens in (("20,000 tokens", 20_000), ("40,000 more", 40_000), ("20,000 again", 20_000)):
        fragments = answer(tokens)
        cpu, start = time.process_time(), time.perf_counter()
        block = ReplyBlock()
        view.add(block)
        for number, fragment in enumerate(fragments):
            block.append(fragment)
            view.changed(block)
            if number % 50 == 0:
                await asyncio.sleep(0)
        block.finish()
        view.changed(block)
        await view.drained()
        cpu, took = time.process_time() - cpu, time.perf_counter() - start
        reference = reference or cpu
        print(f"unthrottled, {name}: {cpu:.3f} s CPU ({cpu / reference:4.2f} × the first), painted after {took:.3f} s")
        print(f"  memory {memory():.1f} MB")


async def echo(view: Transcript, app: Bench) -> None:
    prompt = app.query_one(Input)
    prompt.focus()

    async def typed() -> list[float]:
        times: list[float] = []
        for _ in range(60):
            start = time.perf_counter()
            echoed = asyncio.Event()
            app.post_message(events.Key("x", "x"))
            app.call_later(app.call_after_refresh, echoed.set)
            await echoed.wait()
            times.append((time.perf_counter() - start) * 1e3)
            await asyncio.sleep(0.05)
        return sorted(times)

    quiet = await typed()
    view.extend(messages(1_000))
    block = ReplyBlock()
    view.add(block)
    stop = asyncio.Event()
    cpu, start = time.process_time(), time.perf_counter()

    async def stream() -> None:
        for fragment in answer(100_000):
            if stop.is_set():
                return
            block.append(fragment)
            view.changed(block)
            await asyncio.sleep(1 / 200)

    task = asyncio.create_task(stream())
    busy = await typed()
    stop.set()
    await task
    share = (time.process_time() - cpu) / (time.perf_counter() - start)
    for name, times in (("quiet", quiet), ("at 200 tokens/s", busy)):
        ratio = times[56] / quiet[56]
        print(f"key to echo, {name}: median {times[30]:.1f} ms, p95 {times[56]:.1f} ms ({ratio:.1f} × quiet)")
    print(f"CPU while streaming: {share * 10:.2f} s per 10 s")


class Streaming(Bench):
    """App that streams, measures its CPU time, and exits."""

    def on_mount(self) -> None:
        self.run_worker(self.stream())

    async def stream(self) -> None:
        view = self.query_one(Transcript)
        block = ReplyBlock()
        view.add(block)
        start, cpu = time.perf_counter(), time.process_time()
        for number, fragment in enumerate(answer(2_000)):
            block.append(fragment)
            view.changed(block)
            await asyncio.sleep(max(0, start + (number + 1) / 200 - time.perf_counter()))
        block.finish()
        view.changed(block)
        await view.drained()
        self.exit(message=f"{time.process_time() - cpu:.2f} {memory():.1f}")


def in_a_terminal() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
        os.execv(sys.executable, [sys.executable, __file__, "--stream"])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
    written = 0
    last = b""
    try:
        while chunk := os.read(terminal, 65_536):
            written += len(chunk)
            last = (last + chunk)[-200:]
    except OSError:  # Linux reports a closed terminal this way
        pass
    os.waitpid(pid, 0)
    cpu, megabytes = re.findall(r"[\d.]+", last.decode(errors="replace"))[-2:]
    print(f"200 tokens/s for 10 s in a pty: {written / 2_000:.0f} bytes per token, {cpu} s CPU, {megabytes} MB")


LEGS = {"open": opening, "flat": flat_out, "echo": echo}


def main() -> None:
    if "--stream" in sys.argv:
        Streaming().run()
        return
    for name, leg in LEGS.items():
        if len(sys.argv) < 2 or name in sys.argv[1:]:
            asyncio.run(with_view(leg))
    if len(sys.argv) < 2 or "pty" in sys.argv[1:]:
        in_a_terminal()


if __name__ == "__main__":
    main()
