"""Tool contexts without an agent loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fakes.people import ScriptedUser

from harness.ports.tool import ToolContext
from harness.views import View
from harness.workspace.workspace import Workspace


def tool_context(
    folder: Path,
    scripted_user: ScriptedUser | None = None,
    *,
    update: Callable[[View], None] = lambda view: None,
) -> ToolContext:
    """Return a context whose workspace is `folder` and whose spilled output goes to `folder/spill`."""
    someone = scripted_user or ScriptedUser()
    return ToolContext(
        call_id="call/1",
        workspace=Workspace(folder),
        user=someone,
        propose_plan=someone.review_plan,
        spill_dir=folder / "spill",
        update=update,
    )
