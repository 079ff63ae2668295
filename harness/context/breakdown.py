"""What fills a model's window, piece by piece: what each takes, how surely that is known, and what a cache holds of it.

A service counts whole requests. What one message takes follows where two requests differ by just that message; the rest
is estimated, and the estimates are stretched so that all together are what was counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Literal, TypeAlias

from harness.agent.run import State, specs_of
from harness.context.policy import ContextPolicy, fit
from harness.context.tokens import estimate_message, estimate_overhead, estimate_text
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, CustomMessage, Message, Usage
from harness.ports.provider import ToolSpec

Section: TypeAlias = Literal["tools", "system", "instructions", "start", "middle", "recent", "left out"]
Cached: TypeAlias = Literal["all", "partly", "not"]

SECTIONS: tuple[Section, ...] = ("tools", "system", "instructions", "start", "middle", "recent")
PLAUSIBLE = 4.0
"""A counted difference this many times larger or smaller than our estimate counts something else as well."""


@dataclass(frozen=True, slots=True)
class ContextInputs:
    """What a conversation is sent in. `instructions` is the part of `system` that comes from instruction files; `size`
    is the model's window, 0 where nobody knows, and `reserve` what of it a reply may take. `budget`: what a request may
    have at most, 0: anything.
    """

    system: str = ""
    tools: Sequence[ToolSpec] = ()
    instructions: str = ""
    size: int = 0
    reserve: int = 0
    window: ContextPolicy = ContextPolicy()
    budget: int = 0


@dataclass(frozen=True, slots=True)
class ContextSegment:
    """A message, or what stands before all of them. `is_counted`: by the service, not by us."""

    section: Section
    tokens: int
    is_counted: bool = False
    cached: Cached = "not"
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """All pieces in the order in which a model reads them."""

    segments: tuple[ContextSegment, ...]
    size: int
    reserve: int

    @property
    def used(self) -> int:
        return sum(piece.tokens for piece in self.segments if piece.section != "left out")

    @property
    def free(self) -> int:
        """Tokens that nobody has a claim to; 0 where the window is not known."""
        return max(0, self.size - self.used - self.reserve)

    def tokens_in(self, zone: Section) -> int:
        return sum(piece.tokens for piece in self.segments if piece.section == zone)


def context_inputs(state: State, instructions: str = "", window: ContextPolicy = ContextPolicy()) -> ContextInputs:
    """The frame of an agent's next request: `frame_of(agent.state)`."""
    facts, budget = state.model_info, [each for each in (window.max_tokens, state.budget) if each]
    return ContextInputs(
        system=state.system,
        tools=specs_of(state.available_tools),
        instructions=instructions if instructions in state.system else "",
        size=facts.context_window,
        reserve=min(state.max_tokens or facts.max_output or 0, facts.context_window),
        window=window,
        budget=min(budget, default=0),
    )


def breakdown(messages: Sequence[Message], frame: ContextInputs) -> Breakdown:
    """Where the window goes. Pure, and in time proportional to the conversation."""
    said = [message for message in messages if not isinstance(message, CustomMessage)]
    before, gone = _before(frame), _left_out(frame, said)
    weights = _Weights([tokens for _, tokens in before], [False] * len(before))
    weights.add(said)
    if not gone:
        weights.stretch()
    zones: list[Section] = [zone for zone, _ in before]
    zones.extend(_zones(said, frame.window, gone))
    pieces = map(
        ContextSegment, zones, weights.tokens, weights.counted, weights.cached(), [*[None] * len(before), *said]
    )
    return Breakdown(tuple(pieces), frame.size, frame.reserve)


def _before(frame: ContextInputs) -> list[tuple[Section, int]]:
    instructions = estimate_text(frame.instructions) if frame.instructions else 0
    before: list[tuple[Section, int]] = [
        ("tools", estimate_overhead("", frame.tools) - estimate_text("")),
        ("system", max(0, estimate_text(frame.system) - instructions) if frame.system else 0),
        ("instructions", instructions),
    ]
    return [(zone, tokens) for zone, tokens in before if tokens]


def _zones(messages: Sequence[Message], window: ContextPolicy, gone: Set[str]) -> Iterator[Section]:
    recent = max(window.keep_first, len(messages) - window.keep_recent)
    for at, message in enumerate(messages):
        if message.id in gone:
            yield "left out"
        else:
            yield "start" if at < window.keep_first else "recent" if at >= recent else "middle"


def _left_out(frame: ContextInputs, messages: Sequence[Message]) -> set[str]:
    if not frame.budget:
        return set()
    fitted = fit(messages, frame.budget - estimate_overhead(frame.system, frame.tools), frame.window)
    return {message.id for message in messages} - {message.id for message in fitted.messages}


@dataclass(slots=True)
class _Weights:
    """What each piece takes, and whether the service counted it; `usage` is what it said last, with piece `last`."""

    tokens: list[int]
    counted: list[bool]
    usage: Usage = Usage()
    last: int = -1

    def add(self, messages: Sequence[Message]) -> None:
        waiting: list[int] = []
        for message in messages:
            at = len(self.tokens)
            usage = message.usage if isinstance(message, AssistantMessage) else None
            if usage is None or not usage.context:
                waiting.append(at)
                self.tokens.append(estimate_message(message))
                self.counted.append(False)
                continue
            told = _prompt(usage) - self.usage.context
            if self.last >= 0 and len(waiting) == 1 and _is_plausible(told, self.tokens[waiting[0]]):
                self.tokens[waiting[0]], self.counted[waiting[0]] = told, True
            self.tokens.append(usage.output)
            self.counted.append(True)
            self.usage, self.last, waiting = usage, at, []

    def stretch(self) -> None:
        """Bring the estimates up to the last reply to where all together are what the service counted."""
        past = range(self.last + 1)
        counted = sum(self.tokens[at] for at in past if self.counted[at])
        estimated = sum(self.tokens[at] for at in past if not self.counted[at])
        factor = (self.usage.context - counted) / estimated if estimated else 1.0
        if 1 / PLAUSIBLE <= factor <= PLAUSIBLE:
            for at in past:
                if not self.counted[at]:
                    self.tokens[at] = round(self.tokens[at] * factor)

    def cached(self) -> Iterator[Cached]:
        """What the service kept of the last request, or had from the one before."""
        kept, reached = self.usage.cache_read + self.usage.cache_write, 0
        for at, tokens in enumerate(self.tokens):
            before, reached = reached, reached + tokens
            # Rounding must not make a hole in what was kept whole.
            is_whole = reached <= kept + 2 + at // 100
            could_be = kept > 0 and at < self.last
            yield "all" if could_be and is_whole else "partly" if could_be and before < kept else "not"


def _is_plausible(told: int, estimated: int) -> bool:
    return estimated / PLAUSIBLE <= told <= estimated * PLAUSIBLE + 50


def _prompt(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write
