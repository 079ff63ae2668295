"""Random trees of lines of all types, cut and corrupted: the reader never fails and loses no intact line."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from harness.context.normalize import normalize
from harness.errors import SessionTooNew
from harness.messages import JsonObject
from harness.session.doctor import examine, repair
from harness.session.line_index import LineIndex, conversation, scan
from harness.session.notes import (
    AnyNote,
    CallNote,
    CheckpointNote,
    CompactionNote,
    CompactionUndoNote,
    ContextNote,
    CustomNote,
    EvictionNote,
    HeaderNote,
    ModelNote,
    ModeNote,
    RewindNote,
    RunNote,
    TrimNote,
    UsageNote,
)
from harness.session.records import to_bytes
from harness.session.resume import load_session

SEEDS = range(60)
LINES = 25
TIME = "2026-01-01T00:00:00.000Z"
TAIL: JsonObject = {"userType": "external", "cwd": "/srv", "sessionId": "s", "version": "1.0.0", "gitBranch": ""}
START = (b'{"parentUuid":', b'{"type":"cinch-', b'{"type":"custom-title"')
"""Starts of lines that are found inside a longer line."""


class Tree:
    """Random lines, each with an id or a timestamp of its own."""

    def __init__(self, seed: int, *, linear: bool = False) -> None:
        self.chance = random.Random(seed)
        self._linear = linear
        self._ids: list[str] = []
        self.lines = [to_bytes(HeaderNote(timestamp=TIME, cwd="/srv", records_calls=True))]
        while len(self.lines) < LINES:
            self.lines += self._next()

    def _next(self) -> list[bytes]:
        makers: list[Callable[[], list[bytes]]] = [self._user, self._user, self._reply, self._reply]
        makers += [] if self._linear else [self._note, self._note, self._foreign]
        return self.chance.choice(makers)()

    def _id(self) -> str:
        self._ids.append(f"00000000-0000-4000-8000-{len(self._ids):012}")
        return self._ids[-1]

    def _parent(self) -> str | None:
        if not self._ids:
            return None
        return self._ids[-1] if self._linear or self.chance.random() < 0.8 else self.chance.choice(self._ids)

    def _text(self) -> str:
        sizes = (3, 40, 400, 70_000 if self.chance.random() < 0.05 else 10)
        alphabet = 'ab "\\{}:,\n\u4e09\U0001f469' + ("" if self._linear else '{"parentUuid":null')
        return "".join(self.chance.choices(alphabet, k=self.chance.choice(sizes)))

    def _line(self, kind: str, message: JsonObject, parent: str | None, **more: Any) -> bytes:
        start = {"parentUuid": parent, "isSidechain": False, "type": kind, "uuid": self._id(), "timestamp": TIME}
        return to_bytes({**start, **more, **TAIL, "message": message})

    def _user(self) -> list[bytes]:
        return [self._line("user", {"role": "user", "content": self._text() or "x"}, self._parent())]

    def _reply(self) -> list[bytes]:
        parent, reply = self._parent(), f"r{len(self._ids)}"
        lines = [self._assistant({"type": "text", "text": self._text() or "x"}, parent, reply)]
        for _ in range(self.chance.randrange(3)):
            call: JsonObject = {"type": "tool_use", "id": f"c{len(self._ids)}", "name": "bash", "input": {"a": "}\n{"}}
            lines.append(self._assistant(call, self._ids[-1], reply))
            if self._linear or self.chance.random() < 0.7:
                block: JsonObject = {"type": "tool_result", "tool_use_id": str(call["id"]), "content": self._text()}
                source = self._ids[-1]
                message: JsonObject = {"role": "user", "content": [block]}
                lines.append(self._line("user", message, source, sourceToolAssistantUUID=source))
        return lines

    def _assistant(self, block: JsonObject, parent: str | None, reply: str) -> bytes:
        message: JsonObject = {"id": f"msg_{reply}", "role": "assistant", "model": "m", "content": [block]}
        return self._line("assistant", message, parent, requestId=reply)

    def _note(self) -> list[bytes]:
        """Return a note of any type; its timestamp is its own."""
        place = self.chance.choice(self._ids) if self._ids else ""
        notes: tuple[AnyNote, ...] = (
            CallNote(call_id="c1", tool="bash"),
            UsageNote(model="a/m", usage={"input_tokens": 1}, source="subagent", after=place),
            ModelNote(spec={"provider": "a", "id": "m"}),
            ModeNote(mode="plan"),
            RunNote(phase="start", loop_id="l"),
            CustomNote(id="x", kind="k", data={"deep": [{"type": "cinch-x"}]}, after=place),
            CompactionNote(id="y", after=place, summary=self._text()),
            CompactionUndoNote(id="y", after=place),
            EvictionNote(ids=(place,), after=place),
            TrimNote(ids=(place,), truncated=(place,), shares=(90,), after=place),
            ContextNote(pinned=(place,), after=place),
            CheckpointNote(id="z", leaf=place, label="{"),
            RewindNote(leaf=place),
        )
        assert {type(each) for each in notes} | {HeaderNote} == set(get_args(AnyNote))
        note = self.chance.choice(notes)
        return [to_bytes(msgspec.structs.replace(note, session_id="s", timestamp=f"t{self.chance.random()}"))]

    def _foreign(self) -> list[bytes]:
        mark = str(self.chance.random())
        values: tuple[JsonObject, ...] = (
            {"type": "custom-title", "customTitle": mark},
            {"type": "file-history-snapshot", "messageId": mark, "snapshot": {"parentUuid": None}},
            {"type": "queue-operation", "content": mark},
        )
        return [to_bytes(self.chance.choice(values))]


def damaged(tree: Tree) -> tuple[bytes, list[bytes]]:
    """Return the file with damage, and the lines that are intact."""
    chance, parts, intact = tree.chance, list[bytes](), list[bytes]()
    destroying, harmless = (_cut, _flipped, _overwritten, _lost), (_joined, _doubled, _with_garbage)
    for line in tree.lines:
        damage = chance.choice((*destroying, *harmless, *(None,) * 7))
        parts.append(damage(line, chance) if damage else line)
        if damage not in destroying:
            intact.append(line)
    return b"".join(parts), intact


def _cut(line: bytes, chance: random.Random) -> bytes:
    # A lost newline joins it to the next line, which is found if it is one of ours.
    return line[: chance.randrange(1, len(line) - 1)] + chance.choice((b"", b"\n"))


def _flipped(line: bytes, chance: random.Random) -> bytes:
    # Control characters are valid nowhere; another digit of a parent could not be noticed.
    place = chance.randrange(len(line) - 1)
    return line[:place] + b"\x01" + line[place + 1 :]


def _overwritten(line: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(1, len(line) - 1)
    return line[:place] + b"\xff\xfe\x00\xc3" + line[place + 2 :]


def _lost(line: bytes, chance: random.Random) -> bytes:
    del line, chance
    return b""


def _joined(line: bytes, chance: random.Random) -> bytes:
    """Return a line of ours after text that another program appended without a newline."""
    return (chance.choice((b"no json", b"[1, 2]", b"\xff" * 9)) if line.startswith(START) else b"") + line


def _doubled(line: bytes, chance: random.Random) -> bytes:
    del chance
    return line + line


def _with_garbage(line: bytes, chance: random.Random) -> bytes:
    return line + chance.choice((b"no json\n", b"[1, 2]\n", b"\n", b"null\n", b"x" * 300_000 + b"\n"))


def test_no_intact_line_of_any_tree_is_lost(tmp_path: Path):
    for seed in SEEDS:
        path = tmp_path / f"{seed:08}.jsonl"
        data, intact = damaged(Tree(seed))
        path.write_bytes(data)

        layout = scan(path)

        lost = [line for line in intact if _is_findable(line, data) and not _is_found(line, layout)]
        assert not lost, f"seed {seed}: {lost}"
        _read_all(path)


def test_every_intact_message_of_a_damaged_conversation_is_in_it(tmp_path: Path):
    for seed in SEEDS:
        path = tmp_path / f"{seed:08}.jsonl"
        data, intact = damaged(Tree(seed, linear=True))
        path.write_bytes(data)

        shown = {line.id for group in conversation(scan(path)) for line in group}

        wanted = {json.loads(line).get("uuid") for line in intact} - {None}
        assert wanted <= shown, f"seed {seed}: {wanted - shown}"


@pytest.mark.parametrize("linear", [True, False])
def test_repair_loses_nothing_and_leaves_nothing_to_repair(tmp_path: Path, linear: bool):
    for seed in SEEDS[:25]:
        path = tmp_path / f"{seed:08}.jsonl"
        data, _ = damaged(Tree(seed, linear=linear))
        path.write_bytes(data)
        if (before := _read_all(path)) is None:
            continue

        repair(examine(path))

        assert path.read_bytes().startswith(data), f"seed {seed}"
        again = examine(path)
        left = (again.repairs, again.torn, again.unanswered, again.lost, again.joined)
        assert not any(left), f"seed {seed}: {left}"
        after = _read_all(path)
        assert after is not None
        assert before <= after, f"seed {seed}: {before - after}"


def _is_findable(line: bytes, data: bytes) -> bool:
    """Return True for a line that begins after a newline, or is of a type that is found inside a longer one."""
    return line.startswith(START) or data.startswith(line) or b"\n" + line in data


def _is_found(line: bytes, layout: LineIndex) -> bool:
    record = json.loads(line)
    if "uuid" in record:
        return record["uuid"] in layout.by_id
    if record["type"].startswith("cinch-"):
        return any(to_bytes(note) == line for note in layout.notes)
    return record in layout.others


def _read_all(path: Path) -> set[str] | None:
    """Return the ids of all messages; None if a damaged header names a later version."""
    try:
        messages = list(load_session(path).messages)
    except SessionTooNew:
        return None
    normalize(messages)
    return {message.id for message in messages}
