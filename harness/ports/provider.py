"""Port: a model that streams.

A provider turns a request into deltas: for each content block one `BlockStart`, any number of `BlockDelta`s and one
`BlockEnd`, in any interleaving by `index`; then exactly one `Done`. It raises a `ProviderError` instead of `Done` when
the reply failed, also after the first delta. It never retries: `harness.agent.retry` does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import field, replace
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from harness.lazy_dataclass import dataclass
from harness.messages import Citation, JsonObject, JsonValue, ModelMessage, ModelSpec, StopReason, Usage
from harness.thinking_level import ThinkingLevel

BlockKind: TypeAlias = Literal["text", "thinking", "tool_call"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool; `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The form an answer must have, where the provider can hold the model to it; `schema` is a JSON Schema."""

    name: str
    schema: JsonObject


@dataclass(frozen=True, slots=True)
class CacheStrategy:
    """What of a request is marked for the prompt cache of services that want it marked; others cache by themselves.

    `messages`: the end of the conversation, so that each turn reads what the one before wrote. `lifetime`: how long the
    service keeps it; an hour costs more to write.
    """

    tools: bool = True
    system: bool = True
    messages: bool = True
    lifetime: Literal["5m", "1h"] = "5m"


NO_CACHE = CacheStrategy(tools=False, system=False, messages=False)


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model. `max_tokens` None lets the provider take the model's own limit.

    `answer_schema` is only set where `Model.native_schema` says that the provider knows what to do with it. `api_key`,
    where it is not None, is used instead of the provider's own for this request. `tell` takes what the person should
    know of how the model is asked.

    `transport` is the preferred streaming protocol; a provider that has only one uses that one. `metadata` is what the
    program gave with the prompt; the built-in providers do not send it.
    """

    spec: ModelSpec
    system: str
    messages: tuple[ModelMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    session_id: str = ""
    output_schema: OutputSchema | None = None
    api_key: str | None = field(default=None, repr=False)
    cache: CacheStrategy = CacheStrategy()
    on_notice: Callable[[str], None] | None = field(default=None, repr=False, compare=False)
    transport: str = "sse"
    metadata: JsonObject = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class BlockStart:
    """A block begins; `call_id` and `name` are set for a tool call."""

    index: int
    kind: BlockKind
    call_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class BlockDelta:
    """More of a block: text, thinking, or a piece of a tool call's arguments as JSON text."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """A block is complete. `redacted` belongs to thinking, `citations` to text; any block may have a `signature` (see
    `messages`)."""

    index: int
    signature: str | None = None
    redacted: str | None = None
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """The reply is complete. `error` explains a stop reason `error`, such as a refusal."""

    stop_reason: StopReason
    usage: Usage = Usage()
    response_id: str = ""
    error: str | None = None


Delta: TypeAlias = BlockStart | BlockDelta | BlockEnd | Done


class Provider(Protocol):
    """A service that models are asked at; `name` is what stands before the slash in a model's name."""

    name: str

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Ask the model; nothing is sent before the first item is awaited.

        Raises:
            ProviderError: the most exact subclass, at any point.
        """
        ...

    async def close(self) -> None:
        """Close connections; the provider can be used again afterwards.

        Agents may share a provider, so a reply that is streaming for another one is not cut off: its connection is
        closed when it ends.
        """
        ...


@runtime_checkable
class ThinkingAware(Protocol):
    """A provider that knows which models take a thinking level; of others it is assumed that all do."""

    def heeds_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        """Whether the thinking level of `spec` changes a request, compared with thinking off."""
        ...


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; `cache_write_1h` None: as much as any other cache write."""

    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0
    cache_write_1h: float | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model: tokens it can read and write, its price, and whether it sees images, uses tools and
    thinks; None where nobody says."""

    context_window: int = 200_000
    max_output: int | None = None
    price: Price | None = None
    images: bool | None = None
    tools: bool | None = None
    thinking: bool | None = None


class ModelInfoSource(Protocol):
    """Facts that cost time to look up. `now` is what is known without waiting (None: nothing yet)."""

    @property
    def now(self) -> ModelInfo | None: ...

    async def load(self) -> ModelInfo:
        """Look them up, and keep them as `now`."""
        ...


class StaticModelInfo:
    """Facts that are at hand."""

    def __init__(self, facts: ModelInfo | None = None) -> None:
        self._facts = facts or ModelInfo()

    @property
    def now(self) -> ModelInfo | None:
        return self._facts

    async def load(self) -> ModelInfo:
        return self._facts


@dataclass(frozen=True, slots=True)
class Model:
    """A provider and the model to ask it for. `native_schema`: it can be held to an `AnswerSchema`."""

    provider: Provider
    spec: ModelSpec
    info: ModelInfoSource
    native_schema: bool = False

    def heeds_thinking(self, level: ThinkingLevel, *, with_tools: bool = True) -> bool:
        """Whether the model can be told to think at this level."""
        if level == "off":
            return True
        known = self.info.now
        if known is not None and known.thinking is False:
            return False
        if not isinstance(self.provider, ThinkingAware):
            return True
        return self.provider.heeds_thinking(replace(self.spec, thinking=level), with_tools=with_tools)
