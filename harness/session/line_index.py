"""The lines of a session file and how they hang together, without reading what they say.

A line of ours begins with its envelope, so its first bytes tell its place and the rest stays on disk until it is
wanted: 100 MB are laid out in some 50 ms. Lines of other programs, which write the message first, are parsed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject
from harness.session.paths import open_session_file
from harness.session.reading import blocks_of, object_at, parse, text_at, tool_result_of

_LINKED = frozenset({"user", "assistant", "system", "attachment", "progress"})
_ENVELOPE = re.compile(
    rb'\{"parentUuid":(?:null|"([^"\\]{1,64})"),"isSidechain":false,"type":"(user|assistant)","uuid":"([^"\\]{1,64})",'
    rb'"timestamp":"[^"\\]{1,40}",(?:"(requestId|sourceToolAssistantUUID)":"([^"\\]{0,64})"|"userType")'
)

# Quotes within a text are escaped, so no sound line holds this: the newline between two lines is lost.
_JOINED = b'}{"parentUuid":'
_BEGINNING = re.compile(rb'(?<!^)(?=\{"parentUuid":(?:null|"))')


class Line(NamedTuple):
    """A line of the conversation. `group` is what the lines of one reply share, or the call's line for a result."""

    number: int
    offset: int
    size: int
    kind: str
    id: str
    parent: str
    group: str
    is_result: bool


@dataclass(slots=True)
class LineIndex:
    """Result of one pass over a file.

    A line whose parent is missing hangs under the line before it: `lost` has the uuids of such parents, each with that
    line's. `gaps` are the numbers of such lines, except where `garbage`, the lines that cannot be read, already says
    what is missing.
    """

    lines: list[Line] = field(default_factory=list[Line])
    notes: list[JsonObject] = field(default_factory=list[JsonObject])
    garbage: list[int] = field(default_factory=list[int])
    gaps: list[int] = field(default_factory=list[int])
    lost: dict[str, str] = field(default_factory=dict[str, str])
    removed: set[str] = field(default_factory=set[str])
    tool_names: dict[str, str] = field(default_factory=dict[str, str])
    by_id: dict[str, Line] = field(default_factory=dict[str, Line])
    leaf: Line | None = None
    """The end of the conversation, which its next line hangs under."""
    torn: bool = False
    count: int = 0


def scan(path: Path) -> LineIndex:
    """Lay out a session file.

    Raises:
        OSError: it cannot be read.
    """
    layout, offset = LineIndex(), 0
    with open_session_file(path) as file:
        for raw in file:
            layout.count += 1
            *others, last = (raw,) if raw.endswith(b"\n") else _BEGINNING.split(raw)
            for piece in others:
                _add(layout, piece, offset)
                offset += len(piece)
            if last.endswith(b"\n") or parse(last) is not None:
                _add(layout, last, offset)
            else:
                layout.torn = True
            offset += len(last)
    _attach_orphans(layout)
    for line in layout.lines:
        # Of lines that have the same id the last one counts, in its place.
        layout.by_id.pop(line.id, None)
        layout.by_id[line.id] = line
    layout.leaf = _leaf(layout.by_id)
    return layout


def read_line(file: BinaryIO, line: Line) -> bytes:
    file.seek(line.offset)
    return file.read(line.size)


def conversation(layout: LineIndex) -> list[tuple[Line, ...]]:
    """The lines from the root to the last leaf, those of one reply together and its results after it, in call order."""
    by_id = layout.by_id
    replies, results = _families(by_id.values())
    done: set[str] = set()
    ordered: list[tuple[Line, ...]] = []
    for line in list(_ancestors(layout.leaf, by_id))[::-1]:
        for family in _together(line, replies, results):
            kept = tuple(each for each in family if each.id not in layout.removed)
            if kept and kept[0].id not in done:
                ordered.append(kept)
            done.update(each.id for each in family)
    return ordered


def _attach_orphans(layout: LineIndex) -> None:
    """Hang each line whose parent is lost under the line before it, so that one lost line costs no more than itself."""
    known = {line.id for line in layout.lines}
    calls = {line.id for line in layout.lines if line.kind == "assistant"}
    # All children of a lost line belong where its first child does: a later one may have begun another branch.
    lost_before: list[int] = []
    before = last_reply = ""
    for index, line in enumerate(layout.lines):
        if line.parent and line.parent not in known:
            if line.parent not in layout.lost:
                layout.lost[line.parent] = before
                lost_before.append(line.number)
            line = line._replace(parent=layout.lost[line.parent])
        if line.is_result and line.group not in calls:
            line = line._replace(group=last_reply)
        if line.kind == "assistant":
            last_reply = line.id
        layout.lines[index], before = line, line.id
    layout.gaps = _gaps(lost_before, layout.garbage)


