"""The thread that owns a model: one question after another, deltas handed to the event loop as they are written."""

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
    """Loads the model with the first question and keeps it until `close`."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="local-model")
        self._writer: Generator | None = None

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """The deltas of a reply. Whoever stops listening stops the writing.

        Raises:
            ProviderError: the model cannot be loaded, or did not answer.
        """
        loop = asyncio.get_running_loop()
        heard: asyncio.Queue[Sequence[Delta] | None] = asyncio.Queue()

        def tell(deltas: Sequence[Delta] | None) -> None:
            # The loop may be gone when the last is told.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(heard.put_nowait, deltas)

        flag = Flag()
        work = self._thread.submit(self._answer, request, flag, tell)
        work.add_done_callback(lambda _: tell(None))
        try:
            while (deltas := await heard.get()) is not None:
                for delta in deltas:
                    yield delta
            work.result()
        finally:
            flag.set()
            work.cancel()

    async def close(self) -> None:
        """Free the model, after what is being written."""
        await asyncio.wrap_future(self._thread.submit(self._free))
        self._thread.shutdown(wait=False)

    def _answer(self, request: Request, flag: Flag, tell: Callable[[Sequence[Delta]], None]) -> None:
        if self._writer is None:
            self._writer = _opened(self.path, self.header, flag)
        if self._writer is not None:
            self._writer.answer(request, flag, tell)

    def _free(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = None


def _opened(path: Path, header: Header, flag: Flag) -> Generator | None:
    """The model, ready to write; None when the flag was raised meanwhile."""
    if missing := missing_part(path):
        raise ModelNotFound(f"{path} is one of several files, and {missing.name} is not beside it")
    if not header.template:
        raise RequestRejected(f"{path.name} has no chat template: take a model that was made to talk (instruct, chat)")
    # A second of import, and only here: most never load a model.
    from providers.gguf.engine import Aborted, load
    from providers.gguf.generation import Generator

    try:
        engine = load(path, window_of(header), flag)
    except Aborted:
        return None
    return Generator(engine, header)
