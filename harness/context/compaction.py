"""Compaction: a summary replaces older messages in the context. The history keeps them.

The summary consists of facts that are collected without a model and of prose that a model writes. This module decides
what to summarize, writes the request, checks the reply and builds the message; the caller makes the model call.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence, Set
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.context.conversation_text import conversation_parts
from harness.context.grouping import MessageGroup, count_groups, message_groups
from harness.context.history import is_prompt
from harness.context.policy import DEFAULT_POLICY, ContextPolicy
from harness.context.summary_facts import LiveFacts, SummaryFacts, facts_of, merge_facts
from harness.context.summary_text import Summary, is_summary, parse_summary, summary_text
from harness.context.tokens import CHARS_PER_TOKEN, estimate_message, estimate_messages, estimate_text
from harness.errors import SummaryFailed
from harness.instructions.prompts import prompt_text
from harness.messages import AssistantMessage, CustomMessage, Message, UserMessage, synthetic
from harness.truncation import truncate

MIN_TOKENS = 200
"""Tokens below which messages are not worth a summary."""
PROMPTS_PART = 3
"""The user's messages take at most one third of the tokens of the messages that the summary replaces."""
PROSE_PART = 4
"""The prose takes at most a quarter of these tokens, but may have `MIN_PROSE`."""
MIN_PROSE = 256
THINKING_TOKENS = 4_000
"""Tokens that a reply may have for thinking; some models cannot do without it."""
MAX_REQUESTS = 2
"""Maximum number of requests for a part if the model answers with tool calls only."""
MIN_CHARACTERS = 8
"""Number of different characters below which a reply is not a summary, such as a row of dashes."""

_SAFETY = 0.75
"""Share of the window that is used, because lengths are estimates."""
_TEXT_ONLY = "Your last reply contained tool calls and no text. No tool can be used here. Write the summary as text."
_FENCE = re.compile(r"\A```[a-z]*\n(.*)\n```\Z", re.DOTALL)
_THOUGHTS = re.compile(r"<(think|thinking|analysis)>.*?</\1>", re.DOTALL)
_WRAPPER = re.compile(r"\A<(summary|context_summary|brief)>\s*(.*?)\s*(?:</\1>)?\Z", re.DOTALL)


class CompactionPlan(Struct, frozen=True):
    """Messages to summarize."""

    messages: tuple[Message, ...]
    """The messages, earlier summaries included, in whole turns; a program may restore evicted content in them."""
    before: tuple[Message, ...] = ()
    """First messages of the context, and the newest prompt unless it is among the latest; they stay."""
    later: tuple[Message, ...] = ()
    """Latest messages, which stay."""
    tokens: int = 0
    """Estimated length of `messages` in tokens, which the summary must not reach; 0 = unlimited."""

    @property
    def replaced(self) -> frozenset[str]:
        """Ids of the messages that the summary replaces."""
        return frozenset(each.id for each in self.messages)

    @property
    def new_messages(self) -> tuple[Message, ...]:
        """The messages without earlier summaries."""
        return tuple(each for each in self.messages if not is_summary(each))

    @property
    def earlier(self) -> tuple[Summary, ...]:
        """Earlier summaries, oldest first."""
        return tuple(parse_summary(each.text) for each in self.messages if is_summary(each))


class SummaryRequest(Struct, frozen=True):
    """Model call without tools."""

    system: str
    """System prompt."""
    prompt: str
    """Prompt."""
    max_tokens: int
    """Maximum length of the reply in tokens, thinking included."""
    in_context: bool = False
    """True to send the prompt as the next message of the conversation itself, whose beginning is in the provider's
    cache, with the system prompt and the tools of the agent."""


AskModel: TypeAlias = Callable[[SummaryRequest], Awaitable[AssistantMessage]]
"""Function that makes a model call and returns the reply; it may raise a `ProviderError`."""


class SummaryOptions(Struct, frozen=True):
    """Options of a summary."""

    focus: str = ""
    """Topic that the user wants the summary to focus on."""
    instructions: str = ""
    """Instructions of the project: the section "Compaction Instructions" of its instruction files."""
    tokens: int = DEFAULT_POLICY.summary_tokens
    """Maximum length of the prose in tokens."""
    window: int = 0
    """Context window of the model that summarizes, in tokens; 0 = unknown. Longer texts are summarized in parts."""
    in_context: bool = False
    """True to ask at the end of the conversation itself, False to send a shortened text of it."""


