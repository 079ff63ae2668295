"""Messages, their content blocks, token usage and stop reasons.

Everything here is a frozen value, safe to share between the loop, the bus and the session file.
"""

from __future__ import annotations

import time
import uuid
from operator import add
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import field
from msgspec.structs import astuple

from harness.structs import Tagged
from harness.thinking_level import ThinkingLevel
from harness.views import View

if TYPE_CHECKING:
    JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
else:
    JsonValue = Any  # msgspec cannot resolve a recursive alias
JsonObject: TypeAlias = dict[str, JsonValue]

StopReason: TypeAlias = Literal["stop", "length", "tool_use", "pause", "aborted", "error"]


def new_id() -> str:
    """Return a new UUID in its 36-character form."""
    return str(uuid.uuid4())


class Citation(Tagged, frozen=True):
    """Source cited by a model."""

    url: str
    """URL of the source."""
    title: str = ""
    """Title of the source."""
    quote: str = ""
    """Text quoted from the source."""
    start: int | None = None
    """First character of the cited range in the text block; None if the service does not report it."""
    end: int | None = None
    """End of the cited range, exclusive."""


class Text(Tagged, frozen=True):
    """Text written by the user, the model or a tool."""

    text: str
    """The text."""
    signature: str | None = None
    """Vendor data, such as proof of the thinking behind this block or citations of a search; sent back unchanged, and
    to the same model only."""
    citations: tuple[Citation, ...] = ()
    """Sources for the user; what a service requires back is in the signature."""


HOSTED_SEARCH = "Web search"
"""Start of the text of a thinking block that is a search, or its result, of the model's service."""


class Thinking(Tagged, frozen=True):
    """Thinking of the model, or a search of its service."""

    text: str
    """The thinking; empty if the vendor encrypted it."""
    signature: str | None = None
    """Vendor proof that the model wrote it; must be sent back unchanged."""
    redacted: str | None = None
    """Thinking encrypted by the vendor."""


class Image(Tagged, frozen=True):
    """Image."""

    media_type: str
    """Media type, such as `image/png`."""
    data: str
    """Base64-encoded content."""


class ToolCall(Tagged, frozen=True):
    """Tool call of the model."""

    id: str
    """Id that links the call with its result."""
    name: str
    """Name of the tool."""
    arguments: JsonObject
    """Arguments; empty if they could not be parsed."""
    partial_json: str = ""
    """Text of the arguments if it is not a JSON object; such a call never runs."""
    signature: str | None = None
    """Vendor signature; see `Text.signature`."""


class Cost(Tagged, frozen=True):
    """Cost in US dollars by category."""

    input: float = 0.0
    """Uncached input."""
    output: float = 0.0
    """Output, thinking included."""
    cache_read: float = 0.0
    """Input read from the prompt cache."""
    cache_write: float = 0.0
    """Input written to the prompt cache."""
    searches: float = 0.0
    """Web searches by the service of the model."""

    @property
    def total(self) -> float:
        return self.input + self.output + self.cache_read + self.cache_write + self.searches

    def __add__(self, other: Cost) -> Cost:
        return Cost(*map(add, astuple(self), astuple(other)))


class Usage(Tagged, frozen=True):
    """Token usage of one reply, or the sum of several."""

    input: int = 0
    """Input tokens, without cache reads and cache writes."""
    output: int = 0
    """Output tokens, thinking included."""
    cache_read: int = 0
    """Input tokens read from the prompt cache."""
    cache_write: int = 0
    """Input tokens written to the prompt cache."""
    cost: Cost | None = None
    """Cost in US dollars; None if the price is unknown, which is not the same as free."""
    cache_write_1h: int = 0
    """Part of `cache_write` that is cached for an hour, at a higher price."""
    searches: int = 0
    """Web searches by the service of the model, which are paid for in addition to tokens."""

    @property
    def context(self) -> int:
        """Tokens read and written, which the next request will contain."""
        return self.input + self.cache_read + self.cache_write + self.output

    def cache_hit_rate(self) -> float:
        """Return the fraction of the input tokens that were read from the prompt cache, from 0 to 1."""
        read = self.input + self.cache_read + self.cache_write
        return self.cache_read / read if read else 0.0

    def __add__(self, other: Usage) -> Usage:
        cost = self.cost + other.cost if self.cost and other.cost else self.cost or other.cost
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            cost,
            self.cache_write_1h + other.cache_write_1h,
            self.searches + other.searches,
        )


