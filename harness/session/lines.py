"""The lines of a session file and how they hang together, without reading what they say.

A line of ours begins with its envelope, so its first bytes tell its place and the rest stays on disk until it is
wanted: 100 MB are laid out in some 50 ms. Lines of other programs, which write the message first, are parsed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject
from harness.session.reading import blocks_of, object_at, parse, text_at, tool_result_of

_LINKED = frozenset({"user", "assistant", "system", "attachment", "progress"})
_ENVELOPE = re.compile(
    rb'\{"parentUuid":(?:null|"([^"\\]{1,64})"),"isSidechain":false,"type":"(user|assistant)","uuid":"([^"\\]{1,64})",'
    rb'"timestamp":"[^"\\]{1,40}",(?:"(requestId|sourceToolAssistantUUID)":"([^"\\]{0,64})"|"userType")'
)


class Line(NamedTuple):
    """A line of the conversation. `group` is what the lines of one reply share, or the call's line for a result."""

    offset: int
    size: int
    kind: str
    id: str
    parent: str
    group: str
    is_result: bool


@dataclass(slots=True)
class Layout:
    """What one pass over a file finds."""

    lines: list[Line] = field(default_factory=list[Line])
    notes: list[JsonObject] = field(default_factory=list[JsonObject])
    garbage: list[int] = field(default_factory=list[int])
    removed: set[str] = field(default_factory=set[str])
    tool_names: dict[str, str] = field(default_factory=dict[str, str])
    torn: bool = False
    count: int = 0


def scan(path: Path) -> Layout:
    """Lay out a session file.

    Raises:
        OSError: it cannot be read.
    """
    layout, offset = Layout(), 0
    with path.open("rb", buffering=1 << 20) as file:
        for raw in file:
            layout.count += 1
            match = _ENVELOPE.match(raw)
            if not raw.endswith(b"\n") and parse(raw) is None:
                layout.torn = True
            elif match and raw.endswith((b"}\n", b"}")):
                layout.lines.append(_recognised(match, offset, len(raw)))
            elif not raw.isspace():
                _add_parsed(layout, raw, offset)
            offset += len(raw)
    return layout


def conversation(layout: Layout) -> list[tuple[Line, ...]]:
    """The lines from the root to the last leaf, those of one reply together and its results after it, in call order."""
    by_id = {line.id: line for line in layout.lines}
    replies, results = _families(by_id.values())
    done: set[str] = set()
    ordered: list[tuple[Line, ...]] = []
    for line in list(_ancestors(_leaf(by_id), by_id))[::-1]:
        for family in _together(line, replies, results):
            kept = tuple(each for each in family if each.id not in layout.removed)
            if kept and kept[0].id not in done:
                ordered.append(kept)
            done.update(each.id for each in family)
    return ordered


def last_leaf(layout: Layout) -> str | None:
    """The line that the next one hangs under."""
    leaf = _leaf({line.id: line for line in layout.lines})
    return leaf.id if leaf else None


def _recognised(match: re.Match[bytes], offset: int, size: int) -> Line:
    parent, kind, own_id, key, group = (part.decode("utf-8", "replace") if part else "" for part in match.groups())
    if kind == "assistant":
        group = group or own_id
    return Line(offset, size, kind, own_id, parent, group, key == "sourceToolAssistantUUID")


def _add_parsed(layout: Layout, raw: bytes, offset: int) -> None:
    record = parse(raw)
    if record is None:
        layout.garbage.append(layout.count)
        return
    kind, own_id = text_at(record, "type"), text_at(record, "uuid")
    if kind not in _LINKED or not own_id:
        layout.removed.update(filter(None, (text_at(record, "deletedUuid"), text_at(record, "deleted_uuid"))))
        layout.notes.append(record)
        return
    if record.get("isSidechain") is True or record.get("teamName"):
        return
    for block in blocks_of(record) if kind == "assistant" else ():
        layout.tool_names[text_at(block, "id")] = text_at(block, "name")
    parent, is_result = text_at(record, "parentUuid"), tool_result_of(record) is not None
    group = text_at(record, "sourceToolAssistantUUID") or parent if is_result else ""
    if kind == "assistant":
        ours = text_at(record, "requestId") if "cinch" in record else ""
        group = ours or text_at(object_at(record, "message"), "id") or own_id
    layout.lines.append(Line(offset, len(raw), kind, own_id, parent, group, is_result))


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
    order = {own_id: place for place, own_id in enumerate(by_id)}
    best: Line | None = None
    for end in reversed(by_id.values()):
        if end.id in parents:
            continue
        if best and order[end.id] < order[best.id]:
            break
        said = next((line for line in _ancestors(end, by_id) if line.kind in ("user", "assistant")), None)
        if said and (best is None or order[said.id] > order[best.id]):
            best = said
    return best


def _ancestors(line: Line | None, by_id: dict[str, Line]) -> Iterator[Line]:
    seen: set[str] = set()
    while line is not None and line.id not in seen:
        seen.add(line.id)
        yield line
        line = by_id.get(line.parent)
