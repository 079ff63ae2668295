"""A hook that blocks pushes to the main branch."""

from __future__ import annotations

import re

from harness import Block, Hooks, ToolCall

PUSH = re.compile(r"\bgit\b.*\bpush\b.*\b(main|master)\b")


class NoPush(Hooks):
    """Blocks shell commands that push to the main branch, whatever the permission rules allow."""

    async def before_tool(self, call: ToolCall) -> Block | None:
        if call.name == "bash" and PUSH.search(str(call.arguments.get("command", ""))):
            return Block("Push a branch and open a pull request instead.")
        return None
