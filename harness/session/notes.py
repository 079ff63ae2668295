"""Lines of a session file outside the conversation: our own types, `cinch-…`.

Each records one fact at one time. Lines that concern a place in the conversation name the line after which they were
written in `after`, so that they count only in branches that contain it. Readers skip types and fields that they do not
know; a later version may add both.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal, TypedDict

import msgspec
from msgspec import Struct

from harness.codec import encode
from harness.messages import Cost, JsonObject, Usage, UsageSource
from harness.ports.provider import ToolSpec

FORMAT = 1
"""Version of our extensions; a file with a higher one is not opened."""


LABELS = frozenset({"custom-title", "ai-title", "tag"})
"""Types of the lines with titles and tags, which have Claude Code's format."""
KNOWN_TYPES = LABELS | {"summary", "tombstone"}
"""Types of Claude Code's lines outside the conversation that are read."""


class Note(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", tag_field="type"):
    """A line outside the conversation."""

    session_id: str = ""
    """Id of the session."""
    timestamp: str = ""
    """ISO time with milliseconds, in UTC."""


class NoteOrigin(TypedDict):
    """Fields that every note has."""

    session_id: str
    timestamp: str


class HeaderNote(Note, frozen=True, kw_only=True, tag="cinch-session", omit_defaults=False):
    """First line of a session. A later one, written when system prompt or tools were replaced, takes its place."""

    format: int = FORMAT
    """Version of our extensions."""
    cwd: str = ""
    """Folder of the project."""
    system_hash: str = ""
    """SHA-256 of the system prompt, in hexadecimal; empty if none is recorded."""
    system: str = ""
    """System prompt, sent unchanged when the session is resumed so that the provider's cache still fits."""
    tools: dict[str, str] = {}
    """Hashes of the declared tools by name, in order, which a resume keeps; empty if none are recorded."""
    cache_key: str = ""
    """Session by whose id services cache the beginning of the requests; empty: this one, which is no fork."""
    records_calls: bool = False
    """True if the start of each call is recorded: one without such a line did not run."""


class CallNote(Note, frozen=True, kw_only=True, tag="cinch-call"):
    """The start of a tool call: one without a result may have been executed, one without this line was not."""

    call_id: str
    """Id of the call."""
    tool: str = ""
    """Name of the tool."""


class UsageNote(Note, frozen=True, kw_only=True, tag="cinch-usage"):
    """Usage that no reply of the conversation carries."""

    id: str = ""
    """Id, by which equal usage differs from a line that is in the file twice; empty in files of earlier versions."""
    model: str
    """Model as `provider/model`."""
    usage: JsonObject
    """Token counts by their names in the Messages API."""
    cost: JsonObject | None = None
    """Cost, as encoded by `harness.codec`; None if unknown."""
    source: UsageSource = ""
    """Use of the tokens; empty if not recorded."""
    after: str = ""
    """Line of the conversation before it; empty if it counts in every branch."""


class ModelNote(Note, frozen=True, kw_only=True, tag="cinch-model"):
    """The model used from here on."""

    spec: JsonObject
    """Model spec, as encoded by `harness.codec`."""


class ModeNote(Note, frozen=True, kw_only=True, tag="cinch-mode"):
    """The mode from here on."""

    mode: str
    """Name of the mode."""


class RunNote(Note, frozen=True, kw_only=True, tag="cinch-run"):
    """The start or end of a run."""

    phase: Literal["start", "end"]
    """Start or end."""
    loop_id: str
    """Id of the run."""
    parent_loop_id: str | None = None
    """Id of the run it continues."""
    continuation: str | None = None
    """Kind of continuation."""
    stop: str | None = None
    """Reason for its end."""
    limit: str | None = None
    """Limit that was reached."""


class CustomNote(Note, frozen=True, kw_only=True, tag="cinch-custom"):
    """A `CustomMessage`, which models do not see."""

    id: str = ""
    """Id of the message."""
    kind: str = ""
    """Kind of the message."""
    data: JsonObject = {}
    """Its data."""
    after: str = ""
    """Line of the conversation before it; empty at the start."""


class CompactionNote(Note, frozen=True, kw_only=True, tag="cinch-compaction"):
    """A summary that replaces messages in the context; the history keeps them."""

    id: str
    """Id of the summary's message."""
    after: str
    """Last line of the conversation when it was made."""
    summary: str
    """Text that the model sees instead of the replaced messages."""
    first: str = ""
    """First replaced line; empty: the first of the conversation."""
    last: str = ""
    """Last replaced line."""
    kept: tuple[str, ...] = ()
    """Lines between `first` and `last` that stay in the context."""
    trigger: Literal["auto", "manual"] = "auto"
    """Cause of the compaction."""
    tokens_before: int = 0
    """Size of the context before it, in tokens."""
    tokens_after: int = 0
    """Size of the context after it, in tokens."""


class CompactionUndoNote(Note, frozen=True, kw_only=True, tag="cinch-compaction-undo"):
    """The withdrawal of a summary: its messages are in the context again."""

    id: str
    """Id of the summary's message."""
    after: str = ""
    """Line of the conversation before it."""


class EvictionNote(Note, frozen=True, kw_only=True, tag="cinch-eviction"):
    """Messages whose content the context replaces by a stub from here on."""

    ids: tuple[str, ...]
    """Lines of the messages."""
    after: str = ""
    """Line of the conversation before it."""
    can_recall: bool = False
    """True if the stubs name the `recall` tool."""


class TrimNote(Note, frozen=True, kw_only=True, tag="cinch-trim"):
    """The messages that the context leaves out or truncates from here on; the last line counts, up to a summary."""

    ids: tuple[str, ...] = ()
    """Lines of the messages that are left out."""
    shortened: tuple[str, ...] = ()
    """Lines of the tool results truncated to `lines` lines."""
    lines: int = 0
    """Maximum number of lines of these results."""
    truncated: tuple[str, ...] = ()
    """Lines of other messages whose texts are truncated."""
    shares: tuple[int, ...] = ()
    """Maximum length of each text in them, in tokens."""
    limit: int = 0
    """Maximum length of a request when it was made, in tokens."""
    after: str = ""
    """Line of the conversation before it."""


class ContextNote(Note, frozen=True, kw_only=True, tag="cinch-context"):
    """The messages that the user has pinned or removed from the context; the last line counts."""

    pinned: tuple[str, ...] = ()
    """Lines of the pinned messages."""
    dropped: tuple[str, ...] = ()
    """Lines of the removed messages."""
    after: str = ""
    """Line of the conversation before it."""


class CheckpointNote(Note, frozen=True, kw_only=True, tag="cinch-checkpoint"):
    """A place to which the conversation can be rewound."""

    id: str
    """Id of the checkpoint."""
    leaf: str = ""
    """Last line of the conversation; empty at its start."""
    label: str = ""
    """Description for the user."""


class RewindNote(Note, frozen=True, kw_only=True, tag="cinch-rewind"):
    """A return to an earlier place: the next line links to `leaf`, also if the session is resumed before it comes."""

    leaf: str = ""
    """New end of the conversation; empty: it starts anew."""
    checkpoint: str = ""
    """Id of the checkpoint, if there is one."""


AnyNote = (
    HeaderNote
    | CallNote
    | UsageNote
    | ModelNote
    | ModeNote
    | RunNote
    | CustomNote
    | CompactionNote
    | CompactionUndoNote
    | EvictionNote
    | TrimNote
    | ContextNote
    | CheckpointNote
    | RewindNote
)

_DECODER: msgspec.json.Decoder[AnyNote] = msgspec.json.Decoder(AnyNote)


def parse_note(line: bytes) -> AnyNote | None:
    """Return a line of a known type; None if its type is unknown or its fields do not fit."""
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def hash_of(system: str) -> str:
    """Return the SHA-256 of a system prompt in hexadecimal; empty for an empty prompt."""
    return sha256(system.encode("utf-8", "surrogatepass")).hexdigest() if system else ""


def tool_hashes(tools: Sequence[ToolSpec]) -> dict[str, str]:
    """Return the beginning of the SHA-256 of each declared tool, in hexadecimal, by name."""
    return {tool.name: sha256(msgspec.json.encode(tool)).hexdigest()[:16] for tool in tools}


def usage_facts(usage: Usage) -> JsonObject:
    """Return token counts by their names in the Messages API."""
    searches: JsonObject = {"server_tool_use": {"web_search_requests": usage.searches}} if usage.searches else {}
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
        **searches,
    }


def cost_facts(cost: Cost | None) -> JsonObject | None:
    """Return an encoded cost; None if it is unknown."""
    return encode(cost) if cost is not None else None
