"""Git repository with two branches, and git tools called in it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from fakes.contexts import tool_context

from harness.messages import JsonObject
from harness.ports.tool import ToolOutput
from tools.builtin import create_tool

Git = Callable[..., str]


def repository(folder: Path) -> Git:
    """Create a repository with one commit on `main` and a branch `other` that changes a.py; return what runs git."""

    def run(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout

    (folder / "a.py").write_text("one\n")
    (folder / ".gitignore").write_text("local.txt\n")
    run("init", "-q", "-b", "main")
    run("config", "user.name", "N")
    run("config", "user.email", "n@example.com")
    run("add", ".")
    run("commit", "-q", "-m", "start")
    run("checkout", "-q", "-b", "other")
    (folder / "a.py").write_text("two\n")
    run("commit", "-q", "-a", "-m", "second")
    run("checkout", "-q", "main")
    return run


async def use(folder: Path, name: str, arguments: JsonObject) -> ToolOutput:
    tool = create_tool(name)
    return await tool.run(tool.validate(arguments), tool_context(folder))


def text_of(output: ToolOutput) -> str:
    return "".join(getattr(block, "text", "") for block in output.content)
