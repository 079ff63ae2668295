"""A running language server: its process, the handshake, requests and its end."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from msgspec import Struct
from pygls.exceptions import JsonRpcException

from harness.concurrency import cancel_tasks
from harness.errors import LanguageServerError
from harness.terminal_text import escape_controls
from tools.child_process import ChildProcess, Program
from tools.child_streams import open_reader, open_writer, read_log, started, stop
from tools.lsp.client_capabilities import CAPABILITIES
from tools.lsp.diagnostics import PublishedDiagnostics
from tools.lsp.documents import Documents
from tools.lsp.options import LanguageServer
from tools.lsp.text_positions import Encoding, encoding_named
from tools.lsp.watched_files import WatchedFiles
from tools.lsp.wire import Client, Handler, read_messages

logger = logging.getLogger(__name__)

START_S = 60.0
"""Seconds for the handshake; servers for Java take long."""
REQUEST_S = 60.0
"""Seconds for a request; the first one about all files of a project may take long."""
_BUSY = (types.LSPErrorCodes.ContentModified.value, types.LSPErrorCodes.ServerCancelled.value)
"""Errors of a server that is loading a project."""
_RETRY_S = 0.3
_SHUTDOWN_S = 1.0
_LOG_LINES = 20
_SHOWN_ERROR = 300
_CHECK_STARTS = "pyright/beginProgress"
"""Notification that follows diagnostics if files are still to be checked.

pyright first publishes a changed file without the errors of its types, if it checks one that imports it before. Clients
that show no progress are notified by methods of its own.

