"""Who chooses between the outcomes of parallel runs: the port, and the choices that need no model.

A model that chooses is in `harness.parallel.judge`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from harness.agent.result import AgentResult
from harness.errors import ConfigError
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, Message, ModelSpec, Usage


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one configuration made of the prompt.

    `messages` is its whole conversation; the first `original_length` were there before the prompt, and are the same in
    all outcomes. `index` counts the configurations from 0.
    """

    index: int
    run_id: str
    spec: ModelSpec
    result: AgentResult
    messages: tuple[Message, ...]
    original_length: int
    usage: Usage = Usage()

    @property
    def before(self) -> tuple[Message, ...]:
        """The conversation that the prompt came into."""
        return self.messages[: self.original_length]

    @property
    def added(self) -> tuple[Message, ...]:
        """The prompt and what came of it."""
        return self.messages[self.original_length :]

    @property
    def succeeded(self) -> bool:
        """It replied, and neither failed nor was stopped."""
        replied = any(isinstance(each, AssistantMessage) for each in self.added)
        return replied and self.result.stop_reason not in ("error", "aborted")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which outcome goes on, why, what the choice itself used, and what a person should know of how it was made."""

    index: int
    usage: Usage = Usage()
    reason: str = ""
    warnings: tuple[str, ...] = ()


class Strategy(Protocol):
    """Chooses which of several runs goes on."""

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        """Choose one of all outcomes; failed ones are among them, and are not to be chosen.

        `prompts` is empty where the runs went on without one. Asked only when at least two succeeded.
        """
        ...


class Transparent:
    """For one configuration only: there is nothing to choose."""

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        """Raises:
        ConfigError: there is not exactly one outcome.
        """
        del prompts
        self.admit(len(outcomes))
        return Selection(outcomes[0].index, reason="the only one")

    def admit(self, count: int) -> None:
        """Raises:
        ConfigError: so many cannot be chosen between.
        """
        if count != 1:
            raise ConfigError(f"Transparent passes one configuration through, it cannot choose between {count}")


class PickFirst:
    """The first that succeeded, in the order of the configurations."""

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        del prompts
        return Selection(candidates(outcomes)[0].index, reason="the first that succeeded")


class TokenEfficient:
    """The one that used the fewest tokens, input and output together."""

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        del prompts
        chosen = min(candidates(outcomes), key=_tokens)
        return Selection(chosen.index, reason=f"the fewest tokens: {chosen.usage.context:,}")


class Elaborate:
    """The one that used the most tokens, input and output together."""

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        del prompts
        chosen = max(candidates(outcomes), key=_tokens)
        return Selection(chosen.index, reason=f"the most tokens: {chosen.usage.context:,}")


def candidates(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """Those to choose between: all that succeeded, or, where none did, all."""
    return [each for each in outcomes if each.succeeded] or outcomes


def _tokens(outcome: Outcome) -> int:
    return outcome.usage.context


if TYPE_CHECKING:
    _: tuple[type[Strategy], ...] = (Transparent, PickFirst, TokenEfficient, Elaborate)
