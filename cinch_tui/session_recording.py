"""Recording of an agent's conversation in the file of its session."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.agent.agent import Agent
from harness.ports.tool import specs_of
from harness.session.recorder import SessionRecorder

if TYPE_CHECKING:
    from harness.session.resume import LoadedSession

_TIMEOUT_S = 10.0
"""Seconds to wait for the session before, if the disk does not respond."""


class SessionRecording:
    """Recorder of the open session, and closing of those before."""

    def __init__(self) -> None:
        self.store: SessionRecorder | None = None
        """Recorder of the open session; None if it is not saved."""
        self._subscriptions = ExitStack()
        self._closer: ThreadPoolExecutor | None = None
        self._closing: Future[None] | None = None

    def recorder(self, agent: Agent, data_dir: Path, root: Path, loaded: LoadedSession | None) -> SessionRecorder:
        """Return a recorder of the agent's session; it records nothing before `start`."""
        loop = asyncio.get_running_loop()

        def warn(text: str) -> None:
            # A session is closed in a thread, and the loop may have ended.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(partial(agent.notify, text, level="warning"))

        store = SessionRecorder(data_dir, root, agent.session_id, resumed=loaded, on_problem=warn)
        store.prefix.system = lambda: agent.state.system_prompt
        store.prefix.cache_key = lambda: agent.state.cache_key
        store.prefix.tools = lambda: specs_of(agent.state.available_tools)
        return store

    def start(self, agent: Agent, store: SessionRecorder) -> None:
        """Record the events of the agent from now on."""
        self.store = store
        store.choose(agent.state.model.spec)
        self._subscriptions.callback(agent.subscribe(store.store))
        self._subscriptions.callback(agent.add_drain(store.drain))

    def stop(self) -> None:
        """Record no more events; the file stays open."""
        self._subscriptions.close()

    def release(self, next_path: Path | None) -> None:
        """Close the file in a thread, since that flushes it to the disk.

        Args:
            next_path: the file that is opened next; if it is the same, this waits.
        """
        self.stop()
        if self.store is None:
            return
        self._closer = self._closer or ThreadPoolExecutor(1, "session-close")
        self._closing = self._closer.submit(self.store.close)
        if self.store.path == next_path:
            self._closing.result()
        self.store = None

    async def released(self) -> None:
        """Wait until the sessions before are closed, but not longer than users do for a disk that does not respond."""
        if self._closing is not None:
            await asyncio.wait([asyncio.wrap_future(self._closing)], timeout=_TIMEOUT_S)

    def close(self) -> None:
        """Write pending records and release all files."""
        if self._closer is not None:
            self._closer.shutdown()
        if self.store is not None:
            self.store.close()
