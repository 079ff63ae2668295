"""Rows of the session browser, with details and a preview."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from textual.content import Content

from cinch_tui.rendering.safe_text import one_line, plain_output
from cinch_tui.reports.formatting import ago, format_cost, format_size, open_state
from cinch_tui.reports.session_export import local_time
from cinch_tui.widgets.item_list import ItemRow
from harness.messages import AssistantMessage, Message, ToolCall, UserMessage
from harness.session.search import SearchHit
from harness.session.summary import SessionSummary

WIDE_ROW = 110
"""Columns of a list from which rows show the model and more of a found text."""
_PREVIEW_CHARS = 2_000
_MODEL_CHARS = 20
_BEFORE_MATCH, _WIDE_BEFORE_MATCH = 12, 40
"""Characters that are shown before the first match in a snippet, which the list truncates."""
_WORD = re.compile(r"\w+")


class SessionRow(Struct, frozen=True):
    """A session, or a message that was found in it."""

    path: Path
    """The session file."""
    line: ItemRow
    """The row in the list."""
    wide_line: ItemRow
    """The row in a list of at least `WIDE_ROW` columns."""
    text: str = ""
    """Text that the filter is matched with, casefolded."""
    summary: SessionSummary | None = None
    """Summary of the session; None if it is unknown."""
    hit: SearchHit | None = None
    """The message; None for the session itself."""

    @property
    def id(self) -> str:
        """Id of the session."""
        return self.path.stem

    @property
    def message_id(self) -> str:
        """Uuid of the message; empty for the session itself."""
        return self.hit.message_id if self.hit else ""

    @property
    def name(self) -> str:
        """Id of the session, followed by `@` and that of the message if there is one."""
        return f"{self.id}@{self.message_id}" if self.hit else self.id

    @property
    def key(self) -> str:
        """Identifies the row."""
        return self.name

    @property
    def title(self) -> str:
        """Title of the session, safe to show."""
        return one_line(self.summary.title) if self.summary else self.id

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of the session."""
        return self.summary.tags if self.summary else ()


def session_row(summary: SessionSummary, now: float, current: str, *, with_folder: bool) -> SessionRow:
    """Return the row of a session.

    Args:
        summary: The session.
        now: Time for its age, in seconds since the epoch.
        current: Id of the session that is open here.
        with_folder: True to show the folder of the session.
    """
    title, tags = one_line(summary.title), " ".join(f"#{one_line(tag)}" for tag in summary.tags)
    folder = one_line(summary.cwd) if with_folder else ""
    label = "  ".join(filter(None, (title, tags, folder)))
    cost = f"${summary.cost:.2f}" if summary.cost else ""
    state = {"this session": "open", "open elsewhere": "in use"}.get(open_state(summary, current), "")
    age_and_size = f"{ago(summary.updated, now):>14} {format_size(summary.size):>7}"
    model = one_line(summary.model.rpartition("/")[2])[:_MODEL_CHARS]
    detail = f"{age_and_size} {state or cost:>7}"
    searched = (label, summary.first_prompt, summary.last_prompt, summary.model, summary.branch, summary.id)
    text = " ".join(map(one_line, searched)).casefold()
    return SessionRow(
        summary.path, ItemRow(label, detail.rstrip()), ItemRow(label, f"{detail}  {model}".rstrip()), text, summary
    )


def hit_row(hit: SearchHit, query: str, session: SessionRow | None, now: float) -> SessionRow:
    """Return the row of a message.

    Args:
        hit: The message.
        query: Text that was searched for.
        session: Row of its session, if that is in the list.
        now: Time for its age, in seconds since the epoch.
    """
    title = session.title if session else hit.session_id[:8]
    snippet, detail = one_line(hit.snippet), f"{ago(hit.time, now)} · {title}"
    line, wide_line = (
        ItemRow(_from_match(snippet, query, before), detail) for before in (_BEFORE_MATCH, _WIDE_BEFORE_MATCH)
    )
    return SessionRow(hit.path, line, wide_line, summary=session.summary if session else None, hit=hit)


def _from_match(snippet: str, query: str, before: int) -> str:
    """Return a snippet that starts at most `before` characters before its first match."""
    folded = snippet.casefold()
    places = (folded.find(word) for word in _WORD.findall(query.casefold()))
    match = min((place for place in places if place >= 0), default=0)
    if match <= before:
        return snippet
    word_start = snippet.find(" ", match - before, match) + 1
    return f"…{snippet[word_start or match :]}"


def about(row: SessionRow) -> Content:
    """Return the details of a session, one fact after another."""
    return Content("\n").join(Content.assemble(*line) for line in _about(row))


def _about(row: SessionRow) -> Iterator[Sequence[tuple[str, str] | str]]:
    if row.hit:
        yield (row.title, "bold"), f"  {row.hit.role}, {local_time(row.hit.time)}"
    summary = row.summary
    if summary is None:
        return
    if not row.hit:
        yield ((row.title, "bold"),)
    messages = f"{summary.messages:,} messages" if summary.messages else ""
    facts = (summary.model or "unknown model", format_cost(summary.cost), messages, format_size(summary.size))
    yield (_joined(facts),)
    started = f"started {local_time(summary.created)}"
    tags = " ".join(f"#{tag}" for tag in summary.tags)
    yield ((_joined((started, summary.branch, row.id[:8], tags, summary.cwd)), "$foreground-muted"),)
    if summary.last_prompt:
        yield ("Last prompt: ", "$foreground-muted"), one_line(summary.last_prompt)


def _joined(facts: Sequence[str]) -> str:
    return " · ".join(one_line(fact) for fact in facts if fact)


def preview(messages: Sequence[Message]) -> Content:
    """Return prompts, replies and the names of tool calls."""
    return Content("\n").join(part for message in messages for part in _parts(message))


def _parts(message: Message) -> Iterator[Content]:
    match message:
        case UserMessage(synthetic=False):
            yield Content.styled(f"> {_text(message.text)}", "bold")
        case AssistantMessage():
            if message.text.strip():
                yield Content(_text(message.text))
            for block in message.content:
                if isinstance(block, ToolCall):
                    yield Content.styled(f"* {one_line(block.name)}", "$foreground-muted")
        case _:
            pass


def _text(text: str) -> str:
    shown = plain_output(text).strip()
    return shown if len(shown) <= _PREVIEW_CHARS else f"{shown[:_PREVIEW_CHARS]}…"
