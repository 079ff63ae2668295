"""Handoff: the brief with which a new session continues the work, instead of the history."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.context.compaction import AskModel, CompactionPlan, SummaryOptions, write_prose
from harness.context.summary_facts import TODO_MARKS, SummaryFacts
from harness.errors import SummaryFailed
from harness.messages import CustomMessage, Message

MAX_TITLE = 50
"""Maximum length of the title of a brief, in characters."""
FALLBACK_TITLE = "Continue the work of an earlier session"

_DECORATION = " \t#*_\"'`“”:."
_LABEL = re.compile(r"\A[\s#*_]*title(?:[\s*_]*:|\s+[-–—]\s)", re.IGNORECASE)
_HEADINGS = re.compile(r"goal|state|decisions|files|next steps", re.IGNORECASE)


def plan_handoff(messages: Sequence[Message]) -> CompactionPlan:
    """Return the whole context as the messages to write a brief about."""
    return CompactionPlan(tuple(each for each in messages if not isinstance(each, CustomMessage)))


async def write_brief(plan: CompactionPlan, facts: SummaryFacts, ask: AskModel, options: SummaryOptions) -> str:
    """Ask a model for the brief of a new session. Its first line is a title of at most 50 characters.

    Args:
        plan: The whole conversation.
        facts: Facts about it, which the brief lists.
        ask: Makes the model call.
        options: Focus, instructions and limits.

    Raises:
        SummaryFailed: There is no conversation, or the reply is empty or unusable.
        ProviderError: The model call failed.
    """
    if not plan.messages:
        raise SummaryFailed("there is no conversation to hand off")
    earlier = "\n\n".join(each.prose for each in plan.earlier if each.prose)
    prose = await write_prose(plan.new_messages, ask, options, earlier=earlier, task="handoff")
    title, body = _split(prose, facts)
    return "\n\n".join([title, body, *_lists(facts)])


def _split(prose: str, facts: SummaryFacts) -> tuple[str, str]:
    """Return the title and the rest; a reply without a title gets the user's latest request as one."""
    first, _, rest = prose.partition("\n")
    title = " ".join(_LABEL.sub("", first).strip(_DECORATION).split())
    if _HEADINGS.fullmatch(title) or len(title) > 3 * MAX_TITLE or not rest.strip():
        latest = next((each.text for each in reversed(facts.prompts)), "")
        return _short_title(" ".join(latest.split()) or FALLBACK_TITLE), prose.strip()
    return _short_title(title or FALLBACK_TITLE), rest.strip()


def _short_title(title: str) -> str:
    """Return a title of at most `MAX_TITLE` characters, cut between words if possible."""
    if len(title) <= MAX_TITLE:
        return title
    kept = title[: MAX_TITLE - 1]
    words = kept.rpartition(" ")[0]
    return f"{words if len(words) > MAX_TITLE // 2 else kept}…"


def _lists(facts: SummaryFacts) -> Iterator[str]:
    """Yield the facts as sections of the brief."""
    if facts.prompts:
        quotes = "\n\n".join(_quoted(each.text) for each in facts.prompts)
        yield f"## Messages of the user, word for word\n\n{quotes}"
    yield from _section("Answers of the user", [f"{each.question} → {each.answer}" for each in facts.answers])
    yield from _section("Questions without an answer", facts.unanswered)
    yield from _section("Denied by the user", facts.denied)
    yield from _section("Steps", [f"[{TODO_MARKS[each.status]}] {each.content}" for each in facts.todo])
    if facts.plan:
        yield f"## Plan ({facts.plan.status})\n\n{_quoted(facts.plan.text)}"
    yield from _section("Edited files", facts.edited)
    yield from _section("Files that were read", facts.read)
    commands = [f"`{each.command}` — {' '.join(each.output.split())}" for each in facts.failed]
    yield from _section("Failed commands", commands)
    yield from _section("Background jobs", facts.live.jobs)


def _section(title: str, items: list[str] | tuple[str, ...]) -> Iterator[str]:
    if items:
        lines = "\n".join(f"- {item}" for item in items)
        yield f"## {title}\n\n{lines}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
