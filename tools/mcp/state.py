"""State of an MCP server for the user: phase, tools, problems and log. Texts of servers are cleaned and truncated."""

from __future__ import annotations

from collections import deque
from typing import Literal, TypeAlias

from msgspec import Struct

from harness.errors import CinchError
from harness.terminal_text import escape_controls, strip_escapes
from tools.mcp.server_config import McpServer

Phase: TypeAlias = Literal["off", "connecting", "connected", "needs_login", "failed", "reconnecting"]
"""Phase of a connection.

- `off`: not started, or closed
- `connecting`: started, handshake in progress
- `connected`: tools can be called
- `needs_login`: the server rejects the credentials, or requires a login
- `failed`: never connected, or given up; `reason` says why
- `reconnecting`: the connection was lost; calls wait
"""

LOG_LINES = 200
LOG_LINE_CHARS = 500
NAME_CHARS = 100


class RequestFailed(CinchError):
    """A request to a server failed: it is not connected, the connection was lost, or it answered with an error."""


class ServerError(RequestFailed):
    """A server answered a request with an error, whose text is that of the server."""


class ServerState(Struct, frozen=True):
    """State of a server at one moment."""

    server: McpServer
    """Configuration."""
    phase: Phase = "off"
    """Phase of the connection."""
    reason: str = ""
    """Explanation of the phase: an error, or the time of the next attempt."""
    title: str = ""
    """Name and version that the server reports."""
    protocol: str = ""
    """Version of the protocol in use."""
    retry_at: float = 0.0
    """Time of the next attempt to connect, on the monotonic clock; 0: none is planned."""
    instructions: str = ""
    """Usage instructions of the server."""
    tools: tuple[str, ...] = ()
    """Names of its tools, as the model calls them."""
    resources: int = 0
    """Number of its resources and resource templates."""
    prompts: int = 0
    """Number of its prompts."""
    problems: tuple[str, ...] = ()
    """Tools and lists that were skipped, with the reasons."""
    log: tuple[str, ...] = ()
    """Latest lines of standard error and log notifications, oldest first."""


class LogRing:
    """The latest lines that a server logs; older ones are dropped."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=LOG_LINES)

    def add(self, text: str) -> None:
        """Add text; each of its lines is cleaned and truncated."""
        # A flood of text costs no more than what is kept of it.
        for line in text[-LOG_LINES * LOG_LINE_CHARS :].splitlines()[-LOG_LINES:]:
            if line.strip():
                self._lines.append(clean_line(line, LOG_LINE_CHARS))

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines)

    @property
    def last(self) -> str:
        return self._lines[-1] if self._lines else ""


def clean_text(text: str, limit: int) -> str:
    """Return text of a server without escape sequences, with invisible characters made visible, and truncated."""
    # Sequences are removed before truncation: a truncated one would not be recognized.
    shown = escape_controls(strip_escapes(text[: limit * 4]))
    return shown if len(shown) <= limit and len(text) <= limit * 4 else f"{shown[: limit - 1]}…"


def clean_line(text: str, limit: int = NAME_CHARS) -> str:
    """Return `clean_text` on one line."""
    return " ".join(clean_text(text, limit).split())
