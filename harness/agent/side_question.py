"""Side question: a question about the conversation that does not become part of it.

It may be asked during a run and does not affect it: no tool runs, and only the usage of the answer is recorded, in a
`UsageAdded` event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from harness.agent.agent_base import AgentBase
from harness.agent.guardrails import Reject, apply_guardrails
from harness.agent.hosted_tools import request_specs
from harness.agent.limits import with_price
from harness.agent.model_request import request_of, stream_reply
from harness.agent.reply import ReplyBuilder, read_reply
from harness.agent.tool_search import with_sent_calls
from harness.context.pipeline import side_context
from harness.context.trimming import last_reply_failed
from harness.errors import Rejected, StreamError
from harness.events import UsageAdded
from harness.messages import AssistantMessage, Message, Text, ToolResult, Usage, UsageSource, UserMessage
from harness.ports.provider import Model, Request, known_model_info
from harness.ports.tool import Tool

PREFIX = (
    "<aside>\nThe user asks a side question while the main work continues without you here. Answer it in words from "
    "what you see in this conversation. No tool can be used, and this answer will not be remembered.\n</aside>\n\n"
)
NO_RESULT_YET = "This call is still running."
NO_TOOLS = "No tool can be used in a side question. Answer in words, from what you see."
MAX_REQUESTS = 2
"""Maximum number of requests if the model answers with tool calls only."""


async def ask_side_question(
    self: AgentBase, question: str, on_text: Callable[[str], None] = lambda _: None
) -> AssistantMessage:
    """Ask the agent's model a side question, at any time. Cancel the call to abort it.

    Args:
        question: The question.
        on_text: Receives the text of the answer as it is streamed.

    Raises:
        ProviderError: The model call failed; it is not retried.
        Rejected: A guardrail blocked the question.
    """
    message = await apply_guardrails(UserMessage((Text(PREFIX), Text(question))), self.options.guardrails)
    if isinstance(message, Reject):
        raise Rejected(message.reason)
    # The tools are declared as usual: services cache the beginning of a request, and reject tool calls in a
    # conversation without tools.
    await self.history.load()
    request = await _request(self, [*_with_open_calls(self.context_messages), message])
    for _ in range(MAX_REQUESTS):
        reply = await _answer(self, request, on_text)
        if reply.text.strip() or not reply.tool_calls:
            return reply
        refused = [ToolResult(call.id, call.name, (Text(NO_TOOLS),), is_error=True) for call in reply.tool_calls]
        request = replace(request, messages=(*request.messages, reply, *refused))
    raise StreamError("the model answered with tool calls only; rephrase the question, or ask it as a prompt")


async def reply_to(
    agent: AgentBase, messages: Sequence[UserMessage | AssistantMessage], system: str, max_tokens: int
) -> AssistantMessage:
    """Let the agent's model reply to other messages than those of its conversation; only the usage is recorded.

    Args:
        agent: The agent.
        messages: The messages.
        system: System prompt.
        max_tokens: Maximum length of the reply; 0: that of the agent.

    Raises:
        ProviderError: The model call failed; it is not retried.
    """
    state = agent.state
    request = await request_of(agent.options, state, state.model.spec, agent.session_id)
    limit = min(filter(None, (max_tokens, state.max_tokens)), default=None)
    request = replace(request, system=system, messages=tuple(messages), max_tokens=limit)
    return await _answer(agent, request, lambda _: None, "sampling")


def _with_open_calls(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation, with a placeholder result for each call that has none yet."""
    shown = list(messages[:-1] if last_reply_failed(messages) else messages)
    answered = {each.call_id for each in shown if isinstance(each, ToolResult)}
    reply = next((each for each in reversed(shown) if isinstance(each, AssistantMessage)), None)
    calls = [call for call in reply.tool_calls if call.id not in answered] if reply else []
    return [*shown, *(ToolResult(call.id, call.name, (Text(NO_RESULT_YET),)) for call in calls)]


async def _request(agent: AgentBase, messages: Sequence[Message]) -> Request:
    options, state = agent.options, agent.state
    tools: Sequence[Tool] = state.available_tools
    if options.tool_filter is not None:
        tools = options.tool_filter(tools, agent.history.messages)
    specs = request_specs(tools, state.model, state.permissions, options.user, options.hooks)
    shown = await side_context(options, state, messages, specs)
    request = await request_of(options, state, state.model.spec, agent.session_id)
    request = replace(request, messages=with_sent_calls(shown, state.tools, state.late), tools=specs)
    for hook in options.hooks:
        request = await hook.for_run().before_model(request) or request
    return request


async def _answer(
    agent: AgentBase, request: Request, on_text: Callable[[str], None], source: UsageSource = "side_question"
) -> AssistantMessage:
    """Request one reply and add its usage to the agent's."""
    model = agent.state.model
    builder = ReplyBuilder(request.spec, agent.history.call_ids)
    try:
        reply = await read_reply(stream_reply(agent.options, model, request), builder, on_text)
        await model.info.load()
    finally:
        usage = _record_usage(agent, model, builder.usage, source)
    reply = replace(reply, usage=usage)
    if reply.stop_reason == "error":
        raise StreamError(reply.error or "the model refused to answer")
    return reply


def _record_usage(agent: AgentBase, model: Model, usage: Usage, source: UsageSource) -> Usage:
    """Count the usage of an answer, which may be incomplete, and return it with its cost."""
    price = known_model_info(model).price
    usage = with_price(usage, price)
    agent.state.ledger.settle(model.spec.name, price)
    agent.state.ledger.add(model.spec.name, usage)
    agent.publish(UsageAdded(model=model.spec.name, usage=usage, source=source))
    return usage