Source: `createProgressReporter` in pyright's `server.ts`, `onAnalysisCompletedHandler` in `languageServerBase.ts`.
"""
_CHECK_ENDS = "pyright/endProgress"

T = TypeVar("T")


class Launch(Struct, frozen=True):
    """A server with its program."""

    server: LanguageServer
    """The server."""
    program: Program
    """Its program."""
    root: Path
    """Root folder of the project."""
    version: str
    """Version of this program, for the server."""


class Connection:
    """Connection to one server; `run` keeps it until `stop` is called or the server ends."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.name = launch.server.name
        self.client = Client(launch.version)
        self.published = PublishedDiagnostics()
        self.documents = Documents(launch.server, self.client, self.published)
        self.watched = WatchedFiles(launch.root)
        self.capabilities = types.ServerCapabilities()
        self.encoding: Encoding = "utf-16"
        self.is_ready = False
        self.restart_note = ""
        """Note for the model that the server had ended and has been started again; empty once it was returned."""
        self.lock = asyncio.Lock()
        """Held while documents are synchronized and a request refers to them."""
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._stopping = asyncio.Event()
        self._handshake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._error: LanguageServerError | None = None

    async def run(self) -> None:
        """Run the server until it ends or is stopped. Errors are reported by `ready` and by requests."""
        try:
            with started(self.launch.program) as (process, stdin, stdout, stderr):
                await self._serve(process, stdin, stdout, stderr)
        except (OSError, ValueError) as error:
            self._end(f"cannot be started: {error}")
        finally:
            self._end("has been stopped")

    async def ready(self) -> None:
        """Wait until the server can be used.

        Raises:
            LanguageServerError: It cannot be started, or has ended.
        """
        await asyncio.shield(self._handshake)

    def stop(self) -> None:
        """Let `run` shut the server down."""
        self._stopping.set()

    @property
    def has_ended(self) -> bool:
        return self._error is not None

    @property
    def error(self) -> str:
        """Reason why it has ended; empty if it runs."""
        return str(self._error or "")

    async def ask(self, request: Callable[[], Awaitable[T]], timeout_s: float = 0.0) -> T:
        """Return the answer to a request that `request` sends; one that the server refuses for the moment is repeated.

        Raises:
            LanguageServerError: The server failed or did not answer in time.
        """
        seconds = timeout_s or REQUEST_S
        self._raise_if_ended()
        try:
            async with asyncio.timeout(seconds):
                while True:
                    try:
                        return await request()
                    except JsonRpcException as error:
                        if error.code not in _BUSY:
                            raise
                    await asyncio.sleep(_RETRY_S)
        except TimeoutError as error:
            raise self.failure(f"did not answer within {seconds:g} s") from error
        except LanguageServerError as error:
            raise error if error is self._error else self.failure(str(error)) from error
        except JsonRpcException as error:
            raise self.failure(f"reports an error: {_shown(error.message)}") from error

    async def announce_changes(self, changes: Iterable[tuple[Path, bool]] = ()) -> None:
        """Announce files that have changed on disk: watched ones, and others.

        Args:
            changes: Files that are announced in any case, each with True if it is new.
        """
        events = {each.uri: each for each in await self.watched.changes()}
        for path, is_new in changes:
            kind = types.FileChangeType.Created if is_new else types.FileChangeType.Changed
            events.setdefault(path.as_uri(), types.FileEvent(path.as_uri(), kind))
        self.documents.announce(list(events.values()))

    def _raise_if_ended(self) -> None:
        if self._error is not None:
            raise self._error

    def failure(self, predicate: str) -> LanguageServerError:
        """Return an error about this server, with the end of its log if it has ended."""
        return LanguageServerError(f"The language server {self.name} {predicate}.")

    async def _serve(self, process: ChildProcess, stdin: int, stdout: int, stderr: int) -> None:
        try:
            reader, log, writer = await open_reader(stdout), await open_reader(stderr), await open_writer(stdin)
            self.client.connect(writer, self._handlers())
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(self._read(reader, process))
                logging_ = tasks.create_task(read_log(log, self._keep_log))
                try:
                    await self._use()
                finally:
                    writer.close()
                    await asyncio.shield(stop(process, logger.debug))
                    reading.cancel()
                    logging_.cancel()
        finally:
            if process.is_running:
                await process.kill()

    async def _use(self) -> None:
        """Introduce this program to the server, and wait until it is stopped or ends."""
        greeting = asyncio.create_task(self._greet())
        try:
            await self._stopping.wait()
        finally:
            await cancel_tasks([greeting])
        if self.is_ready:
            await self._shut_down()

    async def _greet(self) -> None:
        try:
            await self._initialize()
        except LanguageServerError as error:
            self._end(str(error), is_sentence=True)
            return
        self.is_ready = True
        self._handshake.set_result(None)

    async def _read(self, source: tuple[asyncio.StreamReader, asyncio.BaseTransport], process: ChildProcess) -> None:
        reader, transport = source
        try:
            await read_messages(reader, self.client.protocol)
        except LanguageServerError as error:
            self._end(str(error))
        except OSError as error:
            self._end(f"cannot be read: {error}")
        finally:
            transport.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                self._end(_exit_text(await process.wait()))
        self._end("closed its output")

    async def _initialize(self) -> None:
        root = self.launch.root
        result = await self.ask(
            lambda: self.client.initialize_async(
                types.InitializeParams(
                    capabilities=CAPABILITIES,
                    process_id=os.getpid(),
                    client_info=types.ClientInfo(name="cinch", version=self.launch.version),
                    root_uri=root.as_uri(),
                    root_path=str(root),
                    workspace_folders=[types.WorkspaceFolder(uri=root.as_uri(), name=root.name)],
                    initialization_options=self.launch.server.options or None,
                )
            ),
            self.launch.server.start_s or START_S,
        )
        self.capabilities = result.capabilities
        chosen = str(getattr(result.capabilities.position_encoding, "value", result.capabilities.position_encoding))
        self.encoding = encoding_named(chosen)
        self.client.initialized(types.InitializedParams())
        if settings := self.launch.server.settings:
            self.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))

    async def _shut_down(self) -> None:
        with suppress(LanguageServerError):
            await self.ask(lambda: self.client.shutdown_async(None), _SHUTDOWN_S)
            self.client.exit(None)

    def _end(self, text: str, *, is_sentence: bool = False) -> None:
        """Fail everything that waits for the server; the first reason counts."""
        if self._error is not None:
            return
        self._error = LanguageServerError(text if is_sentence else str(self.failure(text)) + self._log_end())
        self.is_ready = False
        self._stopping.set()
        self.published.end()
        self.client.protocol.fail_all(self._error)
        if not self._handshake.done():
            self._handshake.set_exception(self._error)
            # It is not always awaited.
            self._handshake.exception()

    def _log_end(self) -> str:
        text = _shown("\n".join(self._log).strip())
        return f" Its log ends with: {text}" if text else ""

    def _keep_log(self, text: str) -> None:
        self._log.extend(line[:500] for line in text.split("\n")[-_LOG_LINES:] if line.strip())

    def _handlers(self) -> dict[str, Handler]:
        """Return the functions that handle notifications and requests of the server, by method."""
        root = self.launch.root

        def configuration(params: types.ConfigurationParams) -> list[object]:
            return [self.launch.server.setting(item.section or "") for item in params.items]

        def folders(_: Any) -> list[types.WorkspaceFolder]:
            return [types.WorkspaceFolder(uri=root.as_uri(), name=root.name)]

        def refuse(_: Any) -> types.ApplyWorkspaceEditResult:
            return types.ApplyWorkspaceEditResult(applied=False, failure_reason="Files change only by tool calls.")

        accepted = (
            types.WINDOW_WORK_DONE_PROGRESS_CREATE,
            types.WINDOW_SHOW_MESSAGE_REQUEST,
            types.WORKSPACE_DIAGNOSTIC_REFRESH,
        )
        return {
            **dict.fromkeys(accepted, lambda _: None),
            types.CLIENT_REGISTER_CAPABILITY: self.watched.register,
            types.CLIENT_UNREGISTER_CAPABILITY: self.watched.unregister,
            types.WORKSPACE_CONFIGURATION: configuration,
            types.WORKSPACE_WORKSPACE_FOLDERS: folders,
            types.WORKSPACE_APPLY_EDIT: refuse,
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self.published.publish,
            _CHECK_STARTS: lambda _: self.published.start_check(),
            _CHECK_ENDS: lambda _: self.published.end_check(),
        }


def _exit_text(code: int) -> str:
    return f"exited with status {code}" if code >= 0 else f"was ended by signal {-code}"


def _shown(text: str) -> str:
    return escape_controls(text[-_SHOWN_ERROR:])