def plan_compaction(
    messages: Sequence[Message], policy: ContextPolicy, pins: Set[str] = frozenset(), *, recent_tokens: int = 0
) -> CompactionPlan | None:
    """Return what to summarize: the messages between the first and the latest ones. Pure.

    A call and its results stay together. Earlier summaries are summarized again, the newest prompt never.

    Args:
        messages: The context, with earlier summaries applied.
        policy: Number of first and latest messages to keep.
        pins: Ids of messages to keep; a turn that contains one stays.
        recent_tokens: Maximum tokens of the latest messages; the last group stays in any case. 0 = unlimited.

    Returns:
        None if there is nothing worth a summary.
    """
    groups = message_groups(messages)
    first = _kept_first(groups, policy.keep_first)
    recent = max(first, _recent(groups, policy.keep_recent, recent_tokens))
    newest = _newest_prompt(groups)
    places = [at for at in range(first, recent) if not any(each.id in pins for each in groups[at])]
    before = [groups[at] for at in range(recent) if at < first or at == newest]
    plan = CompactionPlan(
        _without_custom([groups[at] for at in places if at != newest]),
        _without_custom(before),
        _without_custom(groups[recent:]),
    )
    plan = replace(plan, tokens=estimate_messages(plan.messages))
    new = estimate_messages(plan.new_messages)
    # Summarizing a summary with little else would only shorten it.
    return plan if new >= max(MIN_TOKENS, (plan.tokens - new) // 4) else None


def facts_for(
    plan: CompactionPlan, live: LiveFacts = LiveFacts(), prompts_tokens: int = DEFAULT_POLICY.prompts_tokens
) -> SummaryFacts:
    """Return the structured part of the summary of these messages. Pure.

    Args:
        plan: The messages.
        live: Facts about the present that no message contains.
        prompts_tokens: Maximum tokens for the messages of the user.
    """
    earlier = merge_facts(each.facts for each in plan.earlier)
    tokens = min(prompts_tokens, plan.tokens // PROMPTS_PART) if plan.tokens else prompts_tokens
    return facts_of(plan.new_messages, earlier=earlier, later=plan.later, live=live, prompts_tokens=tokens)


async def summarize(
    plan: CompactionPlan, facts: SummaryFacts, ask: AskModel, options: SummaryOptions = SummaryOptions()
) -> UserMessage:
    """Ask a model for a summary and return the message that replaces the messages of the plan.

    Args:
        plan: The messages.
        facts: Structured part of the summary.
        ask: Makes the model call.
        options: Focus, instructions and limits.

    Raises:
        SummaryFailed: The reply is empty or unusable, or the summary is no shorter than the messages.
        ProviderError: The model call failed.
    """
    earlier = "\n\n".join(each.prose for each in plan.earlier if each.prose)
    # The first prompt says what all the work is for, the newest one what is next.
    messages = (*filter(is_prompt, plan.before), *plan.new_messages)
    tokens = min(options.tokens, max(MIN_PROSE, plan.tokens // PROSE_PART))
    prose = await write_prose(messages, ask, replace(options, tokens=tokens), earlier=earlier)
    message = synthetic(summary_text(Summary(facts, prose)))
    if estimate_message(message) >= plan.tokens:
        raise SummaryFailed("the summary is no shorter than the messages it would replace")
    return message


async def write_prose(
    messages: Sequence[Message], ask: AskModel, options: SummaryOptions, *, earlier: str = "", task: str = "compact"
) -> str:
    """Ask a model for a text about a conversation, in parts if its text exceeds the window of the model.

    Args:
        messages: The conversation.
        ask: Makes the model call.
        options: Focus, instructions and limits.
        earlier: Prose of the summary of what came before.
        task: Name of the prompt that states the task.

    Raises:
        SummaryFailed: The reply is empty or unusable.
        ProviderError: The model call failed.
    """
    material = prompt_text("material_in_context" if options.in_context else "material")
    system = prompt_text(task).replace("{material}", material).replace("{words}", f"{options.tokens * 2 // 3:,}")
    if options.in_context:
        prompt = f"{system}\n\n{_prompt('', options, '', '')}"
        return await _ask(ask, SummaryRequest("", prompt, _reply_room(options), in_context=True), options.tokens)
    parts = conversation_parts(messages, _room(options, system, earlier)) or [""]
    for at, part in enumerate(parts, 1):
        note = f"This is part {at} of {len(parts)} of the conversation. " if len(parts) > 1 else ""
        prompt = _prompt(part, options, earlier, note)
        earlier = await _ask(ask, SummaryRequest(system, prompt, _reply_room(options)), options.tokens)
    return earlier


def _kept_first(groups: Sequence[MessageGroup], count: int) -> int:
    """Return how many groups hold the first messages; a summary is none of them, or they would accumulate."""
    kept = count_groups(groups, count)
    return next((at for at in range(kept) if any(map(is_summary, groups[at]))), kept)


def _recent(groups: Sequence[MessageGroup], count: int, tokens: int) -> int:
    """Return the first of the latest groups that stay."""
    start = len(groups) - count_groups(groups[::-1], max(count, 1))
    size = 0
    for at in range(len(groups) - 1, start - 1, -1):
        size += estimate_messages(groups[at])
        if tokens and size > tokens and at < len(groups) - 1:
            return at + 1
    return start


def _newest_prompt(groups: Sequence[MessageGroup]) -> int:
    """Return the index of the group with the newest prompt; -1 if there is no prompt."""
    places = range(len(groups) - 1, -1, -1)
    return next((at for at in places if any(map(is_prompt, groups[at]))), -1)


def _without_custom(groups: Sequence[MessageGroup]) -> tuple[Message, ...]:
    return tuple(each for group in groups for each in group if not isinstance(each, CustomMessage))


def _room(options: SummaryOptions, system: str, earlier: str) -> int:
    """Return the tokens that the text of the conversation may have; 0 = unlimited."""
    if not options.window:
        return 0
    frame = estimate_text(system) + estimate_text(_prompt("", options, earlier, "")) + 100
    # Later parts come with the prose of those before.
    used = frame + _reply_room(options) + (0 if earlier else options.tokens)
    return max(500, int(options.window * _SAFETY) - used)


def _reply_room(options: SummaryOptions) -> int:
    """Return the tokens that a reply may have: a text that is too long is better than one without its end."""
    thinking = min(THINKING_TOKENS, options.window // 8) if options.window else THINKING_TOKENS
    return 2 * options.tokens + thinking


def _prompt(conversation: str, options: SummaryOptions, earlier: str, note: str) -> str:
    quoted = [
        ("instructions", options.instructions),
        ("focus", options.focus),
        ("earlier_summary", earlier),
        ("conversation", conversation),
    ]
    sections = [f"<{tag}>\n{text.strip()}\n</{tag}>" for tag, text in quoted if text.strip()]
    return "\n\n".join([*sections, f"{note}Write the text now, and nothing else."])


async def _ask(ask: AskModel, request: SummaryRequest, tokens: int) -> str:
    """Return the checked text of a reply."""
    for _ in range(MAX_REQUESTS):
        reply = await ask(request)
        if reply.stop_reason in ("error", "aborted"):
            raise SummaryFailed(f"the model gave no summary: {reply.error or reply.stop_reason}")
        text = _cleaned(reply.text)
        if text or not reply.tool_calls:
            return _checked(text, tokens)
        request = replace(request, prompt=f"{request.prompt}\n\n{_TEXT_ONLY}")
    raise SummaryFailed("the model gave no summary: it answered with tool calls only")


def _cleaned(text: str) -> str:
    """Return the text without thoughts, and without tags or a code fence around all of it."""
    text = _THOUGHTS.sub("", text).strip()
    for pattern, group in ((_FENCE, 1), (_WRAPPER, 2)):
        if match := pattern.match(text):
            text = match[group].strip()
    return text


def _checked(text: str, tokens: int) -> str:
    if not text:
        raise SummaryFailed("the model gave no summary: the reply is empty")
    if len({character for character in text if character.isalnum()}) < MIN_CHARACTERS:
        raise SummaryFailed(f"the model gave no summary, but {text[:80]!r}")
    # The end has the next steps, so the middle is cut.
    return truncate(text, int(tokens * CHARS_PER_TOKEN), lambda gone: f"[… {gone:,} characters …]")
