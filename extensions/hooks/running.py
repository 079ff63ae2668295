"""Execution of one hook: a command with the event as JSON on its input, a request to an endpoint, or a question."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from extensions.hooks.config import LONGEST_TIMEOUT_S, HookHandler
from extensions.hooks.model_hooks import HookModels
from extensions.hooks.replies import HookOutput
from harness.errors import ProviderError
from http_client.addresses import is_loopback, shown_address
from tools.child_process import Program
from tools.shell_command import ShellCommand, run_program, shell_program

if TYPE_CHECKING:
    from http_client.pool import Pool

MOST_BYTES = 1_000_000
"""Bytes of output, or of a response, that are read."""
_PLACEHOLDER = re.compile(r"\$\{(CLAUDE_PROJECT_DIR|CINCH_PROJECT_DIR|CLAUDE_PLUGIN_ROOT)\}")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class HookPlace(Struct, frozen=True):
    """Folders, environment and models of hooks."""

    cwd: Path
    """Folder that the agent works in."""
    project: Path
    """Folder of the project, for hooks that belong to none."""
    environment: Mapping[str, str]
    """Environment variables, without API keys."""
    models: HookModels | None = None
    """Models that hooks of type `prompt` ask; None if they decide nothing."""

    def environment_of(self, handler: HookHandler) -> dict[str, str]:
        """Return the environment of a hook."""
        project = str(handler.source.project or self.project)
        own = {"CLAUDE_PROJECT_DIR": project, "CINCH_PROJECT_DIR": project}
        if handler.source.root is not None:
            own["CLAUDE_PLUGIN_ROOT"] = str(handler.source.root)
        return {**self.environment, **own}


class HookExecutor:
    """Runs hooks in one place, and keeps connections to endpoints open."""

    def __init__(self, place: HookPlace) -> None:
        self._place = place
        self._pools: dict[str, Pool] = {}

    async def run(
        self, handler: HookHandler, payload: bytes, on_detach: Callable[[], None] = lambda: None
    ) -> HookOutput:
        """Run a hook within its time limit. When it is exceeded, or cancelled, no process of the hook is left.

        Args:
            handler: The hook.
            payload: The event as JSON.
            on_detach: Called when the hook asks to continue in the background.
        """
        started, limit_s = time.monotonic(), handler.limit_s
        try:
            async with asyncio.timeout(limit_s) as timeout:

                def detach(seconds: float | None) -> None:
                    nonlocal limit_s
                    if seconds is not None:
                        limit_s = seconds
                        timeout.reschedule(asyncio.get_running_loop().time() + seconds)
                    on_detach()

                if handler.prompt:
                    return await self._ask(handler, payload)
                if handler.url:
                    return await self._post(handler, payload)
                return await self._execute(handler, payload, detach)
        except TimeoutError:
            return HookOutput(duration=time.monotonic() - started, failure=f"timed out after {limit_s:g} s")

    async def close(self) -> None:
        """Close the connections."""
        for pool in self._pools.values():
            await pool.close()
        self._pools.clear()

    async def _ask(self, handler: HookHandler, payload: bytes) -> HookOutput:
        models = self._place.models
        return await models.ask(handler, payload) if models else HookOutput(failure="there is no model to ask")

    async def _execute(
        self, handler: HookHandler, payload: bytes, detach: Callable[[float | None], None]
    ) -> HookOutput:
        out, err = _Received(detach), _Received()
        try:
            result = await run_program(_program(handler, self._place), payload, out.add, err.add)
        except (OSError, ValueError) as error:
            return HookOutput(failure=f"cannot be started: {error}")
        return HookOutput(result.exit_code, out.text, err.text, result.duration)

    async def _post(self, handler: HookHandler, payload: bytes) -> HookOutput:
        started, where = time.monotonic(), shown_address(handler.url)
        try:
            status, body = await self._response(handler, payload, where)
        except (ProviderError, ValueError) as error:
            return HookOutput(duration=time.monotonic() - started, failure=str(error))
        output = HookOutput(0, body.decode("utf-8", "replace").strip(), duration=time.monotonic() - started)
        if not 200 <= status < 300:
            return replace(output, failure=f"{where} replied with HTTP status {status}")
        if output.stdout and not output.stdout.startswith("{"):
            return replace(output, failure=f"{where} did not reply with JSON")
        return output

    async def _response(self, handler: HookHandler, payload: bytes, where: str) -> tuple[int, bytes]:
        """Return status and body of a response; redirects are not followed.

        Raises:
            ProviderError: The endpoint cannot be reached.
            ValueError: The address or a header is not valid, or the connection would not be encrypted.
        """
        parts = urlsplit(handler.url)
        if parts.scheme != "https" and not (is_loopback(parts.hostname or "") or handler.allow_http):
            raise ValueError(f"{where} is not encrypted; use https, or set allow_http = true for the hook")
        # Imported here because few hooks are endpoints.
        from http_client.connection_errors import connection_error
        from http_client.pool import Pool
        from http_client.responses import fill, open_response

        pool = self._pools.setdefault(f"{parts.scheme}://{parts.netloc}", Pool(handler.url))
        headers = {"content-type": "application/json", **_headers(handler, self._place.environment)}
        body = bytearray()
        async with pool.client() as client:
            with connection_error(where, pool.proxy):
                request = client.build_request("POST", handler.url, content=payload, headers=headers)
                async with open_response(client, request) as response:
                    await fill(body, response, MOST_BYTES)
                    return response.status_code, bytes(body[:MOST_BYTES])


class _Received:
    """Beginning of the output of a program.

    Args:
        detach: Called with a time limit in seconds, if there is one, when the first line is `{"async": true}`.
    """

    def __init__(self, detach: Callable[[float | None], None] | None = None) -> None:
        self._data = bytearray()
        self._detach = detach

    def add(self, data: bytes) -> None:
        self._data += data[: MOST_BYTES - len(self._data)]
        if self._detach is not None and (end := self._data.find(b"\n") + 1):
            detach, self._detach = self._detach, None
            request = _background_request(bytes(self._data[:end]))
            if request is not None:
                del self._data[:end]
                detach(request.timeout_s)

    @property
    def text(self) -> str:
        return self._data.decode("utf-8", "replace")


class _BackgroundRequest(Struct):
    """First line of the output of a hook that continues in the background."""

    is_background: bool = field(name="async")
    timeout_ms: float = field(default=0, name="asyncTimeout")
    """Time limit in milliseconds; 0 for the usual one."""

    @property
    def timeout_s(self) -> float | None:
        return min(self.timeout_ms / 1000, LONGEST_TIMEOUT_S) if self.timeout_ms > 0 else None


def _background_request(line: bytes) -> _BackgroundRequest | None:
    try:
        request = msgspec.json.decode(line, type=_BackgroundRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return request if request.is_background else None


def _program(handler: HookHandler, place: HookPlace) -> Program:
    environment = place.environment_of(handler)
    if handler.args is None:
        # The shell fills in the placeholders, which are variables.
        return shell_program(ShellCommand(handler.command, place.cwd, environment))

    def filled(text: str) -> str:
        return _PLACEHOLDER.sub(lambda found: environment.get(found[1], found[0]), text)

    return Program((filled(handler.command), *map(filled, handler.args)), place.cwd, environment)


def _headers(handler: HookHandler, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a hook with the variables that it allows; others are empty."""
    allowed = {name: environment.get(name, "") for name in handler.variables}
    return {
        name: _VARIABLE.sub(lambda found: allowed.get(found[1] or found[2], ""), value)
        for name, value in handler.headers.items()
    }
