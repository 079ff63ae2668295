"""Session grants in the status line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cinch_tui.controller.controller import SessionController
    from harness.events import Event


def show_grants(controller: SessionController) -> None:
    """Show what this session allows."""
    bar = controller.screen.widgets.status
    bar.status = replace(bar.status, allowed=controller.agent.state.grants.session_grants)


def follow_grants(controller: SessionController) -> Callable[[Event], None]:
    """Return a subscriber that shows the grants after each answer, also to a sub-agent's call, and after a plan."""
    from harness.events import ModeChanged, SubagentEvent, ToolApprovalResolved

    def follow(event: Event) -> None:
        while isinstance(event, SubagentEvent):
            event = event.event
        if isinstance(event, ToolApprovalResolved | ModeChanged):
            show_grants(controller)

    return follow
