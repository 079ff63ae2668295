"""Beginning of all requests of a session, as its header records it: system prompt and tools."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.ports.provider import ToolSpec
from harness.session.notes import HeaderNote, hash_of, tool_hashes
from harness.session.records import Envelope, header_note

if TYPE_CHECKING:
    from harness.session.resume import LoadedSession

logger = logging.getLogger(__name__)


class RecordedPrefix:
    """Writes a header with the first message, and another one when system prompt or tools were replaced."""

    def __init__(self, resumed: LoadedSession | None) -> None:
        self.system: Callable[[], str] = str
        """Returns the agent's system prompt."""
        self.tools: Callable[[], Sequence[ToolSpec]] = tuple
        """Returns the tools that the agent declares."""
        self.cache_key: Callable[[], str] = str
        """Returns the key by which services cache the beginning of the requests; empty for the session's own id."""
        self._recorded = (hash_of(resumed.system), list(resumed.tools.items())) if resumed else None
        self._declared: Sequence[ToolSpec] | None = None
        self._hashes: dict[str, str] = {}

    def header(self, envelope: Envelope, timestamp: str) -> HeaderNote | None:
        """Return the header to write; None if the recorded one still applies."""
        system, tools = self.system(), self._tools()
        current = (hash_of(system), list(tools.items()))
        if current == self._recorded:
            return None
        self._recorded = current
        return header_note(envelope, timestamp, system, tools, self.cache_key())

    def _tools(self) -> dict[str, str]:
        try:
            declared = self.tools()
        except Exception:  # user-supplied tools; may raise. The model call reports it
            logger.exception("the tools could not be listed")
            return self._hashes
        # Comparing is much faster than computing the hashes.
        if declared != self._declared:
            self._declared, self._hashes = declared, tool_hashes(declared)
        return self._hashes
