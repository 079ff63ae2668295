"""Tables about runs: limits, plan mode, messages sent during a run, subagents."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Struct

from cinch_tui.config.setting import Setting, held, tighten

SteeringMode: TypeAlias = Literal["interrupt", "after_batch"]
PlanEnd: TypeAlias = Literal["execute", "stop"]
QueueMode: TypeAlias = Literal["one", "all"]


class LimitSettings(Struct, frozen=True):
    """Limits of one run; 0 means unlimited."""

    max_turns: Annotated[int, tighten("turns in one run; 0: unlimited", 0)] = 50
    max_turns_headless: Annotated[int, tighten("turns in one run in print mode; 0: unlimited", 0)] = 80
    max_tokens: Annotated[int, tighten("input and output tokens in one run; 0: unlimited", 0)] = 0
    max_duration_s: Annotated[float, tighten("duration of one run, in seconds; 0: unlimited", 0)] = 0.0
    max_cost_usd: Annotated[
        float, tighten("cost of one run in US dollars, for models with known prices; 0: unlimited", 0)
    ] = 10.0
    loop_detection: Annotated[
        bool, tighten("warn the model about calls that it repeats in vain, then block them, then stop")
    ] = True


class PlanSettings(Struct, frozen=True):
    enabled: Annotated[bool, tighten("start in plan mode: read-only until you accept a plan")] = False
    max_turns: Annotated[
        int, tighten("turns of one run in plan mode, counted apart from limits.max_turns; 0: unlimited", 0)
    ] = 20
    when_exhausted: Annotated[
        PlanEnd,
        held(
            "after these turns without an accepted plan: stop: the run ends; execute: it continues with all tools, "
            "in the app and in plain mode if you agree, in print mode at once"
        ),
    ] = "stop"


class SteeringSettings(Struct, frozen=True):
    mode: Annotated[
        SteeringMode,
        Setting(
            "messages sent during a run: after_batch: deliver when the running tool calls have finished; "
            "interrupt: cancel the others as soon as one has finished"
        ),
    ] = "after_batch"
    queue: Annotated[QueueMode, Setting("steering messages delivered at a time: one or all")] = "one"
    follow_up: Annotated[QueueMode, Setting("follow-up messages delivered at the end of a run: one or all")] = "one"


class SubagentSettings(Struct, frozen=True):
    max_depth: Annotated[int, held("nesting depth of subagents; 0: no subagents", 0)] = 2
    max_concurrent: Annotated[int, tighten("subagents that run at the same time", 1)] = 5
    max_turns: Annotated[int, tighten("turns of one subagent", 1)] = 20
    max_tokens: Annotated[
        int, tighten("tokens that all subagents of a run may use together; 0: only the run's limit", 0)
    ] = 0
    result_chars: Annotated[int, Setting("characters of a subagent's report returned to the agent; 0: all", 0)] = 4000


class ParallelSettings(Struct, frozen=True):
    evaluator: Annotated[
        str,
        held(
            "what chooses among the answers of /parallel: first, fewest-tokens, most-tokens, judge (the model of the "
            "session), or the name of one in a package; empty: you"
        ),
    ] = ""
