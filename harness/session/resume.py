"""Loading of sessions.

Opening a file only indexes it; a message is read when it is first accessed, and then kept in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from harness.codec import decode_or_none
from harness.context.overlay import Compaction, ContextOverlay, Eviction
from harness.errors import SessionError, SessionMissing, SessionTooNew
from harness.messages import JsonObject, ModelSpec, Text, Usage, UserMessage
from harness.session.line_index import LineIndex, scan
from harness.session.notes import (
    FORMAT,
    LABELS,
    AnyNote,
    CheckpointNote,
    CompactionNote,
    CompactionUndoNote,
    ContextNote,
    EvictionNote,
    HeaderNote,
    ModelNote,
    ModeNote,
    RunNote,
    TrimNote,
    UsageNote,
)
from harness.session.paths import SUFFIX, is_subagent_file
from harness.session.reading import iso_time, read_usage, text_at
from harness.session.session_messages import MessageReader, SessionMessages

if TYPE_CHECKING:
    from harness.context.trimming import Trim

N = TypeVar("N", bound=AnyNote)


class LoadedSession(Struct, frozen=True):
    """A session as loaded from its file or a store."""

    path: Path
    """The file; of a session in a store, only the name it would have."""
    session_id: str
    """Id of the session."""
    cwd: Path
    """Folder the session was started in."""
    messages: SessionMessages
    """Messages of the conversation."""
    last_uuid: str | None
    """Uuid of the line that the next one links to; None if there is no message."""
    title: str = ""
    """Title; empty if it has none."""
    spec: ModelSpec | None = None
    """Model that was used last; None if none is recorded."""
    mode: str = ""
    """Mode at the end; empty if none is recorded."""
    created: float = 0.0
    """Start of the session, in seconds since the epoch."""
    updated: float = 0.0
    """Time of the last message, in seconds since the epoch."""
    losses: tuple[str, ...] = ()
    """Descriptions of lost parts that are known from the index."""
    run_ids: tuple[str, ...] = ()
    """Ids of its runs, in order."""
    system: str = ""
    """System prompt of its requests; empty if none is recorded."""
    tools: dict[str, str] = {}
    """Hashes of the tools of its requests by name, in order; empty if none are recorded."""
    cache_key: str = ""
    """Session by whose id services cache the beginning of the requests; empty: this one, which is no fork."""
    compactions: tuple[CompactionNote, ...] = ()
    """Summaries that replace messages in the context, in order."""
    evictions: tuple[EvictionNote, ...] = ()
    """Messages whose content the context replaces by a stub, in order."""
    trim: TrimNote | None = None
    """Messages that the context leaves out or truncates; None if there are none."""
    context_edits: ContextNote = ContextNote()
    """Messages that the user pinned or removed from the context."""
    checkpoints: tuple[CheckpointNote, ...] = ()
    """Places to which the conversation can be rewound, in order."""
    notes: tuple[AnyNote, ...] = ()
    """Our own lines outside the conversation."""
    labels: tuple[JsonObject, ...] = ()
    """Lines with its titles and tags."""
    other_usage: tuple[tuple[str, Usage], ...] = ()
    """Usage that belongs to no reply, each with the name of the model."""
    target: str = ""
    """Id of the message to show first; empty for the end."""

    @property
    def overlay(self) -> ContextOverlay:
        """Summaries, stubs, pins and removals that models see."""
        return _overlay(self)

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of the session."""
        return tags_of(self.labels)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Descriptions of all known losses; a damaged message is known once it was accessed."""
        return (*self.losses, *map(_unread, dict.fromkeys(self.messages.damaged)))

    @property
    def model_name(self) -> str:
        """Model that was used last as `provider/model`; empty if unknown."""
        return self.spec.name if self.spec else ""


def load_session(path: Path) -> LoadedSession:
    """Open a session file, ours or Claude Code's.

    Raises:
        SessionMissing: The file does not exist.
        SessionTooNew: A later version of cinch wrote it in an unknown format.
        SessionError: The file cannot be read.
    """
    try:
        read = MessageReader()
        layout = scan(path, is_sidechain=is_subagent_file(path), on_line=read.add)
        read.finish()
        return _loaded(path, path.stem, layout, SessionMessages(path, layout, read), path.stat().st_mtime)
    except FileNotFoundError as error:
        raise SessionMissing(f"{path} does not exist") from error
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error


def read_session(session_id: str, data: bytes) -> LoadedSession:
    """Load a session from the content of its file, such as a store returns it.

    Raises:
        SessionTooNew: A later version of cinch wrote it in an unknown format.
    """
    layout = scan(data)
    return _loaded(Path(f"{session_id}{SUFFIX}"), session_id, layout, SessionMessages(data, layout), 0.0)


def _loaded(
    path: Path, session_id: str, layout: LineIndex, messages: SessionMessages, modified: float
) -> LoadedSession:
    check_format(layout, path)
    cwd, created = _origin(messages, layout)
    notes, line_ids = tuple(layout.notes), messages.line_ids()
    here = [note for note in notes if not getattr(note, "after", "") or getattr(note, "after", "") in line_ids]
    return LoadedSession(
        path,
        session_id,
        Path(cwd or "."),
        messages,
        layout.leaf.id if layout.leaf else None,
        title=title_of(layout.others),
        spec=_spec(notes),
        mode=next((note.mode for note in reversed(_of(ModeNote, notes))), ""),
        run_ids=tuple(note.loop_id for note in _of(RunNote, notes) if note.phase == "start"),
        system=next((note.system for note in reversed(_of(HeaderNote, notes)) if note.system), ""),
        tools=next((note.tools for note in reversed(_of(HeaderNote, notes)) if note.tools), dict[str, str]()),
        cache_key=next((note.cache_key for note in reversed(_of(HeaderNote, notes)) if note.cache_key), ""),
        compactions=_compactions(here),
        evictions=tuple(_of(EvictionNote, here)),
        trim=_trim(here),
        context_edits=next(iter(reversed(_of(ContextNote, here))), ContextNote()),
        checkpoints=tuple(_of(CheckpointNote, notes)),
        notes=notes,
        labels=tuple(other for other in layout.others if text_at(other, "type") in LABELS),
        other_usage=tuple((note.model, read_usage(note.usage, {"cost": note.cost})) for note in _of(UsageNote, here)),
        created=iso_time(created) or modified,
        updated=(messages[-1].time if messages else 0) or modified,
        losses=_losses(layout),
    )


def _compactions(notes: Sequence[AnyNote]) -> tuple[CompactionNote, ...]:
    """Return the compactions that were not undone."""
    made: dict[str, CompactionNote] = {}
    for note in notes:
        if isinstance(note, CompactionNote):
            made[note.id] = note
        elif isinstance(note, CompactionUndoNote):
            made.pop(note.id, None)
    return tuple(made.values())


def _overlay(session: LoadedSession) -> ContextOverlay:
    edits = session.context_edits
    if not (session.compactions or session.evictions or session.trim or edits.pinned or edits.dropped):
        return ContextOverlay()
    ids = session.messages.ids
    names = {line: ids[index] for line, index in session.messages.positions().items()}
    evictions = (
        Eviction(_named(note.ids, names), names.get(note.after, ""), note.can_recall) for note in session.evictions
    )
    compactions = tuple(_compacted(session))
    return ContextOverlay(
        compactions,
        tuple(evictions),
        _named(edits.pinned, names),
        _named(edits.dropped, names),
        _trimmed(session.trim, {**names, **{each.summary.id: each.summary.id for each in compactions}}),
    )


def _named(lines: Iterable[str], names: Mapping[str, str]) -> frozenset[str]:
    """Return the ids of the messages with these lines; `names` has the message of each line."""
    return frozenset(names[line] for line in lines if line in names)


def _trimmed(note: TrimNote | None, names: Mapping[str, str]) -> Trim | None:
    if note is None:
        return None
    # Not before the first paint: few sessions were trimmed.
    from harness.context.trimming import Trim

    shares = {names[line]: share for line, share in zip(note.truncated, note.shares, strict=False) if line in names}
    dropped, shortened = _named(note.ids, names), _named(note.shortened, names)
    return Trim(dropped, shortened, note.lines, shares, note.limit, names.get(note.after, "")) or None


def _compacted(session: LoadedSession) -> Iterator[Compaction]:
    positions, ids = session.messages.positions(), session.messages.ids
    summaries: dict[str, int] = {}
    for note in session.compactions:
        first, end = positions.get(note.first, 0), positions.get(note.last, positions.get(note.after, -1)) + 1
        replaced = {*ids[first:end], *(name for name, place in summaries.items() if first <= place < end)}
        kept = {"", *note.kept, *(ids[positions[line]] for line in note.kept if line in positions)}
        summary = UserMessage((Text(note.summary),), synthetic=True, id=note.id, time=iso_time(note.timestamp))
        after = positions.get(note.after)
        yield Compaction(summary, replaced - kept, "" if after is None else ids[after])
        summaries[note.id] = first


def _trim(notes: Iterable[AnyNote]) -> TrimNote | None:
    """Return the last trim; a summary after it ends it."""
    trim: TrimNote | None = None
    for note in notes:
        if isinstance(note, TrimNote | CompactionNote):
            trim = note if isinstance(note, TrimNote) else None
    return trim


def _spec(notes: Sequence[AnyNote]) -> ModelSpec | None:
    specs = (decode_or_none(ModelSpec, note.spec) for note in reversed(_of(ModelNote, notes)))
    return next((spec for spec in specs if spec), None)


def _of(kind: type[N], notes: Iterable[AnyNote]) -> list[N]:
    return [note for note in notes if isinstance(note, kind)]


def check_format(layout: LineIndex, path: Path) -> None:
    """Reject files of a later version.

    Raises:
        SessionTooNew: The format version of the file is higher than ours.
    """
    # A later version may write a header that ours does not fit.
    unread = [other.get("format") for other in layout.others if other.get("type") == "cinch-session"]
    for version in (*(note.format for note in _of(HeaderNote, layout.notes)), *unread):
        if isinstance(version, int) and version > FORMAT:
            raise SessionTooNew(
                f"{path} is in session format {version}, this cinch reads up to {FORMAT}; update cinch to open it"
            )


def title_of(notes: list[JsonObject]) -> str:
    """Return the title set by the user, else by a model, else Claude Code's summary; the last of its kind counts."""
    kinds = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
    return next((title for kind, key in kinds if (title := _last(notes, kind, key))), "")


