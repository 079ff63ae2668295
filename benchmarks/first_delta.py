"""From the last byte of a request, read by a local server, to the first delta of its reply on the agent's bus.

The server is a separate process and answers at once. It writes the time when it had read the request into the first
delta; all processes share the clock.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

import httpx  # noqa: E402  the path comes first
from fakes import anthropic_wire, gemini_wire, ollama_wire, openai_wire, responses_wire  # noqa: E402
from fakes.model_server import Reply  # noqa: E402
from measure import report  # noqa: E402

from harness.agent.agent import Agent  # noqa: E402
from harness.agent.options import AgentOptions  # noqa: E402
from harness.deltas import BlockDelta  # noqa: E402
from harness.events import Event, MessageUpdate  # noqa: E402
from harness.ports.provider import Model  # noqa: E402
from harness.workspace.workspace import Workspace  # noqa: E402
from providers import connect  # noqa: E402

WIRES = {
    "anthropic": anthropic_wire,
    "openai-chat": openai_wire,
    "openai": responses_wire,
    "gemini": gemini_wire,
    "ollama": ollama_wire,
}
PATHS = {"gemini": "", "anthropic": "", "openai-chat": "/v1", "openai": "/v1", "ollama": ""}
REQUESTS = 300
UNCOUNTED = 30
STAMP = "A" * 12
A_LOOKUP = b'{"capabilities": ["completion"], "model_info": {}, "models": []}'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\n"


def now() -> int:
    """Return the microseconds, with as many digits as the stamp."""
    return time.monotonic_ns() // 1000 % 10 ** len(STAMP)


async def serve(wire_name: str) -> None:
    """Serve on a local port, which is printed first."""
    wire = WIRES[wire_name]
    kind = getattr(wire, "CONTENT_TYPE", "text/event-stream").encode()
    events = b"".join(wire.events(Reply(f"{STAMP} and more"), "m", 1))
    answer = HEAD % kind + b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(events), events)
    lookup = HEAD % b"application/json" + b"content-length: %d\r\n\r\n%b" % (len(A_LOOKUP), A_LOOKUP)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
            except asyncio.IncompleteReadError:
                break
            length = head.partition(b"content-length:")[2].split(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
            at = now()
            asks_model = head.startswith(b"post") and not head.startswith(b"post /api/show")
            writer.write(answer.replace(STAMP.encode(), b"%012d" % at) if asks_model else lookup)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def measured(wire: str) -> tuple[list[float], list[float]]:
    """Return the milliseconds of each request: cinch to the bus, and httpx to the first bytes."""
    program = (sys.executable, __file__, wire)
    server = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE)
    assert server.stdout
    port = int(await server.stdout.readline())
    model = connect(f"{wire}/m", base_url=f"http://127.0.0.1:{port}{PATHS[wire]}")
    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            ours: list[float] = []
            bare: list[float] = []
            for _ in range(REQUESTS + UNCOUNTED):
                ours.append(await once(lambda: published(model)))
                bare.append(await once(lambda: received(client, f"http://127.0.0.1:{port}/v1/messages")))
    finally:
        await model.provider.close()
        server.terminate()
        await server.wait()
    return ours[UNCOUNTED:], bare[UNCOUNTED:]


async def once(ask: Callable[[], Awaitable[tuple[int, int]]]) -> float:
    there, here = await ask()
    return (here - there) / 1000


async def published(model: Model) -> tuple[int, int]:
    """Return the times when the server had read the request and when the first delta was published."""
    received: list[tuple[int, int]] = []

    def receive(event: Event) -> None:
        if not received and isinstance(event, MessageUpdate) and isinstance(event.delta, BlockDelta):
            received.append((int(event.delta.text), now()))

    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(model, [], options=AgentOptions(workspace=Workspace(Path(folder))))
        agent.subscribe(receive)
        await agent.prompt("go")
    return received[0]


async def received(client: httpx.AsyncClient, url: str) -> tuple[int, int]:
    async with client.stream("POST", url, content=b"{}") as response:
        chunks = response.aiter_raw()
        first = await anext(chunks)
        here = now()
        async for _ in chunks:
            pass
    marked = next(part for part in first.split(b'"') if part[:12].isdigit() and len(part) == len(STAMP))
    return int(marked), here


async def main() -> None:
    for wire in WIRES:
        ours, bare = await measured(wire)
        for name, figure in (
            ("median", statistics.median),
            ("95 %", lambda each: statistics.quantiles(each, n=20)[-1]),
        ):
            label = f"{wire}, {name}"
            report(label, figure(ours), figure(bare), unit="ms", than="httpx to its first bytes", goal="≤ 2 ms")


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]) if sys.argv[1:] else main())
