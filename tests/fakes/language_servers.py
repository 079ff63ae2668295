"""Language servers for tests, and the tool over them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fakes.workplace import Called, Workplace

from harness.messages import JsonValue
from tools.edit import EditTool
from tools.lsp.edit_check import EditCheck
from tools.lsp.options import LanguageServer, LspOptions
from tools.lsp.servers import LanguageServers
from tools.lsp.tool import LspTool
from tools.write import WriteTool

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


class CodeTools:
    """The tool and edits in a folder."""

    def __init__(self, root: Path, options: LspOptions, delay_s: float) -> None:
        self.place = Workplace(root)
        self.servers = LanguageServers(options)
        self.check = EditCheck(self.servers, delay_s)
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


@asynccontextmanager
async def code_tools(
    folder: Path,
    *servers: LanguageServer,
    delay_s: float = 0.1,
    is_trusted: bool = True,
    path: str = "",
    idle_s: float = 60,
) -> AsyncIterator[CodeTools]:
    """Yield the tools in a new folder, with these servers and no others."""
    root = folder / "project"
    root.mkdir(exist_ok=True)
    options = LspOptions(
        own=servers,
        is_trusted=lambda: is_trusted,
        environment={**os.environ, "PATH": path or str(folder / "none")},
        idle_s=idle_s,
    )
    tools = CodeTools(root, options, delay_s)
    try:
        yield tools
    finally:
        await tools.check.close()
        await tools.servers.close()
