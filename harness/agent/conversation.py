"""Changes to the conversation of an idle agent: replace, append and clear messages, save and restore, reset.

The functions are methods of `harness.agent.agent.Agent`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.errors import ConfigError
from harness.messages import Message
from harness.publishing.bus import publish_message
from harness.saved import dump_messages, load_messages

if TYPE_CHECKING:
    from harness.agent.agent import Agent


def replace_messages(self: Agent, messages: Sequence[Message]) -> None:
    """Replace the history, in the same session; no event is published.

    Raises:
        AlreadyRunning: A run is active.
    """
    self.ensure_idle()
    self.history.replace(messages)


def append_messages(self: Agent, messages: Sequence[Message]) -> None:
    """Append messages to the history without a model call; each is published as `MessageStart` and `MessageEnd`.

    Raises:
        AlreadyRunning: A run is active.
        ConfigError: A tool call has no result after it, or a result no call before it; nothing is appended.
    """
    self.ensure_idle()
    try:
        self.history.extend(messages)
    except ValueError as error:
        raise ConfigError(f"these messages cannot be appended: {error}") from error
    for message in messages:
        publish_message(self.publish, message)


def clear_messages(self: Agent) -> None:
    """Remove all messages, in the same session; no event is published.

    Raises:
        AlreadyRunning: A run is active.
    """
    self.replace_messages(())


def save_messages(self: Agent) -> str:
    """Return the history as JSON."""
    return dump_messages(self.history.messages)


def restore_messages(self: Agent, text: str) -> None:
    """Replace the history by what `save_messages` returned.

    Raises:
        AlreadyRunning: A run is active.
        ConfigError: The text is no saved history; the history stays as it is.
    """
    self.replace_messages(load_messages(text))


def reset(self: Agent) -> None:
    """Return to the initial state, in a new session.

    System prompt, tools, model with its thinking level, and messages are those that the agent was made with; mode,
    approval, queue modes and `max_tokens` are those of its options. Queued messages, `last_error`, usage and approvals
    for the session are gone. Background jobs and subscriptions stay.

    Raises:
        AlreadyRunning: A run is active.
    """
    options, initial, state = self.options, self.initial, self.state
    self.new_session(messages=options.messages)
    self.inbox.clear()
    self.inbox.steering.mode, self.inbox.follow_up.mode = options.steering, options.follow_up
    state.system_prompt, state.tools = initial.system_prompt, initial.tools
    state.max_tokens, state.approval, state.last_error = options.max_tokens, options.approval, None
    if state.model != initial.model:
        self.set_model(initial.model)
    if state.mode != options.mode:
        self.set_mode(options.mode)
