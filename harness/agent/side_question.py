"""A side question: it sees the conversation and does not enter it.

It may be asked while a run is on and leaves that run alone: no tool runs, and of the answer nothing stays but what it
cost, which a `UsageAdded` event reports.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace

from harness.agent.core import AgentCore
from harness.agent.cost import priced
from harness.agent.guardrails import Reject, apply_guardrails
from harness.agent.reply import ReplyBuilder
from harness.agent.run import specs_of
from harness.concurrency.cancellation import raise_if_cancelled
from harness.context.normalise import Normaliser
from harness.context.policy import fit, last_reply_failed
from harness.context.tokens import estimate_overhead
from harness.errors import Rejected, StreamError
from harness.events import UsageAdded
from harness.messages import AssistantMessage, Message, ModelMessage, Text, ToolCall, ToolResult, UserMessage
from harness.ports.provider import BlockDelta, Request
from harness.ports.tool import Tool

ASIDE = (
    "<aside>\nThe user asks something beside the work, which goes on without you here. Answer it in words from what "
    "you see in this conversation; no tool can be used, and nobody will remember this answer.\n</aside>\n\n"
)
UNDER_WAY = "This call is still under way."
NO_TOOLS = "No tool can be used in an aside. Answer in words, from what you see."
ROUNDS = 2
"""How often the model is asked where it answers with nothing but tool calls."""


def _untold(text: str) -> None:
    del text


async def ask_side_question(self: AgentCore, question: str, tell: Callable[[str], None] = _untold) -> AssistantMessage:
    """Ask the agent's model something beside the conversation, at any time; `tell` hears the answer as it comes.
    Cancel it to stop it.

    Raises:
        ProviderError: the model did not answer; it is not asked again by itself.
        Rejected: an input filter keeps the question back.
    """
    said = apply_guardrails(UserMessage((Text(ASIDE), Text(question))), self.options.guardrails)
    if isinstance(said, Reject):
        raise Rejected(said.reason)
    # The tools are named as ever: services keep the beginning of a request for the next, and refuse calls in a
    # conversation without tools.
    request = await _request(self, [*_so_far(self.history.messages), said])
    for _ in range(ROUNDS):
        reply = await _answer(self, request, tell)
        if reply.text.strip() or not reply.tool_calls:
            return reply
        refused = [ToolResult(call.id, call.name, (Text(NO_TOOLS),), is_error=True) for call in reply.tool_calls]
        request = replace(request, messages=(*request.messages, reply, *refused))
    raise StreamError("the model answers with nothing but tool calls; ask in other words, or within the conversation")


def _so_far(messages: Sequence[Message]) -> list[Message]:
    """The conversation, with a word for each call that has no result yet."""
    shown = list(messages[:-1] if last_reply_failed(messages) else messages)
    answered = {each.call_id for each in shown if isinstance(each, ToolResult)}
    calls: list[ToolCall] = []
    for message in reversed(shown):
        if isinstance(message, AssistantMessage):
            calls = [call for call in message.tool_calls if call.id not in answered]
            break
    return [*shown, *(ToolResult(call.id, call.name, (Text(UNDER_WAY),)) for call in calls)]


async def _request(agent: AgentCore, messages: Sequence[Message]) -> Request:
    options, state = agent.options, agent.state
    spec = state.model.spec
    tools: Sequence[Tool] = state.available_tools
    if options.tool_filter is not None:
        tools = options.tool_filter(tools, agent.history.messages)
    request = Request(
        spec=spec,
        system=state.system,
        messages=await _shown(agent, messages, estimate_overhead(state.system, specs_of(tools))),
        tools=specs_of(tools),
        max_tokens=state.max_tokens,
        temperature=options.temperature,
        session_id=agent.session_id,
        api_key=await options.get_api_key(spec.provider) if options.get_api_key else None,
        cache=options.cache,
        transport=options.transport,
    )
    for hook in options.hooks:
        request = await hook.for_run().before_model(request) or request
    return request


async def _shown(agent: AgentCore, messages: Sequence[Message], overhead: int) -> tuple[ModelMessage, ...]:
    options = agent.options
    if options.transform_context is not None:
        has_overflowed = False
        messages = await options.transform_context(messages, has_overflowed)
    budgets = [each for each in (options.window.max_tokens, agent.state.budget) if each]
    if budgets:
        messages = fit(messages, min(budgets) - overhead, options.window).messages
    kept = [converted for each in messages if (converted := options.convert_to_llm(each)) is not None]
    return Normaliser().normalise(kept)


async def _answer(agent: AgentCore, request: Request, tell: Callable[[str], None]) -> AssistantMessage:
    """One reply; what it used is counted for the agent."""
    model = agent.state.model
    builder = ReplyBuilder(request.spec, agent.history.call_ids)
    deltas = model.provider.stream(request)
    try:
        async for delta in deltas:
            raise_if_cancelled()
            seen = builder.take(delta)
            if isinstance(seen, BlockDelta) and builder.kind_of(seen.index) == "text":
                tell(seen.text)
    finally:
        if isinstance(deltas, AsyncGenerator):
            await deltas.aclose()
    reply = builder.finish()
    facts = await model.info.load()
    reply = replace(reply, usage=priced(reply.usage, facts.price))
    agent.state.ledger.settle(model.spec.name, facts.price)
    agent.state.ledger.add(model.spec.name, reply.usage)
    agent.publish(UsageAdded(model=model.spec.name, usage=reply.usage))
    if reply.stop_reason == "error":
        raise StreamError(reply.error or "the model refused to answer")
    return reply
