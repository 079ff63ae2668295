"""Approvals in code, answered from the events of a run: notes may be written, everything else is denied."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from which_model import which_model

from harness import (
    Agent,
    AgentOptions,
    AllowOnce,
    Denied,
    PendingRequests,
    ToolApprovalRequested,
    ToolExecutionEnd,
    Workspace,
    innermost,
)
from providers.demo import Call, Reply
from tools import builtin_tools

SCRIPT = (
    Reply(
        (
            Call("write_file", {"path": "notes/today.md", "content": "Buy tea.\n"}),
            Call("bash", {"command": "rm -rf notes"}),
        )
    ),
    "I wrote the note; deleting the old ones was denied.",
)


async def main(folder: Path) -> None:
    options = AgentOptions(workspace=Workspace(folder), user=PendingRequests(timeout=60))
    agent = Agent(which_model(*SCRIPT), builtin_tools(), "You keep notes.", options)
    async with agent.stream("Note in notes/today.md to buy tea, and delete the old notes.") as run:
        async for event in run:
            # Events of subagents are wrapped in those of the agent.
            match innermost(event):
                case ToolApprovalRequested(call=call):
                    is_note = call.name == "write_file" and str(call.arguments["path"]).startswith("notes/")
                    run.respond(call.id, AllowOnce() if is_note else Denied("Only notes may be written."))
                case ToolExecutionEnd(result=result):
                    print(f"{result.tool_name}: {'denied' if result.is_error else 'done'}")
                case _:
                    pass
    print(run.result.text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(main(Path(name)))
        print("The note:", (Path(name) / "notes" / "today.md").read_text(encoding="utf-8"), end="")
