"""Hypothesis strategies for everything that can happen to a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import TypeAlias

from fakes.whim_model import Deaf, Fail, Part, Pause, Spoken, Stray, model_of
from fakes.whim_tools import DOINGS
from fakes.whims import Act, Deed, Picky, Stage, behave
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.agent.options import AgentOptions
from harness.agent.routing import ByTurn, CheapThenPowerful
from harness.approval.modes import PLAN
from harness.deltas import BlockDelta, BlockEnd, BlockStart, Done
from harness.errors import (
    AuthenticationFailed,
    ContextWindowOverflow,
    ModelThrottled,
    NetworkError,
    QuotaExhausted,
    RequestRejected,
    StreamError,
)
from harness.messages import JsonObject, Message, Usage
from harness.ports.hooks import Block, Inject, Modify, Stop
from harness.ports.provider import Model
from harness.user_requests import AllowAlways, AllowForSession, AllowOnce, AllowWithArguments, Approval, Denied
from providers.demo import Call, Hang, Say, Think

Twist: TypeAlias = tuple[str, object]
"""An option by its path, and its value."""


@dataclass(frozen=True, slots=True)
class Script:
    """All that happens in one example; `entries` are the runs, started one after another."""

    replies: Sequence[Spoken] = ()
    entries: Sequence[str] = ("prompt",)
    answers: Sequence[Approval | str] = ()
    deeds: Sequence[Deed] = ()
    acts: Sequence[Act] = ()
    twists: Sequence[Twist] = ()


TOUCHES: list[JsonObject] = [
    {},
    {"risk": "none"},
    {"path": "a"},
    {"risk": "edit", "path": "a"},
    {"risk": "edit", "path": "b"},
    {"risk": "edit"},
    {"risk": "execute"},
    {"risk": "dangerous"},
    {"risk": "forbidden"},
]
PEACEFUL = ["answer", "turn", "blink", "update", "draw", "flood", "ask", "raise", "miss", "babble", "enough", "foresee"]
CALLS = [
    *(Call("peek", {"do": do, **touch}) for do, touch in product(PEACEFUL, TOUCHES[:3])),
    *(Call("poke", {"do": do, **touch}) for do, touch in product(PEACEFUL, TOUCHES)),
    *(Call("peek", {"do": do}) for do in PEACEFUL * 3),
    *(Call("peek", {"do": do}) for do in DOINGS),
    *(Call("poke", {"do": do, "risk": "edit"}) for do in DOINGS),
]
PLAIN = [Call(name, {"do": do, **touch}) for name, do, touch in product(["peek", "poke"], PEACEFUL[:3], TOUCHES)]
BAD_CALLS = [
    Call("unknown", {"do": "answer"}),
    Call("", {}),
    Call("peek", {}),
    Call("poke", {"else": 1}),
    *(Call("peek", {}, raw=raw) for raw in ("", "{", "[]", "null", '{"do": "answer"', '{"do": "ans', "\x00", "{}{}")),
    Call("peek", {"do": "answer"}, id="same"),
    Call("poke", {"do": "turn"}, id="same"),
]
WORDS: list[Part] = [Say("words"), Say(""), Say(" \n"), Think("thought"), Think("", ""), Pause(), Pause(1)]
STRAYS: list[Part] = [
    *(Stray(BlockDelta(index, "more")) for index in (0, 1, 9)),
    *(Stray(BlockStart(index, "text")) for index in (0, 9)),
    *(Stray(BlockEnd(index)) for index in (0, 9)),
    Stray(BlockStart(0, "tool_call", "late", "peek")),
    Stray(Done("stop")),
    Stray(Done("tool_use", Usage(input=900, output=90))),
]
FAILURES: list[Part] = [
    *(Fail(kind("no")) for kind in (NetworkError, RequestRejected, AuthenticationFailed, QuotaExhausted, StreamError)),
    *(Fail(ModelThrottled(f"wait {seconds}", retry_after=seconds)) for seconds in (0.0, 30.0, 9_999.0)),
    Fail(ModelThrottled("slower")),
    *(Fail(ContextWindowOverflow("too long")) for _ in range(3)),
    Fail(ZeroDivisionError("by zero")),
    Hang(),
    Deaf(),
]
RETRYABLE = FAILURES[:1] + FAILURES[5:8] + FAILURES[9:11]
ENDS = ["tool_use"] * 12 + ["stop"] * 6 + ["length", "error", "aborted", None]
USAGES = [Usage(input=10, output=5), Usage(), Usage(input=700, output=200, cache_read=90)]

DEEDS = ["abort", "steer", "follow", "cancel", "steer bad", "follow odd", "follow awful", "take", "model", "mode plan"]
DEEDS += ["mode execute", "tools less", "tools more", "notify well"]
TIMES = ["now", "soon", 0.005, 0.5]
BEHAVIOURS = ["turn", "nap", "raise", "hang", "swallow", "stumble", "abort", "steer", "cancel"]
ANSWERS: list[Approval | str] = [
    *(AllowOnce(), Denied("no"), Denied(non_interactive=True), AllowForSession(), AllowAlways()),
    *(AllowWithArguments({"do": "answer", **touch}) for touch in TOUCHES),
    AllowWithArguments({}),
    *BEHAVIOURS,
]
POINTS = ["before_loop", "before_turn", "before_model", "after_model", "before_tool", "after_tool", "after_turn"]
POINTS += ["on_error", "after_loop"]
VERDICTS = [
    *(Act(point, nth, Stop("enough")) for point, nth in product(["before_loop", "before_turn", "after_turn"], (1, 2))),
    *(Act(point, nth, Inject("mind")) for point, nth in product(["before_turn", "after_turn", "before_tool"], (1, 2))),
    *(Act("before_tool", nth, Block("blocked")) for nth in (1, 2, 3)),
    *(Act("before_tool", nth, Modify({"do": "answer", **touch})) for nth, touch in product((1, 2), TOUCHES)),
    *(Act("before_tool", nth, Modify({})) for nth in (1, 2)),
    *(Act("before_update", nth, what) for nth, what in product((1, 2), ("raise", "hide"))),
]
ACTS = [
    *VERDICTS,
    *(Act(point, nth, how) for point, nth, how in product(POINTS, (1, 2), BEHAVIOURS)),
    *(Act("before_turn", nth, how) for nth, how in product((2, 2, 3, 3), ("abort", "hang", "nap"))),
]

TWISTS: list[Twist] = [
    *(("execution.concurrency", how) for how in ("sequential", 1, 2)),
    *(("execution.timeout", seconds) for seconds in (0.02, 0.02, 3.0)),
    *(("execution.cache_entries", count) for count in (0, 1)),
    *(("execution.max_result_chars", count) for count in (0, 60)),
    *(("steering_mode", "after_batch"), ("steering", "all"), ("follow_up", "all")),
    *(("limits.max_turns", count) for count in (1, 2)),
    *(("limits.max_tokens", 20), ("limits.max_cost", 1e-5), ("limits.max_seconds", 1e-9)),
    *(("window.window", tokens) for tokens in (1, 260)),
    *(("window.overflow_tokens", 250), ("window.keep_recent", 1)),
    *(("retry.max_retries", 0), ("retry.max_empty", 0)),
    *(("approval", how) for how in ("on", "off", "off")),
    *(("mode", PLAN), *[("guardrails", (Picky(),))] * 5),
    *(("fallback", count) for count in (1, 2)),
    *(("routing", how) for how in ("by turn", "cheap first", "raise")),
    *(("transform", how) for how in ("last", "last", "custom", "custom", "turn", "raise", "swallow")),
    *(("key", how) for how in ("turn", "raise", "swallow")),
    *(("tool_filter", how) for how in ("none", "raise")),
]


def option(stage: Stage, twist: Twist) -> tuple[str, object]:
    """Return the agent options with a twist applied."""
    name, value = twist
    match name:
        case "fallback":
            return name, tuple(model_of(stage.wire, f"fallback {number}") for number in range(int(str(value))))
        case "routing":
            return name, Astray(stage, str(value))
        case "transform":
            return "transform_context", transforming(stage, str(value))
        case "key":
            return "get_api_key", keys(stage, str(value))
        case "tool_filter":
            return name, picking(str(value))
        case _:
            return name, value


def twisted(stage: Stage, options: AgentOptions, twists: Sequence[Twist]) -> AgentOptions:
    return reduce(lambda before, twist: _with(before, *option(stage, twist)), twists, options)


def _with(options: AgentOptions, path: str, value: object) -> AgentOptions:
    outer, _, inner = path.partition(".")
    return replace(options, **{outer: replace(getattr(options, outer), **{inner: value}) if inner else value})


class Astray:
    """Built-in routing, or one that fails at the second turn."""

    def __init__(self, stage: Stage, how: str) -> None:
        cheap, powerful = model_of(stage.wire, "cheap"), model_of(stage.wire, "powerful")
        self._routing = ByTurn(cheap, {2: powerful}) if how == "by turn" else CheapThenPowerful(cheap, powerful, 2)
        self._breaks = how == "raise"

    def model_for(self, turn: int, *, is_subagent: bool) -> Model:
        if self._breaks and turn == 2:
            raise ZeroDivisionError("by zero")
        return self._routing.model_for(turn, is_subagent=is_subagent)


def transforming(stage: Stage, how: str):
    async def transform(messages: Sequence[Message], overflow: bool) -> Sequence[Message]:
        match how:
            case "last":
                return messages[-2:]
            case "custom":
                return messages[:1] if overflow else messages
            case _:
                await behave(stage, how)
                return messages

    return transform


def keys(stage: Stage, how: str):
    async def key(provider: str) -> str | None:
        await behave(stage, how)
        return f"key of {provider}"

    return key


def picking(how: str):
    def pick(tools, messages):
        if how == "raise" and len(messages) > 2:
            raise ZeroDivisionError("by zero")
        return ()

    return pick


def spoken(parts: Sequence[Part], most: int = 4) -> st.SearchStrategy[Spoken]:
    """Return a strategy for replies with at most that many parts."""
    content = st.lists(st.sampled_from(parts), min_size=1, max_size=most).map(tuple)
    return st.builds(Spoken, content, st.sampled_from(ENDS), st.sampled_from(USAGES))


def listed(choices: Sequence[object], most: int) -> st.SearchStrategy[list]:
    return st.lists(st.sampled_from(choices), max_size=most)


def scripts(
    replies: st.SearchStrategy[Spoken], *, deeds: int = 1, answers: int = 2, acts: int = 1, twists: int = 2
) -> st.SearchStrategy[Script]:
    """Return a strategy for scripts with at most that many items of each kind."""
    entries = [
        "prompt",
        "prompt",
        "prompt",
        "queue",
        "queue",
        "continue",
        "stream",
        "leave",
        "prompt bad",
        "prompt odd",
        "messages",
    ]
    return st.builds(
        Script,
        replies=st.lists(replies, min_size=1, max_size=6),
        entries=st.lists(st.sampled_from(entries), min_size=1, max_size=3),
        answers=listed(ANSWERS, answers),
        deeds=st.lists(
            st.builds(Deed, st.integers(1, 50), st.sampled_from(DEEDS), st.sampled_from(TIMES)), max_size=deeds
        ),
        acts=listed(ACTS, acts),
        twists=listed(TWISTS, twists),
    )
