"""Summaries of session files, for lists.

A summary is made from the first and last 64 KiB of a file, as by Claude Code's readers, whatever its size. The number
of messages and the cost need the whole file; for a longer one they come from the index, which reads all of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from harness.codec import decode_or_none
from harness.messages import JsonObject, ModelSpec
from harness.session.journal import is_locked
from harness.session.paths import open_session_file
from harness.session.reading import blocks_of, is_synthetic, object_at, parse, text_at, time_of
from harness.session.resume import tags_of, title_of

_WINDOW = 64 * 1024
_PROMPT_CHARS = 200
_CUT_PROMPT = re.compile(rb'"content":(?:"|\[\{"type":"text","text":")((?:[^"\\]|\\.){1,1200})')
_TITLES = ("custom-title", "ai-title", "summary")
_COSTS = ("input", "output", "cache_read", "cache_write", "searches")
_NOT_TYPED = ("<command-", "<local-command-", "[Request interrupted")


class SessionSummary(Struct, frozen=True):
    """Summary of a session file."""

    path: Path
    """The file."""
    id: str
    """Id of the session."""
    title: str
    """Title, or the first prompt if it has none."""
    first_prompt: str
    """First prompt, shortened."""
    cwd: str
    """Folder the session was started in."""
    branch: str
    """Git branch at the end."""
    created: float
    """Start, in seconds since the epoch."""
    updated: float
    """Time of the last message, in seconds since the epoch."""
    size: int
    """Size of the file in bytes."""
    locked: bool
    """True if a process is writing to it."""
    model: str = ""
    """Model that was used last, as `provider/model`; empty if unknown."""
    cost: float | None = None
    """Sum of the known costs in US dollars; None if none is known, or not yet."""
    last_prompt: str = ""
    """Last prompt, shortened; empty if it is not near the end."""
    messages: int | None = None
    """Number of messages in all branches; None if not yet known."""
    tags: tuple[str, ...] = ()
    """Tags."""


class SessionFacts(Struct):
    """Facts of a session, collected line by line."""

    messages: int = 0
    """Number of messages."""
    reply: str = ""
    """Id of the last reply, which may have several lines."""
    cost: float | None = None
    """Sum of the known costs in US dollars."""
    model: str = ""
    """Model that was used last."""
    last_prompt: str = ""
    """Last prompt, shortened."""
    titles: dict[str, JsonObject] = {}
    """Last line with a title, by its type."""
    tags: tuple[str, ...] | None = None
    """Tags; None if no line sets them."""

    def add(self, record: JsonObject) -> None:
        """Add a line."""
        match record.get("type"):
            case "user" | "assistant" if record.get("isSidechain") is not True:
                self._add_message(record)
            case "cinch-usage":
                self._add_cost(object_at(record, "cost"))
            case "cinch-model":
                spec = decode_or_none(ModelSpec, object_at(record, "spec"))
                self.model = spec.name if spec else self.model
            case "tag":
                self.tags = tags_of([record])
            case str(kind) if kind in _TITLES:
                self.titles[kind] = record
            case _:
                pass

    def complete(self, older: SessionFacts) -> None:
        """Take what is unknown from facts of an earlier part of the file; sums remain as they are."""
        self.model = self.model or older.model
        self.last_prompt = self.last_prompt or older.last_prompt
        self.titles = older.titles | self.titles
        self.tags = older.tags if self.tags is None else self.tags

    def _add_message(self, record: JsonObject) -> None:
        reply = reply_id(record)
        if reply and reply == self.reply:
            return
        self.reply = reply
        self.messages += 1
        if not reply:
            self.last_prompt = _typed_text(record) or self.last_prompt
            return
        ours, model = object_at(record, "cinch"), text_at(object_at(record, "message"), "model")
        self._add_cost(object_at(ours, "cost"))
        if model and not model.startswith("<"):
            self.model = model_name(record)

    def _add_cost(self, cost: JsonObject) -> None:
        amounts = [value for key in _COSTS if isinstance(value := cost.get(key), int | float)]
        if amounts:
            self.cost = (self.cost or 0.0) + sum(amounts)


def reply_id(record: JsonObject) -> str:
    """Return an id that the lines of a reply share; empty for the line of a user message or tool result."""
    if "cinch" in record and (ours := text_at(record, "requestId")):
        return ours
    if record.get("type") != "assistant":
        return ""
    return text_at(object_at(record, "message"), "id") or text_at(record, "uuid")


def model_name(record: JsonObject) -> str:
    """Return the model of a reply's line, with its provider if known; empty if it has none."""
    provider = text_at(object_at(record, "cinch"), "provider")
    model = text_at(object_at(record, "message"), "model")
    return f"{provider}/{model}" if provider and model else model


