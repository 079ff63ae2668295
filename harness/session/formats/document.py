"""Export as one JSON document that contains every line of the session, other branches and subagents included."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from msgspec import to_builtins

from harness.codec import encode
from harness.messages import JsonObject, JsonValue
from harness.session.formats.subagents import SubagentConversation, subagent_conversations
from harness.session.line_index import LineIndex, read_line, scan
from harness.session.paths import open_session_file
from harness.session.reading import parse
from harness.session.records import writable
from harness.session.resume import LoadedSession


def json_document(session: LoadedSession) -> Iterator[str]:
    """Yield a JSON object: the metadata of the session, then its contents in lists, one entry per line.

    `messages` is the conversation, `notes` our own lines outside it, `lines` those of other types, `other_branches` the
    lines of the conversation outside the current branch, `subagents` the conversations of subagents.

    Raises:
        OSError: A file cannot be read.
    """
    metadata: JsonObject = {
        "id": session.session_id,
        "title": session.title,
        "cwd": str(session.cwd),
        "model": session.model_name,
        "mode": session.mode,
        "created": session.created,
        "updated": session.updated,
        "system": session.system,
        "warnings": list[JsonValue](session.warnings),
    }
    layout = scan(session.path)
    lists: dict[str, Iterable[JsonObject]] = {
        "messages": map(encode, session.messages),
        "notes": map(to_builtins, session.notes),
        "lines": layout.others,
        "other_branches": _other_branches(session, layout),
        "subagents": map(_subagent, subagent_conversations(session.path)),
    }
    yield _dump(metadata).removesuffix("\n}")
    for name, entries in lists.items():
        yield f',\n  "{name}": ['
        separator = "\n    "
        for entry in entries:
            yield f"{separator}{json.dumps(writable(entry), ensure_ascii=False)}"
            separator = ",\n    "
        yield "\n  ]"
    yield "\n}\n"


def _dump(value: JsonObject) -> str:
    return json.dumps(writable(value), ensure_ascii=False, indent=2)


def _other_branches(session: LoadedSession, layout: LineIndex) -> Iterator[JsonObject]:
    branch = session.messages.line_ids()
    with open_session_file(session.path) as file:
        for line in layout.lines:
            if line.id not in branch and (record := parse(read_line(file, line))):
                yield record


def _subagent(subagent: SubagentConversation) -> JsonObject:
    return {
        "id": subagent.agent_id,
        "call_id": subagent.call_id,
        "messages": [encode(message) for message in subagent.messages],
    }
