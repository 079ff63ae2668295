"""Tool contexts without an agent loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fakes.people import ScriptedPerson

from harness.ports.tool import ToolContext
from harness.views import View
from harness.workspace.workspace import Workspace


def tool_context(
    folder: Path,
    person: ScriptedPerson | None = None,
    *,
    update: Callable[[View], None] = lambda view: None,
) -> ToolContext:
    """Return a context whose workspace is `folder` and whose spilled output goes to `folder/spill`."""
    someone = person or ScriptedPerson()
    return ToolContext(
        call_id="call/1",
        workspace=Workspace(folder),
        user=someone,
        propose_plan=someone.review_plan,
        spill_dir=folder / "spill",
        update=update,
    )