def tags_of(notes: Sequence[JsonObject]) -> tuple[str, ...]:
    """Return the tags of a session from its lines outside the conversation; the last line with tags counts."""
    line = next((note for note in reversed(notes) if note.get("type") == "tag"), None)
    tags = text_at(line, "tag").split(",") if line else ()
    return tuple(dict.fromkeys(filter(None, map(str.strip, tags))))


def _last(notes: list[JsonObject], kind: str, key: str) -> str:
    return next((text_at(note, key) for note in reversed(notes) if note.get("type") == kind and text_at(note, key)), "")


def _origin(messages: SessionMessages, layout: LineIndex) -> tuple[str, str]:
    """Return the folder and the time at which the session was started, from the first line that records them."""
    if headers := _of(HeaderNote, layout.notes):
        return headers[0].cwd, headers[0].timestamp
    if not layout.lines:
        return "", ""
    record = messages.parsed(layout.lines[0]) or {}
    return text_at(record, "cwd"), text_at(record, "timestamp")


def _unread(number: int) -> str:
    return f"line {number} of the session file cannot be read; its content is lost"


def _losses(layout: LineIndex) -> tuple[str, ...]:
    """Return a description of each place where a line is lost."""
    unread = [_unread(number) for number in layout.garbage]
    gaps = [f"before line {number} of the session file at least one message is missing" for number in layout.gaps]
    return (*unread, *gaps)
