"""In-memory copy of a session's messages, to restore a file that another program truncated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness.messages import JsonObject, ModelMessage
from harness.session.chain import Chain
from harness.session.line_index import scan
from harness.session.reading import text_at
from harness.session.records import Envelope, to_bytes
from harness.session.resume import SessionMessages


class SessionMemory:
    """References to messages and notes that exist elsewhere as well, so it takes little memory."""

    def __init__(self, path: Path, earlier: SessionMessages | None, notes: Iterable[JsonObject]) -> None:
        self._path = path
        self._earlier = earlier
        self._written: list[ModelMessage | None] = []
        self._notes = list(notes)
        self._envelope = Envelope(path.stem, "")

    def add(self, message: ModelMessage, envelope: Envelope) -> None:
        self._written.append(message)
        self._envelope = envelope

    def add_notes(self, notes: Sequence[JsonObject]) -> None:
        self._notes += notes

    def restart(self) -> None:
        """Start a new conversation with the next message."""
        self._written.append(None)

    def lost_lines(self) -> list[bytes]:
        """Return the lines that are missing from the file, in order.

        Raises:
            OSError: The file cannot be read.
        """
        layout = scan(self._path)
        kept = {line.id for line in layout.lines}
        lines = [to_bytes(line) for line in self._lines() if text_at(line, "uuid") not in kept]
        kept_notes = {to_bytes(note) for note in layout.notes}
        notes = [note for note in dict.fromkeys(map(to_bytes, self._notes)) if note not in kept_notes]
        headers = [note for note in notes if note.startswith(b'{"type":"cinch-session"')]
        return [*headers, *lines, *notes[len(headers) :]]

    def _lines(self) -> Iterator[JsonObject]:
        """Recreate the lines of the conversation, with the same ids as the first time."""
        chain = Chain(None)
        earlier = self._earlier.in_memory if self._earlier is not None else ()
        for message in (*earlier, *self._written):
            if message is None:
                chain = Chain(None)
            else:
                yield from chain.lines(message, self._envelope)
