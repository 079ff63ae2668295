"""Language servers for tests, and the tool over them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.workplace import Called, Workplace
from msgspec.structs import replace

from harness.messages import JsonValue
from tools.edit import EditTool
from tools.lsp.edit_check import EditCheck
from tools.lsp.options import LanguageServer, LspOptions, known_servers
from tools.lsp.servers import LanguageServers
from tools.lsp.tool import LspTool
from tools.write import WriteTool

NODE_MODULES = Path(sys.prefix) / "lsp-servers" / "node_modules"
RAW_SERVER = Path(__file__).with_name("lsp_raw_server.py")


def raw_server(name: str = "raw", **script: JsonValue) -> LanguageServer:
    """Return a server in plain Python for text files."""
    return LanguageServer(
        {"*.txt": "plaintext"}, (sys.executable, str(RAW_SERVER), json.dumps(script)), name, languages=("text",)
    )


def jedi_server() -> LanguageServer:
    """Return a real server for Python."""
    program = shutil.which("jedi-language-server", path=str(Path(sys.executable).parent))
    return LanguageServer({"*.py": "python"}, (program or "jedi-language-server",), "jedi", languages=("python",))


def npm_server(name: str, program: str) -> LanguageServer:
    """Return a known server with its program from npm; without it, the test is skipped, or fails in CI.

    Args:
        name: Name in the table of known servers.
        program: Path of the program in `node_modules`.
    """
    path, node = NODE_MODULES / program, shutil.which("node")
    if not node or not path.exists():
        text = f"{program} is not installed: make .venv/.installed-lsp"
        (pytest.fail if os.environ.get("REQUIRE_ALL_TESTS") else pytest.skip)(text)
    server = next(each for each in known_servers() if each.name == name)
    return replace(server, command=(node, str(path), *server.command[1:]), needs="")


class CodeTools:
    """The tool and edits in a folder."""

    def __init__(self, root: Path, options: LspOptions) -> None:
        self.place = Workplace(root)
        self.servers = LanguageServers(options)
        self.check = EditCheck(self.servers)
        self.lsp = LspTool(self.servers, [self.check])
        self.edit_file = EditTool([self.check])
        self.write_file = WriteTool([self.check])

    async def ask(self, operation: str, path: str = "", line: int = 0, symbol: str = "", **others: JsonValue) -> Called:
        return await self.place.call(self.lsp, operation=operation, path=path, line=line, symbol=symbol, **others)

    async def edit(self, path: str, old: str, new: str) -> Called:
        await self.place.workspace.read(path)
        return await self.place.call(self.edit_file, path=path, old_string=old, new_string=new)

    async def write(self, path: str, content: str) -> Called:
        return await self.place.call(self.write_file, path=path, content=content)

    async def until_watching(self) -> None:
        """Wait until each server has registered what it watches, which may follow its first answer."""
        async with asyncio.timeout(30):
            for each in await self.servers.for_workspace(self.place.root.resolve()):
                while not each.watched.is_active:
                    await asyncio.sleep(0.01)
                # Waits for the baseline.
                assert await each.watched.changes() == []


@asynccontextmanager
async def code_tools(
    folder: Path,
    *servers: LanguageServer,
    edit_wait_s: float = 0.1,
    is_trusted: bool = True,
    idle_s: float = 60,
) -> AsyncIterator[CodeTools]:
    """Yield the tools in a new folder, with these servers and no others."""
    root = folder / "project"
    root.mkdir(exist_ok=True)
    options = LspOptions(
        own=servers,
        is_trusted=lambda: is_trusted,
        environment={**os.environ, "PATH": str(folder / "none")},
        idle_s=idle_s,
        edit_wait_s=edit_wait_s,
    )
    tools = CodeTools(root, options)
    try:
        yield tools
    finally:
        await tools.check.close()
        await tools.servers.close()
