"""Polling of the callbacks for steering and follow-up messages."""

from __future__ import annotations

import asyncio
import inspect
import logging

from harness.agent.arguments import user_messages
from harness.agent.options import MessageSource
from harness.agent.run_state import Run
from harness.concurrency import is_cancelled, raise_if_cancelled
from harness.events import Notice
from harness.inbox import Queue

logger = logging.getLogger(__name__)


async def poll_steering(run: Run) -> None:
    """Queue the messages that `get_steering_messages` returns."""
    if run.options.get_steering_messages is not None:
        await _poll(run, run.options.get_steering_messages, run.inbox.steering)


async def poll_follow_up(run: Run) -> None:
    """Queue the messages that `get_follow_up_messages` returns."""
    if run.options.get_follow_up_messages is not None:
        await _poll(run, run.options.get_follow_up_messages, run.inbox.follow_up)


async def _poll(run: Run, source: MessageSource, queue: Queue) -> None:
    """Queue the messages; a callback that fails is reported, and the run continues without them."""
    name = "get_steering_messages" if queue is run.inbox.steering else "get_follow_up_messages"
    try:
        given = source()
        prompt = await given if inspect.isawaitable(given) else given
        for message in user_messages(prompt) if prompt else ():
            queue.put(message)
    except (Exception, asyncio.CancelledError) as error:  # user-supplied callback; may raise
        if is_cancelled(asyncio.current_task()):
            raise
        logger.exception("%s failed", name)
        run.bus.publish(Notice(text=f"{name} failed: {type(error).__name__}: {error}", level="error"))
    raise_if_cancelled()
