"""The loop as functions over plain data, for programs that keep the conversation themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.prompt import Prompt
from harness.agent.stream import RunStream
from harness.continuation import Continuation
from harness.lazy_dataclass import dataclass
from harness.messages import Message
from harness.ports.provider import Model
from harness.ports.tool import Tool


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What a run starts from: system prompt, history, tools. A run never changes it."""

    system_prompt: str = ""
    messages: Sequence[Message] = ()
    tools: Sequence[Tool] = ()


def agent_loop(
    prompt: Prompt, context: AgentContext, model: Model, options: AgentOptions = AgentOptions()
) -> RunStream:
    """Add the prompt to the context and run the loop.

    Args:
        prompt: One or more messages that start the first turn.
        context: The conversation so far; its messages take the place of `options.messages`.
        model: The model to call. The caller closes its provider.
        options: The configuration of the loop: callbacks, retry strategy, limits, hooks and so on.

    Returns:
        An async iterator of events that ends with `AgentEnd`, which has the new messages; its `result` has them, too.

    Raises:
        ConfigError: Two tools have the same name.
        NoMessages: At the first event, if the prompt is empty.
    """
    return _agent(context, model, options).stream(prompt)


def agent_loop_continue(context: AgentContext, model: Model, options: AgentOptions = AgentOptions()) -> RunStream:
    """Run the loop on the context as it is: to try again, or to continue after tool results.

    Args and returned value are those of `agent_loop`.

    Raises:
        ConfigError: Two tools have the same name.
        NoMessages: At the first event, if the context has no messages.
        InvalidContinue: At the first event, if the last message is the assistant's.
    """
    return _agent(context, model, options).stream(Continuation())


def _agent(context: AgentContext, model: Model, options: AgentOptions) -> Agent:
    return Agent(model, context.tools, context.system_prompt, replace(options, messages=context.messages))
