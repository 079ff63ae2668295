"""Working folder, and tools called in it as the agent loop calls them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fakes.people import ScriptedUser

from harness.messages import JsonValue
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.views import View
from harness.workspace.workspace import Workspace


class Workplace:
    def __init__(self, root: Path, extra: Sequence[Path] = ()) -> None:
        self.root = root
        self.workspace = Workspace(root, extra, readable=[root.parent / "spilled"])
        user = ScriptedUser()
        self.context = ToolContext("call-1", self.workspace, user, user.review_plan, root.parent / "spilled")

    def put(self, path: str, content: str | bytes = "") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    async def call(self, tool: Tool, **arguments: JsonValue) -> Called:
        return Called(await tool.run(tool.validate(arguments), self.context))

    async def foresee(self, tool: Tool, **arguments: JsonValue) -> View | ToolOutput | None:
        return await tool.preview(tool.validate(arguments), self.context)


@dataclass(frozen=True, slots=True)
class Called:
    output: ToolOutput

    @property
    def text(self) -> str:
        return "".join(getattr(block, "text", "") for block in self.output.content)

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()
