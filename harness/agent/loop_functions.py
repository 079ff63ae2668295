"""The agent loop as functions over plain data, for programs that manage the conversation themselves."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.prompt import Prompt
from harness.agent.stream import RunStream
from harness.events import Continuation
from harness.messages import Message
from harness.ports.provider import Model
from harness.ports.tool import Tool


class AgentContext(Struct, frozen=True):
    """Initial state of a run, which the run never changes."""

    system_prompt: str = ""
    """System prompt."""
    messages: Sequence[Message] = ()
    """History."""
    tools: Sequence[Tool] = ()
    """Tools to offer."""


def agent_loop(
    prompt: Prompt, context: AgentContext, model: Model, options: AgentOptions = AgentOptions()
) -> RunStream:
    """Add the prompt to the context and run the loop.

    Args:
        prompt: One or more messages that start the first turn.
        context: The conversation so far; its messages take the place of `options.messages`.
        model: The model to call. The caller closes its provider.
        options: Configuration of the loop: callbacks, retry strategy, limits, hooks and so on.

    Returns:
        An async iterator of events that ends with `AgentEnd`, which contains the new messages, as does its `result`.

    Raises:
        ConfigError: Two tools have the same name.
        NoMessages: At the first event, if the prompt is empty.
    """
    return _agent(context, model, options).stream(prompt)


def agent_loop_continue(context: AgentContext, model: Model, options: AgentOptions = AgentOptions()) -> RunStream:
    """Run the loop on the context without a new prompt: to retry, or to continue after tool results.

    `context`, `model`, `options` and the return value are those of `agent_loop`.

    Raises:
        ConfigError: Two tools have the same name.
        NoMessages: At the first event, if the context has no messages.
        InvalidContinue: At the first event, if the last message is a reply.
    """
    return _agent(context, model, options).stream(Continuation())


def _agent(context: AgentContext, model: Model, options: AgentOptions) -> Agent:
    return Agent(model, context.tools, context.system_prompt, replace(options, messages=context.messages))
