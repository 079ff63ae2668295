"""The command `/todos`, which lists the TODO comments in the files that git tracks."""

from __future__ import annotations

import asyncio

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import CommandGroup
from harness import CinchError

TODOS = CommandGroup("To-dos")


@TODOS.command("/todos [text]", "list the TODO comments in the project")
async def todos(host: CommandHost, argument: str) -> None:
    command = ("git", "grep", "-n", "-I", "--fixed-strings", "-e", f"TODO{argument and f': {argument}'}")
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=host.session.assembly.workspace.root,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    found, errors = await process.communicate()
    if errors:
        raise CinchError(errors.decode(errors="replace").strip())
    lines = found.decode(errors="replace").splitlines()
    host.show("To-dos", "\n".join(f"    {line}" for line in lines) or "There are none.")
