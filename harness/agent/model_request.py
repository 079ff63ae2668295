"""Request of an agent to a model, without messages and tools; errors of user-supplied code around it."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from harness.agent.options import AgentOptions
from harness.agent.run_state import State
from harness.errors import StreamError
from harness.messages import ModelSpec
from harness.ports.provider import Request

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


@contextmanager
def as_stream_error(what: str) -> Generator[None]:
    """Turn any exception of user-supplied code in this block into a `StreamError`."""
    try:
        yield
    except Exception as error:
        raise stream_error(what, error) from error


def stream_error(what: str, error: BaseException) -> StreamError:
    logger.error("%s", what, exc_info=error)
    return StreamError(f"{what}: {type(error).__name__}: {error}")
