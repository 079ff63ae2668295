"""Usage of a session: tokens and cost per turn, and what the prompt cache held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from cinch_tui.reports.formatting import format_cost
from harness.agent.agent import Agent
from harness.agent.prompt_cache import missed_tokens, pause
from harness.messages import AssistantMessage, Usage

SHOWN_TURNS = 20
"""Number of latest turns that have a row of their own."""
MOST_MODEL_CHARS = 20
NOT_RECORDED = "the cause was not recorded"
"""Cause of a miss that another process had."""
_COLUMNS = "input | cache read | cache write | output | cost |"


def usage_report(agent: Agent) -> str:
    """Return tokens and cost by turn and, if there are several, by model, with the misses of the prompt cache."""
    replies = [each for each in agent.history.outline if isinstance(each, AssistantMessage) and each.usage.context]
    if not replies:
        return "No tokens used yet."
    total = _sum(replies)
    parts = [_turns(replies, total), _miss_list(agent, replies), _models(replies), *_remarks(agent, total)]
    return "\n\n".join(filter(None, parts))


def _turns(replies: Sequence[AssistantMessage], total: Usage) -> str:
    earlier = max(0, len(replies) - SHOWN_TURNS)
    misses = set(_misses(replies))
    rows = [f"| turn | {_COLUMNS}", "|---:|---:|---:|---:|---:|---:|"]
    rows += [_row(f"1-{earlier}", _sum(replies[:earlier]))] if earlier else []
    for number, reply in enumerate(replies[earlier:], earlier + 1):
        rows.append(_row(f"{number} !" if number in misses else str(number), reply.usage))
    return "\n".join([*rows, _row("**all**", total)])


def _misses(replies: Sequence[AssistantMessage]) -> Iterator[int]:
    """Yield the turns whose input the prompt cache should have held."""
    for number, (before, after) in enumerate(pairwise(replies), 2):
        if missed_tokens(before.usage, after.usage):
            yield number


def _miss_list(agent: Agent, replies: Sequence[AssistantMessage]) -> str:
    rows: list[str] = []
    unexplained: dict[int, int] = {}
    for number in list(_misses(replies))[-SHOWN_TURNS:]:
        before, after = replies[number - 2 : number]
        tokens, cause = missed_tokens(before.usage, after.usage), _cause(agent, before, after)
        if cause:
            rows.append(f"- Turn {number}: {tokens:,} tokens; {cause}")
        else:
            unexplained[number] = tokens
    if unexplained:
        turns = f"Turn{'s' * (len(unexplained) > 1)} {', '.join(map(str, unexplained))}"
        rows.insert(0, f"- {turns}: {sum(unexplained.values()):,} tokens; {NOT_RECORDED}")
    return "\n".join(["**!** Prompt cache misses:", "", *rows]) if rows else ""


def _models(replies: Sequence[AssistantMessage]) -> str:
    names = sorted({each.model for each in replies})
    if len(names) == 1:
        return ""
    rows = [f"| model | {_COLUMNS}", "|---|---:|---:|---:|---:|---:|"]
    for name in names:
        label = name if len(name) <= MOST_MODEL_CHARS else f"{name[: MOST_MODEL_CHARS - 1]}…"
        rows.append(_row(label, _sum(each for each in replies if each.model == name)))
    return "\n".join(rows)


def _remarks(agent: Agent, total: Usage) -> Iterator[str]:
    if total.cache_read:
        yield f"{total.cache_hit_rate():.0%} of the input was read from the prompt cache."
    if total.searches:
        cost = format_cost(total.cost.searches) if total.cost and total.cost.searches else "not part of the cost"
        yield f"Web searches by the service of the model: {total.searches:,}, {cost}."
    spent = agent.state.usage
    if spent.context > total.context:
        cost = f", {format_cost(spent.cost.total)}" if spent.cost else ""
        yield (
            f"With summaries, subagents, side questions and discarded replies: {spent.context - spent.output:,} tokens "
            f"input, {spent.output:,} output{cost}."
        )
    if total.cost is None:
        yield "No price is known for this model, so no cost is shown."


def _cause(agent: Agent, before: AssistantMessage, after: AssistantMessage) -> str:
    """Return the cause of a miss; empty if another process had it and the replies do not show it."""
    if cause := agent.state.prompt_cache.cause_of(after.id):
        return cause
    if (before.provider, before.model) != (after.provider, after.model):
        return f"the model changed from {before.model} to {after.model}"
    return pause(before.time, after.time, agent.options.cache)


def _row(label: str, usage: Usage) -> str:
    cost = format_cost(usage.cost.total if usage.cost else None)
    counts = (usage.input, usage.cache_read, usage.cache_write, usage.output)
    return f"| {label} | {' | '.join(f'{count:,}' for count in counts)} | {cost} |"


def _sum(replies: Iterable[AssistantMessage]) -> Usage:
    return sum((each.usage for each in replies), Usage())
