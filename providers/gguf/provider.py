"""Provider for models on this machine without a server: a thread owns the model and answers its requests."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.deltas import Delta
from harness.errors import ConfigError, ModelNotFound, ProviderError, RequestRejected
from harness.messages import ModelSpec
from harness.ports.provider import Model, ModelInfo, Provider, Request
from harness.thinking_level import ThinkingLevel
from providers.gguf.abort_flag import Flag
from providers.gguf.header import UNKNOWN_WINDOW, Header, configured_window, missing_part, read_header, window_of
from providers.gguf.store import find_model, models_folder, pulled_models
from providers.model_catalog.metadata import FREE, LazyModelInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from providers.gguf.generation import Generator


NAME = "local"
MISSING = "local models need llama.cpp: pip install 'cinch-tui[local]'"


def local_model(model_id: str, thinking: ThinkingLevel = "off") -> Model:
    """Return a model by its path or the name it was pulled by. Nothing is loaded before the first request.

    Raises:
        ConfigError: The model is missing, llama.cpp is not installed, or the configured window is not a number.
    """
    if importlib.util.find_spec("llama_cpp") is None:
        raise ConfigError(MISSING)
    if not model_id:
        raise ConfigError("local: name a model, as in local/./model.gguf; `cinch models local` lists pulled models")
    path = find_model(model_id, models_folder())
    configured_window()
    info = LazyModelInfo(partial(_model_info, path))
    return Model(GgufProvider(), ModelSpec(NAME, model_id, thinking), info, native_schema=True)


class GgufProvider(Provider):
    """Holds one model at a time; requesting another replaces it."""

    name = NAME

    def __init__(self) -> None:
        self._thread: ModelThread | None = None

    def warm(self) -> None:
        """Do nothing: loading is as expensive as the request itself."""

    async def models(self) -> list[str]:
        return [model.name for model in pulled_models(models_folder())]

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        """Return False: local models have no thinking levels."""
        return False

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        path = _path_of(request.spec)
        thread = await self._thread_of(path)
        if request.tools and not thread.header.knows_tools:
            raise RequestRejected(f"{request.spec.name} cannot use tools: its chat template does not support them")
        async with aclosing(thread.stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            await thread.close()

    async def _thread_of(self, path: Path) -> ModelThread:
        if self._thread is not None and self._thread.path != path:
            await self.close()
        if self._thread is None:
            opened = ModelThread(path, await asyncio.to_thread(read_header, path))
            # Another request may have created it meanwhile.
            self._thread = self._thread or opened
        return self._thread


async def _model_info(path: Path) -> ModelInfo:
    try:
        header = await asyncio.to_thread(read_header, path)
    except ProviderError:
        # The first request reports the error.
        return ModelInfo(UNKNOWN_WINDOW, price=FREE)
    return ModelInfo(window_of(header), price=FREE, images=False, tools=header.knows_tools, thinking=header.thinks)


def _path_of(spec: ModelSpec) -> Path:
    try:
        return find_model(spec.model_id, models_folder())
    except ConfigError as error:
        # It existed when the run began.
        raise RequestRejected(str(error)) from error


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
