"""The page: contents, conversation, usage; its styles and its script are part of it."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.resources import files

from cinch_tui.reports.formatting import format_cost
from cinch_tui.reports.page.markup import markdown, plain, text, token_styles
from cinch_tui.reports.page.messages import Conversation, subagent_html, time_element
from cinch_tui.reports.session_export import heading
from harness.codec import decode_or_none
from harness.messages import AssistantMessage, ModelSpec, Usage, UserMessage
from harness.session.formats.subagents import SubagentConversation, subagent_conversations
from harness.session.notes import AnyNote, CheckpointNote, CompactionNote, EvictionNote, ModelNote, ModeNote, TrimNote
from harness.session.reading import iso_time
from harness.session.resume import LoadedSession

_ENTRY_CHARS = 90
_MOST_WITH_HIGHLIGHTED_FILES = 8 << 20
"""Size of a session in bytes above which files in results are not highlighted: that takes 0.3 s per megabyte."""


def html_page(session: LoadedSession) -> Iterator[str]:
    """Yield the session as one HTML page: no network, no scripts but its own, everything in it escaped.

    Raises:
        OSError: A file cannot be read.
    """
    # A page that loads before the session's text cannot be changed by it: the policy admits two hashes only.
    style, script = f"{_resource('page.css')}\n{token_styles()}\n", _resource("page.js")
    yield from _head(session, style)
    yield from _contents(session)
    yield "<main>\n"
    subagents = subagent_conversations(session.path)
    by_call = {each.call_id: each for each in subagents if each.call_id}
    size = sum(map(session.messages.size, range(len(session.messages))))
    highlights = size <= _MOST_WITH_HIGHLIGHTED_FILES
    yield from Conversation(session.messages, "m", by_call, _marks(session), highlights).html()
    yield from _other_subagents(session, subagents)
    yield from _usage_tables(session)
    yield f"</main>\n<script>{script}</script>\n</body>\n</html>\n"


def _resource(name: str) -> str:
    return files("cinch_tui.reports.page").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(content.encode()).digest()).decode()}'"


def _head(session: LoadedSession, style: str) -> Iterator[str]:
    title = text(heading(session))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(_resource('page.js'))}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield '<meta name="referrer" content="no-referrer">\n<meta name="generator" content="cinch">\n'
    yield f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    yield f'<header class="page"><h1>{title}</h1>\n<p>'
    usage = _total(session)
    facts = (
        time_element(session.created),
        f"until {time_element(session.updated)}" if session.updated else "",
        f"<code>{text(str(session.cwd))}</code>",
        text(_model(session)),
        f"{len(session.messages)} messages",
        f"{usage.context:,} tokens" if usage.context else "",
        format_cost(usage.cost.total) if usage.cost else "",
    )
    yield " · ".join(filter(None, facts))
    yield f"</p>\n{_TOOLBAR}</header>\n"
    yield from (f'<p class="error">{text(warning)}</p>\n' for warning in session.warnings)


_TOOLBAR = """<div class="tools" role="search">
<input id="query" type="search" placeholder="Search (/)" aria-label="Search">
<button id="previous" title="Previous match (Shift+Enter)">↑</button>
<button id="next" title="Next match (Enter)">↓</button>
<output id="count"></output>
<button id="fold">Unfold all</button>
<button id="theme">Dark / light</button>
</div>
"""


def _contents(session: LoadedSession) -> Iterator[str]:
    """Yield the list of prompts."""
    entries = list(enumerate(session.messages))
    prompts = [(at, each) for at, each in entries if isinstance(each, UserMessage) and not each.synthetic]
    yield f"<nav><details open><summary>Prompts ({len(prompts)})</summary>\n<ol>\n"
    for index, prompt in prompts:
        line = " ".join(prompt.text[: 4 * _ENTRY_CHARS].split()) or "(image)"
        shown = line if len(line) <= _ENTRY_CHARS else f"{line[:_ENTRY_CHARS]}…"
        yield f'<li><a href="#m{index + 1}">{text(shown)}</a></li>\n'
    yield "</ol>\n</details></nav>\n"


def _marks(session: LoadedSession) -> dict[int, list[str]]:
    """Return what happened between the messages, by the index of the message before it."""
    positions = session.messages.positions()
    times = [message.time for message in session.messages]
    marks: dict[int, list[str]] = {}
    for note in session.notes:
        shown = _mark(note)
        place = getattr(note, "after", "") or getattr(note, "leaf", "")
        if not shown or (place and place not in positions):
            continue
        index = positions[place] if place else _last_before(times, iso_time(note.timestamp))
        marks.setdefault(index, []).append(shown)
    return marks


def _last_before(times: Sequence[float], time: float) -> int:
    earlier = [index for index, each in enumerate(times) if each <= time]
    return max(earlier, default=0)


def _mark(note: AnyNote) -> str:
    match note:
        case CompactionNote(summary=summary, tokens_before=tokens):
            size = f" of {tokens:,} tokens" if tokens else ""
            title = f"Compaction: a summary replaces earlier messages{size} in the context"
            return f'<details class="mark"><summary>{title}</summary>\n{markdown(summary)}</details>\n'
        case EvictionNote(ids=ids):
            return _line(f"Eviction: the context contains stubs for {len(ids)} tool results")
        case TrimNote(ids=ids) if ids:
            return _line(f"Trimming: the context leaves out {len(ids)} messages")
        case CheckpointNote(label=label):
            return _line(f"Checkpoint{f': {label}' if label else ''}")
        case ModelNote(spec=spec):
            model = decode_or_none(ModelSpec, spec)
            return _line(f"Model: {model.name}") if model else ""
        case ModeNote(mode=mode):
            return _line(f"Mode: {mode}")
        case _:
            return ""


def _line(value: str) -> str:
    return f'<p class="mark">{text(value)}</p>\n'


def _other_subagents(session: LoadedSession, subagents: Sequence[SubagentConversation]) -> Iterator[str]:
    """Yield the conversations of subagents whose call is not in the conversation."""
    calls = {call.id for each in session.messages if isinstance(each, AssistantMessage) for call in each.tool_calls}
    others = [each for each in subagents if each.call_id not in calls]
    if others:
        yield "<section><h2>Subagents</h2>\n"
        for number, each in enumerate(others, 1):
            yield from subagent_html(each, f"a{number}")
        yield "</section>\n"


def _model(session: LoadedSession) -> str:
    """Return the model that was used last, also of a session that does not record models apart from replies."""
    replies = (each for each in reversed(session.messages) if isinstance(each, AssistantMessage) and each.model)
    return session.model_name or next((f"{each.provider}/{each.model}" for each in replies), "")


def _total(session: LoadedSession) -> Usage:
    return sum((usage for _, usage, _ in _uses(session)), Usage())


def _uses(session: LoadedSession) -> Iterator[tuple[str, Usage, int]]:
    """Yield each use of a model: its name, the usage and the number of replies in the conversation."""
    for message in session.messages:
        if isinstance(message, AssistantMessage) and message.usage != Usage():
            yield f"{message.provider}/{message.model}", message.usage, 1
    for name, usage in session.other_usage:
        yield f"{name} (outside the conversation)", usage, 0


def _usage_tables(session: LoadedSession) -> Iterator[str]:
    totals: dict[str, Usage] = {}
    replies: Counter[str] = Counter()
    for name, usage, count in _uses(session):
        totals[name] = totals.get(name, Usage()) + usage
        replies[name] += count
    if not totals:
        return
    yield '<section class="usage"><h2>Usage</h2>\n<table><thead><tr><th>Model</th>'
    yield "".join(f"<th>{title}</th>" for title in ("Replies", "Input", "Cached", "Cache writes", "Output", "Cost"))
    yield "</tr></thead>\n<tbody>\n"
    for name, usage in totals.items():
        counts = (replies[name], usage.input, usage.cache_read, usage.cache_write, usage.output)
        cells = "".join(f"<td>{count:,}</td>" for count in counts)
        yield f"<tr><th>{text(name)}</th>{cells}<td>{format_cost(usage.cost.total if usage.cost else None)}</td></tr>\n"
    yield "</tbody></table></section>\n"
    if session.system:
        yield f"<section><details><summary>System prompt</summary>\n{plain(session.system)}</details></section>\n"