def summarize(path: Path) -> SessionSummary | None:
    """Return the summary of a session file; None if it contains no conversation or cannot be read."""
    try:
        return read_summary(path)
    except OSError:
        return None


def read_summary(path: Path, facts: SessionFacts | None = None, *, is_current: bool = False) -> SessionSummary | None:
    """Return the summary of a session file; None if it contains no conversation.

    Args:
        path: The file.
        facts: Facts of the whole file, or of an earlier part.
        is_current: True if `facts` are those of the whole file.

    Raises:
        OSError: The file cannot be read.
    """
    with open_session_file(path) as file:
        stat = os.fstat(file.fileno())
        head = file.read(_WINDOW)
        if stat.st_size > _WINDOW:
            file.seek(-_WINDOW, 2)
        tail = file.read(_WINDOW) if stat.st_size > _WINDOW else head
    first = _records(head)
    last = _records(tail) if tail is not head else first
    if first and first[0].get("isSidechain") is True:
        return None
    seen, is_whole = SessionFacts(), tail is head
    for record in last:
        seen.add(record)
    if is_current and facts:
        seen = facts
    elif not is_whole:
        seen.complete(facts or _facts_of(first))
    prompt = _first_prompt(first) or _cut_prompt(head)
    title = title_of([*seen.titles.values()]) or title_of(first) or prompt
    if not title:
        return None
    is_exact = is_whole or is_current
    return SessionSummary(
        path,
        path.stem,
        title,
        prompt,
        cwd=_any(first, "cwd"),
        branch=_any(last[::-1], "gitBranch") or _any(first, "gitBranch"),
        created=next((time for record in first if (time := time_of(record))), stat.st_mtime),
        updated=_time_of_last(last) or last_message_time(path) or stat.st_mtime,
        size=stat.st_size,
        locked=is_locked(path),
        model=seen.model,
        cost=seen.cost if is_exact else None,
        last_prompt=seen.last_prompt,
        messages=seen.messages if is_exact else None,
        tags=seen.tags or (),
    )


def last_message_time(path: Path) -> float:
    """Return the time of the last message in a file; 0 if it has none or cannot be read."""
    window = _WINDOW
    try:
        with open_session_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            while True:
                file.seek(max(0, size - window))
                time = _time_of_last(_records(file.read()))
                if time or window >= size:
                    return time
                # The last message exceeds the window.
                window *= 8
    except OSError:
        return 0.0


def _time_of_last(records: Sequence[JsonObject]) -> float:
    messages = (record for record in reversed(records) if record.get("type") in ("user", "assistant"))
    return next((time for record in messages if (time := time_of(record))), 0.0)


def _records(window: bytes) -> list[JsonObject]:
    """Return the complete lines in a part of a file; truncated lines do not parse."""
    return [record for line in window.split(b"\n") if line.startswith(b"{") and (record := parse(line))]


def _facts_of(records: Sequence[JsonObject]) -> SessionFacts:
    facts = SessionFacts()
    for record in records:
        facts.add(record)
    return facts


def _first_prompt(records: Sequence[JsonObject]) -> str:
    return next((text for record in records if record.get("type") == "user" and (text := _typed_text(record))), "")


def _typed_text(record: JsonObject) -> str:
    """Return the text of a prompt on one line, shortened; empty if no user typed it."""
    if is_synthetic(record):
        return ""
    text = " ".join(" ".join(text_at(block, "text") for block in blocks_of(record)).split())
    return "" if text.startswith(_NOT_TYPED) else shortened(text)


def _cut_prompt(head: bytes) -> str:
    """Return the beginning of a first prompt that is longer than the window."""
    line = head.rpartition(b"\n")[2]
    match = _CUT_PROMPT.search(line) if b'"type":"user"' in line[:400] else None
    prompt = parse(b'{"text":"' + match[1] + b'"}') if match else None
    return shortened(" ".join(text_at(prompt, "text").split())) if prompt else ""


def shortened(text: str, limit: int = _PROMPT_CHARS) -> str:
    return text if len(text) <= limit else text[:limit].rstrip() + "…"


def _any(records: Sequence[JsonObject], key: str) -> str:
    return next((text_at(record, key) for record in records if text_at(record, key)), "")
