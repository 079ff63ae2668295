"""MCP: overhead of a call over the SDK's own, and the cost of a start without servers.

Goals: at most 5 ms per call, and no module of the SDK without a configured server.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fakes.mcp_servers import listed, make_context, make_host, raw_server, running, tool_of  # noqa: E402
from mcp import Client  # noqa: E402
from mcp.client.stdio import StdioServerParameters  # noqa: E402

CALLS = 300
MAX_OVERHEAD_MS = 5.0


async def own_calls(folder: Path) -> float:
    """Return the median time of a call through cinch, in milliseconds."""
    async with running([raw_server(tools=[listed("echo")])], make_host(folder)) as manager:
        tool, context = tool_of(manager, "echo"), make_context(folder)
        return await _median(lambda: tool.run(tool.validate({}), context))


async def sdk_calls() -> float:
    """Return the median time of a call through the SDK alone, in milliseconds."""
    server = raw_server(tools=[listed("echo")])
    parameters = StdioServerParameters(command=server.command, args=list(server.args))
    async with Client(parameters) as client:
        return await _median(lambda: client.call_tool("echo", {}))


async def _median(call) -> float:
    times: list[float] = []
    for _ in range(CALLS):
        began = time.perf_counter()
        await call()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def modules_without_servers() -> list[str]:
    """Return the modules of the SDK that a start without servers loads."""
    names = "{m.split('.')[0] for m in sys.modules} & {'mcp', 'mcp_types', 'httpx2'}"
    code = f"import sys, cinch_tui.assembly.building; print(*{names})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    return done.stdout.split()


async def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        own, sdk = await own_calls(Path(folder)), await sdk_calls()
    loaded = modules_without_servers()
    print(
        f"call over stdio: {own:.2f} ms, SDK alone {sdk:.2f} ms: {own - sdk:.2f} ms more (goal: {MAX_OVERHEAD_MS:g} ms)"
    )
    print(f"modules of the SDK without a server: {len(loaded)} (goal: 0)")
    return 0 if own - sdk <= MAX_OVERHEAD_MS and not loaded else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
