"""References to sessions and their messages: `ID`, `latest`, `ID@MESSAGE`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from harness.context.history import is_prompt
from harness.errors import SessionMissing
from harness.messages import AssistantMessage, new_id
from harness.session.fork import fork_session
from harness.session.index import find_session
from harness.session.resume import LoadedSession, load_session

_MIN_PREFIX = 6
"""Characters of a uuid that identify a message; fewer digits are its number."""


class SessionReference(NamedTuple):
    """A session file, and the name of a message, which may be empty."""

    path: Path
    message: str


def find_reference(data_dir: Path, cwd: Path, which: str) -> SessionReference:
    """Find a session by its id, a prefix of its id, or `latest`; `@` and the name of a message may follow.

    Raises:
        NoSessionYet: `latest` was requested and the folder has no session.
        SessionMissing: There is no such session.
    """
    session_id, _, message = which.partition("@")
    return SessionReference(find_session(data_dir, cwd, session_id), message)


def load_reference(reference: SessionReference, *, fork: bool = False) -> LoadedSession:
    """Load a session, or a copy of it, with the message to show first as its target.

    Raises:
        SessionMissing: The session has no such message.
        SessionTooNew, SessionError: The session cannot be loaded.
    """
    path, message = reference
    loaded = load_session(path)
    index = message_index(loaded, message) if message else None
    if fork:
        # Messages of a copy have other ids.
        loaded = load_session(fork_session(path, new_id()))
    return loaded if index is None else replace(loaded, target=loaded.messages[index].id)


def message_at(loaded: LoadedSession, message: str) -> str:
    """Return the uuid of a message, given as for `message_index`.

    Raises:
        SessionMissing: The conversation has no such message.
    """
    return loaded.messages[message_index(loaded, message)].id


def message_index(loaded: LoadedSession, message: str) -> int:
    """Return the index of a message in the conversation.

    Args:
        loaded: The session.
        message: Its number, counting prompts and replies from 1; its uuid, or the first characters of it,
            at least six. Uuids of lines with a part of a reply name that reply.

    Raises:
        SessionMissing: There is no such message, or several uuids start with these characters.
    """
    if len(message) < _MIN_PREFIX and message.isdecimal():
        return _numbered(loaded, int(message))
    found = loaded.messages.indexes_of(message) if len(message) >= _MIN_PREFIX else []
    if len(found) > 1:
        raise SessionMissing(
            f"several messages of session {loaded.session_id} start with {message}: use more of the uuid"
        )
    if not found:
        raise SessionMissing(
            f"session {loaded.session_id} has no message {message}; give its number, or at least {_MIN_PREFIX} "
            "characters of its uuid"
        )
    return found[0]


def _numbered(loaded: LoadedSession, number: int) -> int:
    messages = map(loaded.messages.brief, range(len(loaded.messages)))
    counted = [index for index, each in enumerate(messages) if isinstance(each, AssistantMessage) or is_prompt(each)]
    if not 1 <= number <= len(counted):
        raise SessionMissing(
            f"session {loaded.session_id} has no message {number}; its messages have the numbers 1 to {len(counted)}"
        )
    return counted[number - 1]