def _gaps(lost_before: list[int], garbage: list[int]) -> list[int]:
    """Of the lines whose parent is lost, those whose parent is none of the lines that cannot be read."""
    unread, gaps = list(garbage), list[int]()
    for number in lost_before:
        parent = max((each for each in unread if each < number), default=None)
        if parent is None:
            gaps.append(number)
        else:
            unread.remove(parent)
    return gaps


def _add(layout: LineIndex, raw: bytes, offset: int) -> None:
    match = _ENVELOPE.match(raw)
    # Searching from the end takes half as long.
    if match and raw.endswith((b"}\n", b"}")) and raw.rfind(_JOINED) < 0:
        layout.lines.append(_recognised(layout, match, offset, len(raw)))
    elif not raw.isspace():
        _add_parsed(layout, raw, offset)


def _recognised(layout: LineIndex, match: re.Match[bytes], offset: int, size: int) -> Line:
    parent, own_id, group = (_text(part) for part in match.group(1, 3, 5))
    if layout.lines and parent == layout.lines[-1].id:
        # One string for both: ids are most of what the lines of a long session take.
        parent = layout.lines[-1].id
    # The line that closes an interrupted reply is a user's for other readers.
    kind = "assistant" if match[2] == b"assistant" or match[4] == b"requestId" else "user"
    if kind == "assistant":
        group = own_id if group in ("", own_id) else group
    is_result = match[4] == b"sourceToolAssistantUUID"
    if is_result and group == parent:
        group = parent
    return Line(layout.count, offset, size, kind, own_id, parent, group, is_result)


def _text(part: bytes | None) -> str:
    return part.decode("utf-8", "replace") if part else ""


def _add_parsed(layout: LineIndex, raw: bytes, offset: int) -> None:
    record = parse(raw)
    if record is None:
        _add_damaged(layout, raw, offset)
        return
    kind, own_id = text_at(record, "type"), text_at(record, "uuid")
    if not own_id or (kind not in _LINKED and "parentUuid" not in record):
        layout.removed.update(filter(None, (text_at(record, "deletedUuid"), text_at(record, "deleted_uuid"))))
        layout.notes.append(record)
        return
    if record.get("isSidechain") is True or record.get("teamName"):
        return
    for block in blocks_of(record) if kind == "assistant" else ():
        layout.tool_names[text_at(block, "id")] = text_at(block, "name")
    if "cinch" in record and text_at(record, "requestId"):
        kind = "assistant"
    parent, is_result = text_at(record, "parentUuid"), tool_result_of(record) is not None
    group = text_at(record, "sourceToolAssistantUUID") or parent if is_result else ""
    if kind == "assistant":
        ours = text_at(record, "requestId") if "cinch" in record else ""
        group = ours or text_at(object_at(record, "message"), "id") or own_id
    layout.lines.append(Line(layout.count, offset, len(raw), kind, own_id, parent, group, is_result))


def _add_damaged(layout: LineIndex, raw: bytes, offset: int) -> None:
    """Read what can be of a line that another program's bytes, or a lost newline, joined to another."""
    pieces = _BEGINNING.split(raw)
    if len(pieces) == 1:
        layout.garbage.append(layout.count)
        return
    for piece in pieces:
        _add(layout, piece, offset)
        offset += len(piece)


def _families(lines: Iterable[Line]) -> tuple[dict[str, list[Line]], dict[str, list[Line]]]:
    """The lines of each reply by its group, and the results by the line that holds their call."""
    replies: dict[str, list[Line]] = {}
    results: dict[str, list[Line]] = {}
    for line in lines:
        if line.kind == "assistant":
            replies.setdefault(line.group, []).append(line)
        elif line.is_result:
            results.setdefault(line.group, []).append(line)
    return replies, results


def _together(line: Line, replies: dict[str, list[Line]], results: dict[str, list[Line]]) -> Iterator[tuple[Line, ...]]:
    """The families a line of the chain brings along: parallel calls fork the tree, and the chain keeps one branch."""
    if line.kind == "user":
        yield (line,)
    elif line.kind == "assistant":
        yield tuple(replies[line.group])
        for member in replies[line.group]:
            yield from ((answer,) for answer in results.get(member.id, ()))


def _leaf(by_id: dict[str, Line]) -> Line | None:
    """The nearest word of a person or model above the last line that is nobody's parent."""
    parents = {line.parent for line in by_id.values()}
    best: Line | None = None
    for end in reversed(by_id.values()):
        if end.id in parents:
            continue
        if best and end.offset < best.offset:
            break
        said = next((line for line in _ancestors(end, by_id) if line.kind in ("user", "assistant")), None)
        if said and (best is None or said.offset > best.offset):
            best = said
    return best


def _ancestors(line: Line | None, by_id: dict[str, Line]) -> Iterator[Line]:
    seen: set[str] = set()
    while line is not None and line.id not in seen:
        seen.add(line.id)
        yield line
        line = by_id.get(line.parent)
