"""Preloading in threads, in three steps, each before its results are needed, and indexing of sessions while idle.

Behind the first paint: the agent and the commands. Then what sends a request. What shows its reply and runs its tools
takes 5 MB, which an app without a conversation does not need: it is loaded when the user first pauses while typing.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cinch_tui.notifications.presence import Presence
    from harness.agent.run_state import State
    from harness.ports.tool import Tool

MODULES = (
    "cinch_tui.commands.builtin",
    "cinch_tui.api_keys.leak_check",
    "harness.agent.guardrails",
    "cinch_tui.widgets.prompt.history",
    "cinch_tui.transcript.blocks",
    "cinch_tui.assembly.building",
    "cinch_tui.controller.bridge",
    "cinch_tui.user_dialogs.interaction",
    "cinch_tui.reports.summaries",
    "cinch_tui.app.exit_summary",
    "cinch_tui.transcript.history_blocks",
    "filelock",
)
TYPING_PAUSE_S = 0.3
"""Seconds without a key after which an import delays no echo."""

IDLE_S = 3.0
"""Seconds after a run before sessions are indexed."""


def import_modules() -> None:
    """Import what an agent and the first command need; for a thread."""
    for name in MODULES:
        importlib.import_module(name)


async def warm(state: State) -> None:
    """Load what a request needs before the user sends one: building the HTTP client costs as much as a short reply."""
    build: Callable[[], None] | None = getattr(state.model.provider, "warm", None)
    if build:
        await asyncio.to_thread(build)
    facts = state.model.info
    look_up: Callable[[], Awaitable[object]] = getattr(facts, "load_in_subprocess", facts.load)
    await look_up()


async def warm_reply(state: State, presence: Presence) -> None:
    """Load what a reply needs when no key is pressed: the first code on the screen would hold up whoever types then."""
    while (wait := TYPING_PAUSE_S - presence.since_key_s) > 0:  # noqa: ASYNC110  each key sets the time anew
        await asyncio.sleep(wait)
    await asyncio.to_thread(_load_reply, state.tools)


def _load_reply(tools: Sequence[Tool]) -> None:
    from tools import load

    importlib.import_module("cinch_tui.screens.approval")
    importlib.import_module("harness.approval.offers")
    load(tools)
    if any(tool.name == "bash" for tool in tools):
        _read_a_command()
    draw_samples()


def _read_a_command() -> None:
    """Load the grammar and the tables that decide about commands."""
    from tools.shell.analysis import analyze

    analyze("ls | head")


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


async def index_sessions(data_dir: Path, is_running: Callable[[], bool]) -> None:
    """Update the search index once the agent has been idle for a while; the next run or leaving the app stops it."""
    await asyncio.sleep(IDLE_S)
    has_left = threading.Event()
    try:
        # Without an index, as on a read-only disk, a search reads the files.
        with suppress(OSError):
            await asyncio.to_thread(_update_index, data_dir, lambda: has_left.is_set() or is_running())
    finally:
        has_left.set()


def _update_index(data_dir: Path, should_stop: Callable[[], bool]) -> None:
    from harness.session.search_index import update_index

    update_index(data_dir, should_stop)
