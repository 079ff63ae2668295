"""Logins at MCP servers, stored in the system keyring or in files that only their owner can read."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import DecodeError, field
from msgspec.json import decode, encode

from harness.errors import ConfigError
from harness.messages import JsonObject, JsonValue
from harness.structs import Redacted
from harness.workspace.disk import write_atomically
from tools.mcp.server_config import McpServer

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK_SECONDS = 30.0
"""Longest wait for another process that refreshes the same token."""
LOCK_INTERVAL_S = 0.05

logger = logging.getLogger(__name__)


class Keyring(Protocol):
    """Passwords in the system keyring. Calls block, and do nothing without a keyring."""

    def get(self, name: str) -> str | None:
        """Return a password; None if absent."""
        ...

    def set(self, name: str, password: str) -> bool:
        """Store a password; return False if that failed."""
        ...

    def delete(self, name: str) -> None:
        """Delete a password, if present."""
        ...


class Login(Redacted, frozen=True):
    """Tokens for one server, with everything needed to refresh and revoke them."""

    _hidden = ("tokens", "client")

    tokens: JsonObject = field(default_factory=dict[str, JsonValue])
    """Token response (RFC 6749, 5.1); empty once the refresh token was rejected."""
    expires_at: float = 0.0
    """Unix time at which the access token expires; 0: unknown."""
    client: JsonObject = field(default_factory=dict[str, JsonValue])
    """Client information (RFC 7591, 3.2.1)."""
    authorization_server: JsonObject = field(default_factory=dict[str, JsonValue])
    """Metadata of the authorization server (RFC 8414); empty: none published."""
    resource: JsonObject = field(default_factory=dict[str, JsonValue])
    """Metadata of the protected resource (RFC 9728); empty: none published."""
    required_scope: str = ""
    """Scopes that the next login has to request, since the server rejected a call without them."""


class _Record(Redacted, frozen=True):
    _hidden = ("login",)

    server: str
    url: str
    in_keyring: bool = False
    login: Login | None = None


class TokenStore:
    """Stores one login per server name and URL.

    Args:
        folder: Folder of the files; created when the first login is stored.
        keyring: System keyring, which is preferred; None: files only.
    """

    def __init__(self, folder: Path, keyring: Keyring | None = None) -> None:
        self._folder = folder
        self._keyring = keyring

    def load(self, server: McpServer) -> Login | None:
        """Return the login; None if absent or damaged. Blocks, with a keyring for up to some seconds."""
        file = self._file(server)
        try:
            record = decode(file.read_bytes(), type=_Record)
            if not record.in_keyring:
                return record.login
            password = self._keyring.get(_entry(server)) if self._keyring else None
            return decode(password, type=Login) if password else None
        except FileNotFoundError:
            return None
        except (OSError, DecodeError, ValueError) as error:
            # Without the error's text, which may quote the content.
            logger.warning("%s: the login cannot be read (%s)", file, type(error).__name__)
            return None

    def has_login(self, server: McpServer) -> bool:
        """Return True if a login is stored; does not use the keyring."""
        return self._file(server).is_file()

    def save(self, server: McpServer, login: Login) -> None:
        """Store a login in place of the former one. Blocks, as `load`.

        Raises:
            ConfigError: It cannot be stored.
        """
        is_kept = self._keyring is not None and self._keyring.set(_entry(server), encode(login).decode())
        record = _Record(server.name, server.url, in_keyring=is_kept, login=None if is_kept else login)
        file = self._file(server)
        try:
            _make_folder(file.parent)
            write_atomically(file, encode(record) + b"\n")
        except OSError as error:
            raise ConfigError(f"{file}: the login cannot be stored: {error.strerror}") from error

    def delete(self, server: McpServer) -> None:
        """Delete the login, if present.

        Raises:
            ConfigError: It cannot be deleted.
        """
        file = self._file(server)
        if self._keyring is not None:
            self._keyring.delete(_entry(server))
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(f"{file}: the login cannot be deleted: {error.strerror}") from error
        # The lock stays if there is one: another process may wait for it.
        with suppress(OSError):
            file.parent.rmdir()

    @asynccontextmanager
    async def lock(self, server: McpServer) -> AsyncGenerator[None]:
        """Exclude other processes, and other tasks, while a token is refreshed.

        Continues without the lock if it cannot be had: the worst result is another login.
        """
        from filelock import FileLock  # 15 ms, and most starts refresh nothing

        lock = FileLock(self._file(server).with_suffix(".lock"), mode=0o600, thread_local=False)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOCK_SECONDS):
                    # Not in a thread: a cancelled wait would leave the lock behind.
                    while not _take(lock):  # noqa: ASYNC110 the lock is released by another process
                        await asyncio.sleep(LOCK_INTERVAL_S)
        except OSError as error:
            logger.warning("%s cannot be locked: %s", lock.lock_file, error.strerror)
        try:
            yield
        finally:
            lock.release()

    def _file(self, server: McpServer) -> Path:
        # The name is one of those that the agent may not read without approval.
        return self._folder / _identifier(server) / "credentials.json"


def _take(lock: BaseFileLock) -> bool:
    from filelock import Timeout

    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True


def _make_folder(folder: Path) -> None:
    """Create a folder and its parents for their owner only; `mkdir` gives the parents the usual mode."""
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)


def _identifier(server: McpServer) -> str:
    digest = hashlib.sha256(f"{server.name}\0{server.url}".encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', server.name)[:40]}-{digest}"


def _entry(server: McpServer) -> str:
    return f"mcp:{_identifier(server)}"
