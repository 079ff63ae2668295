"""Messages of a resumed session, repaired for the next request."""

from __future__ import annotations

from harness.context.normalize import normalize
from harness.messages import CustomMessage, Message
from harness.session.resume import LoadedSession


def repaired_messages(loaded: LoadedSession) -> list[Message]:
    """Return the messages of a session, repaired once instead of before every request.

    The application's own messages stay after the message they followed.
    """
    custom: dict[str, list[Message]] = {}
    before, complete = "", loaded.messages.completed()
    for message in complete:
        if isinstance(message, CustomMessage):
            custom.setdefault(before, []).append(message)
        else:
            before = message.id
    repaired = custom.pop("", [])
    for message in normalize(complete):
        repaired += [message, *custom.pop(message.id, ())]
    return repaired + [message for rest in custom.values() for message in rest]
