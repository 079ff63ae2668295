"""Tool calls while the model writes them: a long file takes it a minute, during which nothing else is shown."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from cinch_tui.widgets.tool_panel import ToolPanel
from harness.agent.tool_search import CALL_TOOL
from harness.deltas import BlockStart
from harness.messages import JsonObject
from harness.ports.tool import Tool

SHOW_AFTER_S = 0.5
"""Seconds after which a call is shown; most are written by then."""
_MOST_READ = 2_000
"""Characters at the beginning of the arguments that are read for the summary."""
# The quotes of JSON within a string are escaped, so that its members are not found.
_MEMBER = re.compile(r'"(\w+)"\s*:\s*("(?:[^"\\]|\\.)*")')
_LINE_FEED = "\\n"


class _WrittenCall(Struct):
    id: str
    name: str
    since: float
    beginning: str = ""
    lines: int = 0
    is_shown: bool = False


class WrittenCalls:
    """Shows calls in the panel of running calls until they have been written.

    Args:
        panel: The panel.
        tools: Returns the tools that the model may call.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, panel: ToolPanel, tools: Callable[[], Sequence[Tool]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._panel = panel
        self._tools = tools
        self._clock = clock
        self._calls: dict[int, _WrittenCall] = {}

    def begin(self, start: BlockStart) -> None:
        """Note that the model begins to write a call."""
        self._calls[start.index] = _WrittenCall(start.call_id, start.name, self._clock())

    def add(self, index: int, text: str) -> None:
        """Add a part of the arguments, as JSON; other blocks are ignored."""
        call = self._calls.get(index)
        if call is None:
            return
        call.lines += text.count(_LINE_FEED)
        is_read = len(call.beginning) >= _MOST_READ
        if not is_read:
            call.beginning += text
        if self._clock() < call.since + SHOW_AFTER_S:
            return
        if not (is_read and call.is_shown):
            self._panel.written(call.id, *self._described(call), since=call.since)
            call.is_shown = True
        if call.lines:
            self._panel.updated(call.id, f"{call.lines:,} {'line' if call.lines == 1 else 'lines'}")

    def end(self) -> None:
        """Note that all calls were written, or that the reply was discarded."""
        if any(call.is_shown for call in self._calls.values()):
            self._panel.retire()
        self._calls.clear()

    def _described(self, call: _WrittenCall) -> tuple[str, str]:
        """Return label and summary, as far as the arguments tell."""
        given: JsonObject = {}
        for name, value in _MEMBER.findall(call.beginning):
            with suppress(ValueError):
                given.setdefault(name, json.loads(value))
        name = call.name
        if name == CALL_TOOL:
            name = str(given.pop("name", name))
        tool = next((tool for tool in self._tools() if tool.name == name), None)
        if tool is None:
            return name, ""
        # The tool may be the user's own, and expects complete arguments.
        with suppress(Exception):
            return tool.label, str(tool.summary(given) or "")
        return tool.label, ""
