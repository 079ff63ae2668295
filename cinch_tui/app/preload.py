"""Preloading behind the first paint, before anyone waits for it."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.agent.run_state import State

MODULES = (
    "cinch_tui.commands.builtin",
    "cinch_tui.api_keys.leak_check",
    "harness.agent.guardrails",
    "cinch_tui.widgets.prompt.history",
    "cinch_tui.transcript.blocks",
    "cinch_tui.assembly",
    "cinch_tui.controller.bridge",
    "cinch_tui.user_dialogs.interaction",
    "cinch_tui.reports.summaries",
    "cinch_tui.app.exit_summary",
    "cinch_tui.transcript.history_blocks",
    "cinch_tui.transcript.markdown",
    "cinch_tui.screens.approval",
    "filelock",
)


def import_modules() -> None:
    """Import what an agent and the first command need; for a thread."""
    for name in MODULES:
        importlib.import_module(name)


async def warm(state: State) -> None:
    """Load what the first turn needs before it begins: building the HTTP client costs as much as a short reply, and the
    first code on the screen would hold up whoever types meanwhile."""
    from tools import load

    build: Callable[[], None] | None = getattr(state.model.provider, "warm", None)
    if build:
        await asyncio.to_thread(build)
    await asyncio.to_thread(load, state.tools)
    facts = state.model.info
    look_up: Callable[[], Awaitable[object]] = getattr(facts, "load_in_subprocess", facts.load)
    await look_up()
    await asyncio.to_thread(draw_samples)


def draw_samples() -> None:
    """Draw Markdown, code and a tool call, whose imports take some hundred milliseconds."""
    from cinch_tui.transcript.markdown import DrawContext, piece_lines
    from cinch_tui.transcript.markdown_splitter import Piece
    from cinch_tui.transcript.styles import BlockStyles
    from cinch_tui.transcript.tool_call_state import ToolCallState
    from cinch_tui.transcript.tool_lines import header_line

    styles = BlockStyles.bare()
    for source in ("*warm* …", "```python\nwarm = 1\n```"):
        piece_lines(Piece(source), {}, DrawContext(styles, 80))
    header_line(ToolCallState("", ""), styles, 80, folded=True, selected=False)
