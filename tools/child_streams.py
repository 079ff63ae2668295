"""Standard streams of a child process that exchanges messages with this program, such as an MCP or language server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from tools.child_process import ChildProcess, Program

CHUNK_BYTES = 1 << 16
_EXIT_GRACE_S = 1.0
"""Seconds a server gets to exit after its standard input was closed; then it is killed."""
_LOG_PAUSE_S = 0.01


@contextmanager
def started(program: Program) -> Generator[tuple[ChildProcess, int, int, int]]:
    """Start a program, and yield it with our ends of its standard streams."""
    (child_in, stdin), (stdout, child_out), (stderr, child_err) = os.pipe(), os.pipe(), os.pipe()
    try:
        process = ChildProcess.start(program, child_in, child_out, child_err)
    except BaseException:
        for descriptor in (stdin, stdout, stderr):
            os.close(descriptor)
        raise
    finally:
        for descriptor in (child_in, child_out, child_err):
            os.close(descriptor)
    yield process, stdin, stdout, stderr


async def open_reader(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    reader = asyncio.StreamReader(limit=CHUNK_BYTES)
    pipe = os.fdopen(descriptor, "rb", 0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    return reader, transport


async def open_writer(descriptor: int) -> asyncio.StreamWriter:
    loop, pipe = asyncio.get_running_loop(), os.fdopen(descriptor, "wb", 0)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def read_log(source: tuple[asyncio.StreamReader, asyncio.BaseTransport], log: Callable[[str], None]) -> None:
    reader, transport = source
    rest = ""
    try:
        while data := await reader.read(CHUNK_BYTES):
            *lines, rest = (rest + data.decode("utf-8", "replace")).split("\n")
            rest = rest[-CHUNK_BYTES:]
            log("\n".join(lines))
            if len(data) == CHUNK_BYTES:
                # Slows a flood down.
                await asyncio.sleep(_LOG_PAUSE_S)
    finally:
        log(rest)
        transport.close()


async def stop(process: ChildProcess, log: Callable[[str], None]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_EXIT_GRACE_S):
            code = await process.wait()
            log(f"exited with status {code}" if code >= 0 else f"ended by signal {-code}")
    await process.kill()