UsageSource: TypeAlias = Literal[
    "",
    "subagent",
    "side_question",
    "parallel",
    "judge",
    "aborted",
    "title",
    "compaction",
    "handoff",
    "sampling",
    "task",
    "hook",
]
"""Use of tokens that belong to no reply in the history; `aborted` is a reply that was discarded; empty: unknown."""


class ModelSpec(Tagged, frozen=True):
    """Model, thinking level and API address."""

    provider: str
    """Name of the provider."""
    model_id: str
    """Id of the model at the provider."""
    thinking: ThinkingLevel = "off"
    """Thinking level."""
    thinking_budgets: dict[ThinkingLevel, int] | None = None
    """Thinking budget in tokens per level; None uses the defaults."""
    base_url: str = ""
    """API base URL; empty uses the provider's default."""

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model_id}"


UserContent: TypeAlias = Text | Image
AssistantContent: TypeAlias = Text | Thinking | ToolCall


class _Recorded(Tagged, frozen=True, kw_only=True):
    """Base class of messages."""

    id: str = field(default_factory=new_id)
    """Id of the message."""
    time: float = field(default_factory=time.time)
    """Seconds since the epoch."""


class UserMessage(_Recorded, frozen=True):
    """Message of the user, or of the program on the user's behalf."""

    content: tuple[UserContent, ...]
    """Text and images."""
    synthetic: bool = False
    """True if the program wrote the message: a reminder, a limit."""

    @property
    def text(self) -> str:
        return text_of(self.content)


class AssistantMessage(_Recorded, frozen=True):
    """Reply of a model."""

    content: tuple[AssistantContent, ...]
    """Content blocks in the order they were streamed."""
    model: str = ""
    """Id of the model."""
    provider: str = ""
    """Name of the provider."""
    usage: Usage = Usage()
    """Tokens and cost of the reply."""
    stop_reason: StopReason = "stop"
    """Reason the model stopped; after `pause`, another model call continues the reply."""
    error: str | None = None
    """Description of the error if `stop_reason` is `error` or `aborted`."""
    response_id: str = ""
    """Id the service gave the reply."""

    @property
    def text(self) -> str:
        return text_of(self.content)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        # Comparing types is several times as fast, which matters for long sessions.
        return tuple([block for block in self.content if type(block) is ToolCall])


class ToolResult(_Recorded, frozen=True):
    """Result of a tool call; every call has exactly one."""

    call_id: str
    """Id of the tool call."""
    tool_name: str
    """Name of the tool."""
    content: tuple[UserContent, ...]
    """Content for the model."""
    is_error: bool = False
    """True if the call failed."""
    details: JsonObject | None = None
    """Structured data for programs; never sent to the model."""
    view: View | None = None
    """Display for the user; never sent to the model."""

    @property
    def text(self) -> str:
        return text_of(self.content)


class CustomMessage(_Recorded, frozen=True):
    """Message of the application, stored in the conversation and never sent to a model."""

    kind: str
    """Type, defined by the application."""
    data: JsonObject
    """Content, defined by the application."""


ModelMessage: TypeAlias = UserMessage | AssistantMessage | ToolResult
Message: TypeAlias = ModelMessage | CustomMessage


def text_of(content: tuple[UserContent | AssistantContent, ...]) -> str:
    """Return the concatenated text blocks of some content."""
    return "".join(block.text for block in content if isinstance(block, Text))


def user(text: str) -> UserMessage:
    """Return a user message of plain text."""
    return UserMessage((Text(text),))


def synthetic(text: str) -> UserMessage:
    """Return a message to the model that the program writes."""
    return UserMessage((Text(text),), synthetic=True)
