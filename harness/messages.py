"""What is said: messages, their content blocks, usage and stop reasons.

Everything here is a frozen value, safe to share between the loop, the bus and the session file.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import field
from typing import Literal, TypeAlias

from harness.lazy_dataclass import dataclass
from harness.thinking_level import ThinkingLevel
from harness.views import View

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

StopReason: TypeAlias = Literal["stop", "length", "tool_use", "aborted", "error"]


def new_id() -> str:
    """A fresh UUID in its usual 36-character form."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of what a model says. `quote`: words of the source; `start` and `end`: the characters of the block that
    rest on it, where the service tells."""

    url: str
    title: str = ""
    quote: str = ""
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Words, of the person, the model or a tool.

    `signature`, here and in a tool call, is the proof of a thought that some vendors attach to what came of it; it goes
    back unchanged, to the same model only. `citations` never go back.
    """

    text: str
    signature: str | None = None
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a model thought; `signature` proves it to the vendor that wrote it and must go back unchanged.

    `redacted` holds thinking that the vendor encrypted; `text` is then empty.
    """

    text: str
    signature: str | None = None
    redacted: str | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """An image as base64 `data`, of a media type such as `image/png`."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One use of a tool. `partial_json` is what the model wrote where that is no JSON object; then nothing may run."""

    id: str
    name: str
    arguments: JsonObject
    partial_json: str = ""
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars by category."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0

    @property
    def total(self) -> float:
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply or the sum of several. `input` counts neither cache reads nor cache writes.

    `cost` is None where no price is known, which is not the same as free. `cache_write_1h` is the part of `cache_write`
    that is kept for an hour, which costs more.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Cost | None = None
    cache_write_1h: int = 0

    @property
    def context(self) -> int:
        """Tokens the model read and wrote: what the next request will carry."""
        return self.input + self.cache_read + self.cache_write + self.output

    def cache_hit_rate(self) -> float:
        """Return the fraction of the input tokens that was read from the prompt cache, from 0 to 1."""
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
        )


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Which model, where, and how hard it may think.

    `thinking_budgets`: tokens per level where the default does not fit. `base_url` is set when it is not at the
    provider's usual address.
    """

    provider: str
    model_id: str
    thinking: ThinkingLevel = "off"
    thinking_budgets: dict[ThinkingLevel, int] | None = None
    base_url: str = ""

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model_id}"


UserContent: TypeAlias = Text | Image
AssistantContent: TypeAlias = Text | Thinking | ToolCall


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the person said, or, when `synthetic`, what the program says in their place (a reminder, a limit).

    `time` is seconds since the epoch, as in all messages.
    """

    content: tuple[UserContent, ...]
    synthetic: bool = False
    id: str = field(default_factory=new_id)
    time: float = field(default_factory=time.time)

    @property
    def text(self) -> str:
        return text_of(self.content)


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One reply of a model. `error` says why `stop_reason` is `error` or `aborted`."""

    content: tuple[AssistantContent, ...]
    model: str = ""
    provider: str = ""
    usage: Usage = Usage()
    stop_reason: StopReason = "stop"
    error: str | None = None
    response_id: str = ""
    id: str = field(default_factory=new_id)
    time: float = field(default_factory=time.time)

    @property
    def text(self) -> str:
        return text_of(self.content)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolCall))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one answer to a tool call. `content` is for the model; `details` and `view` never are."""

    call_id: str
    tool_name: str
    content: tuple[UserContent, ...]
    is_error: bool = False
    details: JsonObject | None = None
    view: View | None = None
    id: str = field(default_factory=new_id)
    time: float = field(default_factory=time.time)

    @property
    def text(self) -> str:
        return text_of(self.content)


@dataclass(frozen=True, slots=True)
class CustomMessage:
    """Something an application keeps in the conversation; it never reaches a model."""

    kind: str
    data: JsonObject
    id: str = field(default_factory=new_id)
    time: float = field(default_factory=time.time)


ModelMessage: TypeAlias = UserMessage | AssistantMessage | ToolResult
Message: TypeAlias = ModelMessage | CustomMessage


def text_of(content: tuple[UserContent | AssistantContent, ...]) -> str:
    """The text blocks of some content, joined as they were streamed."""
    return "".join(block.text for block in content if isinstance(block, Text))


def user(text: str) -> UserMessage:
    """A user message of plain text."""
    return UserMessage((Text(text),))
