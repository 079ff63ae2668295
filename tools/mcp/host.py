"""Services of the program for MCP servers: questions to the user, model calls, folders, authentication."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from harness.messages import AssistantMessage, UserMessage
from harness.user_requests import Answer, Question
from tools.mcp.server_config import McpServer

if TYPE_CHECKING:
    import httpx2


class SamplingRequest(Struct, frozen=True):
    """Request of a server for a reply of the model, which the user has allowed."""

    server: str
    """Name of the server."""
    messages: tuple[UserMessage | AssistantMessage, ...]
    """Conversation to reply to."""
    system_prompt: str = ""
    """System prompt of the server; empty: none."""
    max_tokens: int = 0
    """Maximum length of the reply in tokens; 0: the usual one."""
    temperature: float | None = None
    """Sampling temperature."""


class SampledReply(Struct, frozen=True):
    """Reply of a model."""

    text: str
    """The text."""
    model: str
    """Name of the model."""
    is_truncated: bool = False
    """True if the reply reached the maximum length."""


Ask = Callable[[Question], Awaitable[Answer]]
Sample = Callable[[SamplingRequest], Awaitable[SampledReply]]
Authenticate = Callable[[McpServer], Awaitable["httpx2.Auth | None"]]


async def _no_authentication(server: McpServer) -> httpx2.Auth | None:
    del server
    return None


class McpHost(Struct, frozen=True):
    """Services of the program. The defaults serve a program without a user."""

    root: Path
    """Working folder of stdio servers."""
    spill_dir: Path
    """Folder for files in results: audio, binary resources."""
    ask: Ask | None = None
    """Asks the user a question of a server; None: there is no user, and such requests are declined."""
    sample: Sample | None = None
    """Lets the agent's model reply to a conversation; None: such requests are refused."""
    model_name: Callable[[], str] = lambda: "your model"
    """Returns the name of the model that replies, for the question to the user."""
    roots: Callable[[], Sequence[Path]] = tuple
    """Returns the folders that servers may know of: the workspace and added folders."""
    environment: Mapping[str, str] = {}
    """Environment of this process. Servers receive a few harmless variables of it, and none that holds a key."""
    secrets: Callable[[], Iterable[str]] = tuple
    """Returns the names of variables that hold API keys of providers."""
    authenticate: Authenticate = _no_authentication
    """Returns the authentication for a remote server."""
    version: str = ""
    """Version of the program, sent to servers."""
