"""Request of an agent to a model, without messages and tools; errors of user-supplied code around it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from harness.agent.options import AgentOptions
from harness.agent.run_state import State
from harness.concurrency import cancel_tasks, is_cancelled
from harness.deltas import Delta
from harness.errors import ProviderError, StreamError
from harness.messages import ModelSpec
from harness.ports.provider import Model, Request

T = TypeVar("T")

logger = logging.getLogger(__name__)


async def request_of(options: AgentOptions, state: State, spec: ModelSpec, session_id: str) -> Request:
    """Return the part of a request that depends on the agent only, without messages and tools."""
    return Request(
        spec=spec,
        system=state.system_prompt,
        messages=(),
        max_tokens=state.max_tokens,
        temperature=options.temperature,
        session_id=session_id,
        cache_key=state.cache_key,
        api_key=await options.get_api_key(spec.provider) if options.get_api_key else None,
        cache=options.cache,
        transport=options.transport,
    )


def stream_reply(options: AgentOptions, model: Model, request: Request) -> AsyncIterator[Delta]:
    """Stream the reply of a model, in the dialect that the options choose for it."""
    dialect = options.dialect(model.spec) if options.dialect else None
    return dialect.stream(model.provider, request) if dialect else model.provider.stream(request)


@contextmanager
def as_stream_error(what: str) -> Generator[None]:
    """Turn any exception of user-supplied code in this block into a `StreamError`."""
    try:
        yield
    except Exception as error:
        raise stream_error(what, error) from error


@contextmanager
def provider_errors(provider: str) -> Generator[None]:
    """Turn any other exception of a provider, or of an API key source, into a `StreamError`."""
    try:
        yield
    except ProviderError:
        raise
    except asyncio.CancelledError as error:
        if is_cancelled(asyncio.current_task()):
            raise
        raise stream_error(f"{provider} was cancelled from within", error) from error
    except Exception as error:  # user-supplied provider or API key source; may raise
        raise stream_error(f"{provider} failed", error) from error


async def in_own_task(work: Coroutine[Any, Any, T], grace_s: float, on_abandoned: Callable[[], object]) -> T:
    """Return the result of work that may not stop when it is cancelled, such as a stream; then it is abandoned.

    Args:
        work: The work.
        grace_s: Seconds that it has to stop.
        on_abandoned: Called if it is abandoned.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task])
    finally:
        await cancel_tasks([task], grace_s)
        if not task.done():
            on_abandoned()
            task.add_done_callback(_ignore_outcome)
    return task.result()


def _ignore_outcome(task: asyncio.Task[Any]) -> None:
    """Retrieve the outcome of an abandoned task, which is of no interest."""
    if not task.cancelled():
        task.exception()


def stream_error(what: str, error: BaseException) -> StreamError:
    logger.error("%s", what, exc_info=error)
    return StreamError(f"{what}: {type(error).__name__}: {error}")
