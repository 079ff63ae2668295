"""Port: selection among the outcomes of parallel runs, and the strategies that need no model.

`harness.parallel.judge` selects with a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from harness.agent.result import AgentResult
from harness.errors import ConfigError
from harness.messages import AssistantMessage, Message, ModelSpec, Usage


class Outcome(Struct, frozen=True):
    """Outcome of one configuration."""

    index: int
    """Number of the configuration, from 0."""
    run_id: str
    """Id of its run."""
    spec: ModelSpec
    """Model it used."""
    result: AgentResult
    """Result of its run."""
    messages: tuple[Message, ...]
    """Whole conversation after the run."""
    original_length: int
    """Number of messages before the prompt; they are the same in all outcomes."""
    usage: Usage = Usage()
    """Tokens and cost of the run."""

    @property
    def before(self) -> tuple[Message, ...]:
        """Messages before the prompt."""
        return self.messages[: self.original_length]

    @property
    def added(self) -> tuple[Message, ...]:
        """The prompt and all later messages."""
        return self.messages[self.original_length :]

    @property
    def succeeded(self) -> bool:
        """True if the run produced a reply and neither failed nor was aborted."""
        replied = any(isinstance(each, AssistantMessage) for each in self.added)
        return replied and self.result.stop_reason not in ("error", "aborted")


class Selection(Struct, frozen=True):
    """Result of a selection."""

    index: int
    """Index of the selected outcome."""
    usage: Usage = Usage()
    """Tokens and cost of the selection itself."""
    reason: str = ""
    """Explanation for the user."""
    warnings: tuple[str, ...] = ()
    """Warnings for the user about how the selection was made."""


class Strategy(Protocol):
    """Selects the run to continue with."""

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        """Select one of the outcomes.

        Called only if at least two runs succeeded.

        Args:
            prompts: Messages of the prompt; empty if the runs continued without one.
            outcomes: All outcomes, failed ones included; a failed one must not be selected.
        """
        ...


class Transparent:
    """Passes a single configuration through."""

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        """Return the only outcome.

        Raises:
            ConfigError: There is not exactly one outcome.
        """
        del prompts
        self.admit(len(outcomes))
        return Selection(outcomes[0].index, reason="the only one")

    def admit(self, count: int) -> None:
        """Check the number of configurations.

        Raises:
            ConfigError: There is not exactly one configuration.
        """
        if count != 1:
            raise ConfigError(f"Transparent accepts exactly one configuration, not {count}; use another strategy")


class PickFirst:
    """Selects the first run that succeeded, in the order of the configurations."""

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        del prompts
        return Selection(candidates(outcomes)[0].index, reason="the first that succeeded")


class TokenEfficient:
    """Selects the run that used the fewest tokens, input and output together."""

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        del prompts
        chosen = min(candidates(outcomes), key=_tokens)
        return Selection(chosen.index, reason=f"the fewest tokens: {chosen.usage.context:,}")


class Elaborate:
    """Selects the run that used the most tokens, input and output together."""

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        del prompts
        chosen = max(candidates(outcomes), key=_tokens)
        return Selection(chosen.index, reason=f"the most tokens: {chosen.usage.context:,}")


def candidates(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """Return the outcomes that succeeded, or all if none did."""
    return [each for each in outcomes if each.succeeded] or outcomes


def _tokens(outcome: Outcome) -> int:
    return outcome.usage.context


if TYPE_CHECKING:
    _: tuple[type[Strategy], ...] = (Transparent, PickFirst, TokenEfficient, Elaborate)
