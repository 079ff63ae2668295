"""Port: providers that stream replies of models.

A provider turns a request into deltas: for each content block one `BlockStart`, any number of `BlockDelta`s and one
`BlockEnd`, in any interleaving by `index`; then exactly one `Done`. It raises a `ProviderError` instead of `Done` when
the reply failed, also after the first delta. It never retries; `harness.agent.retry` does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct, field
from msgspec.structs import replace

from harness.deltas import Delta
from harness.messages import JsonObject, JsonValue, ModelMessage, ModelSpec
from harness.structs import Redacted
from harness.thinking_level import ThinkingLevel

Hosting: TypeAlias = Literal["", "preferred", "only"]
"""Use of the service's own tool of the same name, which the service runs itself.

- empty: never
- `preferred`: instead of the declared tool, where the service has one
- `only`: the tool is not declared where the service has none
"""


class ToolSpec(Struct, frozen=True):
    """A tool as declared to a model."""

    name: str
    """Name the model calls it by."""
    description: str
    """Description for the model."""
    parameters: JsonObject
    """JSON Schema of type object."""
    hosting: Hosting = ""
    """Set only if the service should run the tool; see `Model.native_search`."""


class OutputSchema(Struct, frozen=True):
    """Schema of the reply, for providers that support constrained output."""

    name: str
    """Name of the schema."""
    schema: JsonObject
    """JSON Schema."""


class CacheStrategy(Struct, frozen=True):
    """Parts of a request marked for the prompt cache, for services that need markers; others cache automatically."""

    tools: bool = True
    """Cache the tool declarations."""
    system: bool = True
    """Cache the system prompt."""
    messages: bool = True
    """Cache the conversation, so that each turn reads what the previous one wrote."""
    lifetime: Literal["5m", "1h"] = "5m"
    """Time that the service keeps the cache; writing for an hour costs more."""


NO_CACHE = CacheStrategy(tools=False, system=False, messages=False)


class Request(Redacted, frozen=True):
    """One model call."""

    _hidden = ("api_key", "on_notice")

    spec: ModelSpec
    """Model, thinking level and base URL."""
    system: str
    """System prompt."""
    messages: tuple[ModelMessage, ...]
    """Context, oldest message first."""
    tools: tuple[ToolSpec, ...] = ()
    """Tools the model may call."""
    max_tokens: int | None = None
    """Maximum length of the reply in tokens; None uses the model's own limit."""
    temperature: float | None = None
    """Sampling temperature; None uses the provider's default."""
    session_id: str = ""
    """Session id, which some services use for cache routing."""
    cache_key: str = ""
    """Id to use for cache routing instead, that of the session that this one is a fork of; empty for no fork."""
    output_schema: OutputSchema | None = None
    """Schema of the reply; set only if `Model.native_schema` is True."""
    api_key: str | None = None
    """API key for this request; None uses the provider's own."""
    cache: CacheStrategy = CacheStrategy()
    """Parts to mark for the prompt cache."""
    on_notice: Callable[[str], None] | None = None
    """Receives notices for the user, such as a feature the model does not support."""
    transport: str = "sse"
    """Preferred streaming protocol; ignored by providers that support only one."""
    metadata: JsonObject = field(default_factory=dict[str, JsonValue])
    """Data the program passed with the prompt; the built-in providers do not send it."""


class Provider(Protocol):
    """Service that hosts models."""

    name: str
    """Prefix of its model names, before the slash."""

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Stream one reply. Nothing is sent before the first item is awaited.

        Raises:
            ProviderError: The call failed; the most specific subclass, at any point.
        """
        ...

    async def close(self) -> None:
        """Close all connections. The provider can be used again afterwards.

        Agents may share a provider, so a reply that is streaming for another agent is not cut off; its connection is
        closed when it ends.
        """
        ...


@runtime_checkable
class ThinkingAware(Protocol):
    """Provider that knows which of its models support thinking levels; for others, all are assumed to."""

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        """Return True if the thinking level of `spec` changes a request, compared with thinking off."""
        ...


class Price(Struct, frozen=True):
    """Price in US dollars per million tokens, and per thousand searches."""

    input: float
    """Uncached input tokens."""
    output: float
    """Output tokens, thinking included."""
    cache_read: float = 0.0
    """Tokens read from the prompt cache."""
    cache_write: float = 0.0
    """Tokens written to the prompt cache."""
    cache_write_1h: float | None = None
    """Tokens cached for an hour; None: the same as `cache_write`."""
    searches: float | None = None
    """Thousand web searches by the service of the model; None if unknown, then costs do not contain them."""


class ModelInfo(Struct, frozen=True):
    """Metadata of a model. None means unknown."""

    context_window: int = 200_000
    """Size of the context window in tokens."""
    max_output: int | None = None
    """Maximum length of a reply in tokens."""
    price: Price | None = None
    """Price per million tokens."""
    images: bool | None = None
    """True if the model accepts images."""
    tools: bool | None = None
    """True if the model supports tool calls."""
    thinking: bool | None = None
    """True if the model supports thinking."""


class ModelInfoSource(Protocol):
    """Model metadata that may take time to look up. `now` is what is known without waiting, or None."""

    @property
    def now(self) -> ModelInfo | None: ...

    async def load(self) -> ModelInfo:
        """Look up the metadata and keep it as `now`."""
        ...


class StaticModelInfo:
    """Model metadata that is known in advance."""

    def __init__(self, facts: ModelInfo | None = None) -> None:
        self._facts = facts or ModelInfo()

    @property
    def now(self) -> ModelInfo | None:
        return self._facts

    async def load(self) -> ModelInfo:
        return self._facts


class Model(Struct, frozen=True):
    """A model and the provider that hosts it."""

    provider: Provider
    """Provider to call."""
    spec: ModelSpec
    """Model id, thinking level and base URL."""
    info: ModelInfoSource
    """Source of context window, price and capabilities."""
    native_schema: bool = False
    """True if the provider can constrain the reply to an `OutputSchema`."""
    native_search: bool = False
    """True if the service searches the web itself, for a tool `web_search` with `ToolSpec.hosting`."""

    def supports_thinking(self, level: ThinkingLevel, *, with_tools: bool = True) -> bool:
        """Return True if the model supports this thinking level; `with_tools` if the request offers tools."""
        if level == "off":
            return True
        known = self.info.now
        if known is not None and known.thinking is False:
            return False
        if not isinstance(self.provider, ThinkingAware):
            return True
        return self.provider.supports_thinking(replace(self.spec, thinking=level), with_tools=with_tools)


def known_model_info(model: Model) -> ModelInfo:
    """Return the metadata of a model that is known without waiting."""
    return model.info.now or ModelInfo()
