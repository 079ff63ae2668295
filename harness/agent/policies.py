"""Policies as hooks: budget, turn limit, denied tools, and loop detection.

Each counts per run and starts from zero with the next one, so that agents may share an instance. Subagents share the
counts of `LoopDetection`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from harness.agent.limits import dollars, is_reached
from harness.context.eviction import is_reference
from harness.errors import ConfigError
from harness.events import TurnEnd
from harness.execution.results import INTERRUPTED, STEERED, was_interrupted
from harness.messages import AssistantMessage, Message, ToolCall, ToolResult, Usage
from harness.ports.hooks import Block, Hooks, Inject, Stop
from harness.ports.provider import Request


class Budget(Hooks):
    """Stops a run before the next turn once its budget is spent; 0 = unlimited.

    It counts what each reply of the run reports, failed and aborted ones and those of subagents included: input, cache
    reads, cache writes and output. Discarded replies and unknown costs are not counted. The turn that exceeds the
    budget is completed.

    Args:
        max_cost: Budget in US dollars.
        max_tokens: Budget in tokens, input and output together.
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
        cost, tokens = dollars(self._used), self._used.context
        if is_reached(self._max_cost, cost):
            return Stop(f"the budget of ${self._max_cost:g} is spent (${cost:.4f})")
        if is_reached(self._max_tokens, tokens):
            return Stop(f"the budget of {self._max_tokens:,} tokens is spent ({tokens:,})")
        return None


class MaxTurns(Hooks):
    """Stops a run after `limit` turns."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    async def before_turn(self, messages: Sequence[Message], turn: int) -> Stop | None:
        return Stop(f"the policy allows {self._limit} turns") if turn > self._limit else None


class DenyList(Hooks):
    """Hides tools whose name matches a pattern, and blocks calls of them.

    Args:
        patterns: Case-sensitive patterns: `bash`, `git_*`, `mcp__*`.
    """

    def __init__(self, *patterns: str) -> None:
        self._patterns = patterns

    async def before_model(self, request: Request) -> Request:
        return replace(request, tools=tuple(tool for tool in request.tools if not self._denies(tool.name)))

    async def before_tool(self, call: ToolCall) -> Block | None:
        if not self._denies(call.name):
            return None
        return Block(
            f"The tool {call.name} is not allowed here, whatever its arguments. "
            "Use another tool, or explain to the user what it was needed for."
        )

    def reviews(self, tool_name: str) -> bool:
        return self._denies(tool_name)

    def _denies(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._patterns)


class LoopDetection(Hooks):
    """Warns about, blocks and finally stops a model that repeats the same call in vain.

    Two calls are the same if tool and arguments are equal. A call fails if its result is an error, whether it ran, was
    denied or was invalid; a call skipped by a steering message does not count. After `times` failures among the last
    `lookback` calls, the model is warned; the next such call is blocked with a hint; if the model repeats it once more,
    the run stops. A success, or enough other calls, resets the count. A call that succeeds `repeats` times with the
    same result leads to a warning only. Calls of one reply are judged by the history before them.

    Subagents share the counts of their agent.

    Args:
        lookback: Number of recent calls to consider.
        times: Number of failures that block a call.
        repeats: Number of equal results that lead to a warning; never if it is 0 or more than `lookback`.

    Raises:
        ConfigError: `times` is less than one, or more than `lookback`.
    """

    is_shared = True

    def __init__(self, *, lookback: int = 10, times: int = 3, repeats: int = 5) -> None:
        if not 1 <= times <= lookback:
            raise ConfigError(f"times must be between 1 and lookback ({lookback}), not {times}")
        self._lookback = lookback
        self._times = times
        self._repeats = repeats
        self._failed: deque[str] = deque(maxlen=lookback)
        self._succeeded: deque[str] = deque(maxlen=lookback)
        self._warned: set[str] = set()
        self._refused: set[str] = set()
        self._blocked: set[str] = set()

    def for_run(self) -> LoopDetection:
        return LoopDetection(lookback=self._lookback, times=self._times, repeats=self._repeats)

    def reviews(self, tool_name: str) -> bool:
        # It judges repeated calls, not what a call does.
        return False

    async def before_tool(self, call: ToolCall) -> Block | None:
        if not self._is_stuck(_key(call)):
            return None
        self._blocked.add(call.id)
        return Block(
            f"This exact call of {call.name} has failed {self._times} times, so it was not repeated. "
            "Try something else: other arguments, another tool, or report the problem to the user."
        )

    async def after_turn(self, end: TurnEnd) -> Stop | Inject | None:
        results = {result.call_id: result for result in end.results if _counts(result)}
        calls = [call for call in end.message.tool_calls if call.id in results]
        repeated = [call for call in calls if self._is_stuck(_key(call)) and results[call.id].is_error]
        hopeless = next((call for call in repeated if _key(call) in self._refused), None)
        for call in calls:
            if call.id not in self._blocked:
                self._note(_key(call), results[call.id])
        self._blocked -= results.keys()
        self._refused = {key for key in self._refused | set(map(_key, repeated)) if self._is_stuck(key)}
        self._warned = {each for each in self._warned if self._is_stuck(each) or self._is_same(each)}
        if hopeless:
            return Stop(f"the same call of {hopeless.name} failed repeatedly")
        warnings = [warning for call in calls if (warning := self._warning(call, results[call.id]))]
        return Inject(" ".join(dict.fromkeys(warnings))) if warnings else None

    def _warning(self, call: ToolCall, result: ToolResult) -> str:
        """Return a warning about a call that now counts as repeated; empty if the model was warned before."""
        key, same = _key(call), self._outcome(_key(call), result)
        if self._is_stuck(key) and key not in self._warned | self._refused:
            self._warned.add(key)
            return (
                f"The same call of {call.name} has failed {self._times} times. Do not repeat it: the next one is "
                "blocked. Try other arguments or another tool, or report the problem to the user."
            )
        if self._is_same(same) and same not in self._warned:
            self._warned.add(same)
            return (
                f"The same call of {call.name} has returned the same result {self._repeats} times. "
                "Repeating it leads nowhere; use the result, or try something else."
            )
        return ""

    def _is_stuck(self, key: str) -> bool:
        return self._failed.count(key) >= self._times

    def _is_same(self, outcome: str) -> bool:
        return 0 < self._repeats <= self._succeeded.count(outcome)

    def _outcome(self, key: str, result: ToolResult) -> str:
        outcome = f"{key} → "
        if is_reference(result):
            return next((each for each in reversed(self._succeeded) if each.startswith(outcome)), outcome)
        return f"{outcome}{hash(result.text)}"

    def _note(self, key: str, result: ToolResult) -> None:
        """Record a call. A successful one clears earlier failures of the same call."""
        self._failed.append(key if result.is_error else "")
        self._succeeded.append("" if result.is_error else self._outcome(key, result))
        if not result.is_error:
            self._failed = deque(("" if each == key else each for each in self._failed), self._lookback)


def recommended() -> tuple[Hooks, ...]:
    """Return the policies that swink-agent recommends: $10 and 50 turns per run, no shell, and loop detection."""
    return (Budget(max_cost=10.0), MaxTurns(50), DenyList("bash"), LoopDetection())


def _counts(result: ToolResult) -> bool:
    """Return False for a call that the user skipped or interrupted, which is not a failure."""
    return result.text not in (STEERED, INTERRUPTED) and not was_interrupted(result)


def _key(call: ToolCall) -> str:
    return f"{call.name} {call.partial_json or json.dumps(call.arguments, sort_keys=True)}"
