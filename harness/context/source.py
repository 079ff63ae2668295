"""Protocols of what the context is built from: a run and the state of an agent satisfy them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct, field

from harness.context.history import History
from harness.context.normalise import Normaliser
from harness.context.policy import ContextPolicy
from harness.messages import CustomMessage, Message, ModelMessage
from harness.ports.provider import ModelInfo
from harness.ports.tool import Tool
from harness.publishing.bus import Bus

ToLlm: TypeAlias = Callable[[Message], ModelMessage | None]
"""Function that converts a message for the model, or returns None to leave it out."""

Transform: TypeAlias = Callable[[Sequence[Message], bool], Awaitable[Sequence[Message]]]
"""Function that turns the history into the context; the flag is True if the last request was too long."""


def to_llm(message: Message) -> ModelMessage | None:
    """Convert a message for the model; messages of the application are left out."""
    return None if isinstance(message, CustomMessage) else message


class ContextProgress(Struct):
    """State of context building within one run."""

    left_out: tuple[int, bool] = (0, False)
    """Number of messages that the last context left out, and True if others were truncated."""

    normaliser: Normaliser = field(default_factory=Normaliser)


class ContextOptions(Protocol):
    """The options that context building needs."""

    @property
    def window(self) -> ContextPolicy: ...
    @property
    def convert_to_llm(self) -> ToLlm: ...
    @property
    def transform_context(self) -> Transform | None: ...


class ContextState(Protocol):
    """The state of an agent that its context depends on."""

    budget: int
    """Tokens a request may have, learned from a refused one; 0 = unknown."""

    max_tokens: int | None

    @property
    def system(self) -> str: ...
    @property
    def available_tools(self) -> tuple[Tool, ...]: ...
    @property
    def model_info(self) -> ModelInfo: ...


class ContextSource(Protocol):
    """The part of a run that its context is built from."""

    @property
    def history(self) -> History: ...
    @property
    def bus(self) -> Bus: ...
    @property
    def options(self) -> ContextOptions: ...
    @property
    def state(self) -> ContextState: ...
    @property
    def context(self) -> ContextProgress: ...
    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model is offered."""
        ...
