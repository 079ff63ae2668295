"""Policies around a run, as hooks: what it may spend, how long it may go, what it may call; and no going in circles.

Each counts within one run and begins at nothing with the next, so that agents may share one.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from harness.errors import ConfigError
from harness.events import TurnEnd
from harness.execution.partial import was_interrupted
from harness.execution.results import INTERRUPTED, STEERED
from harness.messages import AssistantMessage, Message, ToolCall, ToolResult, Usage
from harness.ports.hooks import Block, Hooks, Stop
from harness.ports.provider import Request


class Budget(Hooks):
    """Stops before the next turn once `max_cost` US dollars or `max_tokens` are spent; zero is unlimited.

    Counted is what each reply of this run reports, failed and aborted ones included: input, cache reads, cache writes
    and output, those of sub-agents too. Not counted are replies that were discarded and asked for again, and a cost
    where no price is known. The turn that crosses the line is still finished.
    """

    def __init__(self, max_cost: float = 0.0, max_tokens: int = 0) -> None:
        self._max_cost = max_cost
        self._max_tokens = max_tokens
        self._used = Usage()
        self.counts_cost = max_cost > 0

    def for_run(self) -> Budget:
        return Budget(self._max_cost, self._max_tokens)

    async def after_model(self, reply: AssistantMessage) -> None:
        self._used += reply.usage

    async def before_turn(self, messages: Sequence[Message], turn: int) -> Stop | None:
        cost = self._used.cost.total if self._used.cost else 0.0
        if self._max_cost and cost >= self._max_cost:
            return Stop(f"the budget of ${self._max_cost:g} is spent (${cost:.4f})")
        tokens = self._used.context
        if self._max_tokens and tokens >= self._max_tokens:
            return Stop(f"the budget of {self._max_tokens:,} tokens is spent ({tokens:,})")
        return None


class MaxTurns(Hooks):
    """Stops before turn `limit` + 1 of a run."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    async def before_turn(self, messages: Sequence[Message], turn: int) -> Stop | None:
        return Stop(f"the policy allows {self._limit} turns") if turn > self._limit else None


class DenyList(Hooks):
    """Hides tools whose name matches one of the patterns (`bash`, `git_*`, `mcp__*`; letter case counts), and blocks
    calls that a model makes of them all the same."""

    def __init__(self, *patterns: str) -> None:
        self._patterns = patterns

    async def before_model(self, request: Request) -> Request:
        return replace(request, tools=tuple(tool for tool in request.tools if not self._denies(tool.name)))

    async def before_tool(self, call: ToolCall) -> Block | None:
        if not self._denies(call.name):
            return None
        return Block(
            f"The tool {call.name} is not allowed here, whatever its arguments. "
            "Use another tool, or tell the user what you would have needed it for."
        )

    def _denies(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._patterns)


class LoopDetection(Hooks):
    """Keeps a model from making the same failing call for ever.

    The same call is the same tool with the same arguments; it fails when its result is an error, whether it ran, was
    denied or could not be; one that was skipped because the person spoke did not. When it failed `times` times among
    the last `lookback` calls, the next one is blocked and told to try something else; if the model makes it once more
    after that, the run stops. A success, or enough other calls, and all is forgiven. Calls of one reply are judged by
    what was before them, so a reply alone stops nothing.

    Raises:
        ConfigError: `times` is less than one, or more than `lookback`.
    """

    def __init__(self, *, lookback: int = 10, times: int = 3) -> None:
        if not 1 <= times <= lookback:
            raise ConfigError(f"a loop is 1 to {lookback} failures among the last {lookback} calls, not {times}")
        self._lookback = lookback
        self._times = times
        self._failed: deque[str] = deque(maxlen=lookback)
        self._warned: set[str] = set()
        self._blocked: set[str] = set()

    def for_run(self) -> LoopDetection:
        return LoopDetection(lookback=self._lookback, times=self._times)

    async def before_tool(self, call: ToolCall) -> Block | None:
        if not self._is_stuck(_key(call)):
            return None
        self._blocked.add(call.id)
        return Block(
            f"This very call of {call.name} has failed {self._times} times, so it was not made again. "
            "Try something else: other arguments, another tool, or tell the user what is in the way."
        )

    async def after_turn(self, end: TurnEnd) -> Stop | None:
        errors = {result.call_id: result.is_error for result in end.results if _counts(result)}
        calls = [call for call in end.message.tool_calls if call.id in errors or call.id in self._blocked]
        again = [call for call in calls if self._is_stuck(_key(call)) and errors.get(call.id, True)]
        hopeless = next((call for call in again if _key(call) in self._warned), None)
        for call in calls:
            if call.id not in self._blocked:
                self._note(_key(call), failed=errors[call.id])
        self._blocked.clear()
        self._warned = {key for key in self._warned | set(map(_key, again)) if self._is_stuck(key)}
        return Stop(f"the same call of {hopeless.name} failed again and again") if hopeless else None

    def _is_stuck(self, key: str) -> bool:
        return self._failed.count(key) >= self._times

    def _note(self, key: str, *, failed: bool) -> None:
        """Remember a call. Those that went well only push older failures out of the last `lookback`."""
        self._failed.append(key if failed else "")
        if not failed and key in self._failed:
            self._failed = deque(("" if each == key else each for each in self._failed), self._lookback)


def recommended() -> tuple[Hooks, ...]:
    """What swink-agent recommends: at most $10 and 50 turns a run, no shell; and no endless failing."""
    return (Budget(max_cost=10.0), MaxTurns(50), DenyList("bash"), LoopDetection())


def _counts(result: ToolResult) -> bool:
    """False for a call that the user skipped or interrupted: that is no failure of the call."""
    return result.text not in (STEERED, INTERRUPTED) and not was_interrupted(result)


def _key(call: ToolCall) -> str:
    return f"{call.name} {call.partial_json or json.dumps(call.arguments, sort_keys=True)}"
