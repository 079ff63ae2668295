"""Permission policy of a program: documentation may be changed, everything else is read-only."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from which_model import which_model

from harness import Agent, AgentOptions, CallFacts, Decision, Risk, ToolExecutionEnd, Workspace
from providers.demo import Call, Reply
from tools import builtin_tools

SCRIPT = (
    Reply(
        (
            Call("write_file", {"path": "docs/index.md", "content": "# Shop\n"}),
            Call("write_file", {"path": "shop.py", "content": "print()\n"}),
        )
    ),
    "I wrote the page; the program stays as it is.",
)


class DocumentationOnly:
    """Allow reading, and changes under docs/."""

    def decide(self, call: CallFacts, risk: Risk) -> Decision:
        is_documentation = bool(risk.paths) and all(path.startswith("docs/") for path in risk.paths)
        if risk.level in ("none", "read") or (risk.level == "edit" and is_documentation):
            return Decision("allow", "it stays within docs/", risk, source="documentation only")
        return Decision("deny", "only docs/ may be changed", risk, source="documentation only")


async def main(folder: Path) -> None:
    options = AgentOptions(workspace=Workspace(folder), permissions=DocumentationOnly())
    agent = Agent(which_model(*SCRIPT), builtin_tools(), "You write documentation.", options)
    async with agent.stream("Begin the documentation.") as run:
        async for event in run:
            if isinstance(event, ToolExecutionEnd):
                print(event.result.text.splitlines()[0])
    print(run.result.text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(main(Path(name)))
