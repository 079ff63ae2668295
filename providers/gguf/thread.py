"""Thread that owns a model: one request after another, deltas passed to the event loop as they are generated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from harness.deltas import Delta
from harness.errors import ModelNotFound, RequestRejected
from harness.ports.provider import Request
from providers.gguf.abort_flag import Flag
from providers.gguf.header import Header, missing_part, window_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from providers.gguf.generation import Generator


class ModelThread:
    """Loads the model with the first request and keeps it until `close`."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="local-model")
        self._generator: Generator | None = None

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Yield the deltas of a reply; closing the generator stops the generation.

        Raises:
            ProviderError: The model cannot be loaded, or failed.
        """
        loop = asyncio.get_running_loop()
        received: asyncio.Queue[Sequence[Delta] | None] = asyncio.Queue()

        def emit(deltas: Sequence[Delta] | None) -> None:
            # The loop may be closed by then.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(received.put_nowait, deltas)

        flag = Flag()
        work = self._thread.submit(self._answer, request, flag, emit)
        work.add_done_callback(lambda _: emit(None))
        try:
            while (deltas := await received.get()) is not None:
                for delta in deltas:
                    yield delta
            work.result()
        finally:
            flag.set()
            work.cancel()

    async def close(self) -> None:
        """Free the model after the current request."""
        await asyncio.wrap_future(self._thread.submit(self._free))
        self._thread.shutdown(wait=False)

    def _answer(self, request: Request, flag: Flag, emit: Callable[[Sequence[Delta]], None]) -> None:
        if self._generator is None:
            self._generator = _opened(self.path, self.header, flag)
        if self._generator is not None:
            self._generator.answer(request, flag, emit)

    def _free(self) -> None:
        if self._generator is not None:
            self._generator.close()
        self._generator = None


def _opened(path: Path, header: Header, flag: Flag) -> Generator | None:
    """Return the loaded model; None if the flag was set meanwhile."""
    if missing := missing_part(path):
        raise ModelNotFound(f"{path} is one of several files, and {missing.name} is missing")
    if not header.template:
        raise RequestRejected(f"{path.name} has no chat template: use a chat model (instruct, chat)")
    # Imported here: it takes a second, and most sessions load no model.
    from providers.gguf.engine import Aborted, load
    from providers.gguf.generation import Generator

    try:
        engine = load(path, window_of(header), flag)
    except Aborted:
        return None
    return Generator(engine, header)
