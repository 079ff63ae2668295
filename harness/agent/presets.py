"""Presets: the default options of the five agents that cinch derives from, such as `preset("phi")`.

A preset sets what its source specifies and keeps our defaults for the rest. The values, with their sources:

setting             cinch     trustee     swink             phi         cersei
model               sonnet-4  -           sonnet-4-6        -           -
turns               10        1,000       50                50          10
tokens · seconds    -         -           -                 1M · 600    -
cost                -         -           $10               -           -
max_tokens          1,024     16,000      -                 8,192       16,384
temperature         0.7       -           -                 -           -
retries             0         3           2 (3 attempts)    3           5
delay from · to     -         1 s · -     1 s · 60 s        1 s · 30 s  1 s · 30 s
jitter              -         none        half              a fifth     a quarter
empty replies       3         -           -                 -           -
window              200,000   -           100,000 · 50,000  100,000     200,000
advice              60 · 80 % -           -                 -           80 %
eviction            80 · 60 % -           -                 -           -
compaction          80 %      -           -                 -           90 %
turns between       10        -           -                 -           0
first · recent      1 · 10    -           2 · -             2 · 10      0 · 10
lines of output     all       -           all               50          160
calls               parallel  sequential  parallel          parallel    -
tool timeout        60 s      120 s       bash 30 s         bash 120 s  -
characters          30,000    256,000     102,400           -           20,000
result cache        100 · 10  -           -                 -           -
approval            off       on          smart             -           off
steering            -         -           interrupt         after_batch -
queues              -         -           one · one         one · one   -
planning turns      10        -           -                 -           -

cinch: cinch-rs-data-flow.md sections 2, 5 and 7 (without a handler everything is approved). It starts with planning,
with the tools that only read, and executes the submitted plan without a review; without submit_plan it does not plan.
trustee: the `[execution]` and `[tools]` sections of its configuration; `confirm` asks about everything. swink:
swink-agent-prd.md sections 11 to 13, its window (the second number after an overflow), and the turns and cost of its
recommended policies. phi: phi-core-architecture.md sections 4 to 7; its window includes the system prompt. cersei: its
builder; more than 165 lines are cut to 80 and 80. cinch and cersei ask for no approval:
`approval="off"`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

from msgspec.structs import replace

from harness.agent.limits import Limits
from harness.agent.options import AgentOptions
from harness.agent.retry import RetryPolicy
from harness.approval.modes import PLAN, Planning
from harness.context.policy import NO_STAGES, ContextPolicy
from harness.errors import ConfigError
from harness.execution.context import Execution

_PRESETS: dict[str, Callable[[], AgentOptions]] = {
    "cinch": lambda: AgentOptions(
        approval="off",
        mode=PLAN,
        planning=Planning(max_turns=10, on_limit="execute", review=False),
        limits=Limits(max_turns=10),
        max_tokens=1_024,
        temperature=0.7,
        retry=RetryPolicy(max_retries=0, max_empty=3, empty_delay=0.5),
        window=ContextPolicy(
            window=200_000,
            evict_to=0.60,
            compact_at=0.80,
            compact_cooldown=10,
            summary_in_context=False,
            tool_output_lines=0,
        ),
        execution=Execution(
            concurrency="parallel", timeout=60.0, max_result_chars=30_000, cache_entries=100, cache_turns=10
        ),
    ),
    "trustee": lambda: AgentOptions(
        approval="on",
        limits=Limits(max_turns=1_000),
        max_tokens=16_000,
        retry=RetryPolicy(max_retries=3, initial=1.0, multiplier=2.0, jitter=0.0),
        window=NO_STAGES,
        execution=Execution(concurrency="sequential", timeout=120.0, max_result_chars=256_000),
    ),
    "swink": lambda: AgentOptions(
        approval="smart",
        limits=Limits(max_turns=50, max_cost=10.0),
        # Its three attempts include the first.
        retry=RetryPolicy(max_retries=2, initial=1.0, multiplier=2.0, max_delay=60.0, jitter=0.5),
        window=replace(NO_STAGES, window=100_000, reserve=0, overflow_tokens=50_000, keep_first=2, tool_output_lines=0),
        execution=Execution(concurrency="parallel", timeouts={"bash": 30.0}, max_result_chars=102_400),
        steering_mode="interrupt",
        steering="one",
        follow_up="one",
    ),
    "phi": lambda: AgentOptions(
        limits=Limits(max_turns=50, max_tokens=1_000_000, max_seconds=600.0),
        max_tokens=8_192,
        retry=RetryPolicy(max_retries=3, initial=1.0, multiplier=2.0, max_delay=30.0, jitter=0.2),
        window=replace(NO_STAGES, window=100_000, reserve=0, keep_first=2, keep_recent=10, tool_output_lines=50),
        execution=Execution(concurrency="parallel", timeouts={"bash": 120.0}),
        steering_mode="after_batch",
        steering="one",
        follow_up="one",
    ),
    "cersei": lambda: AgentOptions(
        approval="off",
        limits=Limits(max_turns=10),
        max_tokens=16_384,
        retry=RetryPolicy(max_retries=5, initial=1.0, multiplier=2.0, max_delay=30.0, jitter=0.25),
        window=ContextPolicy(
            window=200_000,
            reserve=0,
            advise_at=0,
            warn_at=0.80,
            evict_at=0,
            compact_at=0.90,
            compact_cooldown=0,
            summary_in_context=False,
            keep_first=0,
            tool_output_lines=160,
        ),
        execution=Execution(max_result_chars=20_000),
    ),
}
_MODELS = {"cinch": "anthropic/claude-sonnet-4", "swink": "anthropic/claude-sonnet-4-6"}


def preset(name: str) -> AgentOptions:
    """Return new options with the defaults of a preset; adapt them with `msgspec.structs.replace`.

    Raises:
        ConfigError: The preset does not exist.
    """
    return _known(name)()


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets."""
    return tuple(_PRESETS)


def preset_model(name: str) -> str:
    """Return the default model of a preset as `provider/model`, or an empty string if it has none.

    Raises:
        ConfigError: The preset does not exist.
    """
    _known(name)
    return _MODELS.get(name, "")


def _known(name: str) -> Callable[[], AgentOptions]:
    if name in _PRESETS:
        return _PRESETS[name]
    near = difflib.get_close_matches(name.lower(), _PRESETS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"available presets: {', '.join(_PRESETS)}"
    raise ConfigError(f"unknown preset {name!r}; {hint}")
