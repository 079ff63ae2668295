"""Captured output of a command: complete while short, otherwise its head and tail.

Long output goes to a file that is created only when needed. Output beyond the file's limit costs almost nothing: it is
decoded only when it is displayed.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import TextIO

from harness.execution.spill import open_spill
from harness.ports.tool import ToolContext
from harness.terminal_text import remove_escapes, strip_escapes
from harness.truncation import HEAD_SHARE, join_ends

_LONGEST_LINE = 1 << 16
# Cursor to the first column, or line erased: what follows replaces it.
_LINE_START = re.compile(r"\x1b\[(?:[01]?G|2K)")
LARGEST_FILE = 100_000_000


def file_hint(context: ToolContext) -> str:
    """Return how the model can use a file with the complete output, after its path; empty without such tools."""
    ways = (context.mention("read a part of it with {read_file}"), context.mention("search it with {grep}"))
    hint = " or ".join(filter(None, ways))
    return f"; {hint}" if hint else ""


class CapturedOutput:
    """Decodes bytes as they arrive into text that is safe to display; keeps little more than `limit` characters."""

    def __init__(self, limit: int, spill: Path, *, largest_file: int = LARGEST_FILE, hint: str = "") -> None:
        self._head_limit = int(limit * HEAD_SHARE)
        self._tail_limit = limit - self._head_limit
        self._limit = limit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._spill = _Spill(spill, largest_file, hint)
        self._unfinished = ""
        self._unread = b""
        self._head = ""
        self._tail = ""
        self._reported = 0
        self.characters = 0
        self.bytes = 0

    @property
    def is_cut(self) -> bool:
        return self.characters > self._limit

    @property
    def is_flood(self) -> bool:
        """Return True if the output exceeds the file's limit, so that its middle part is not stored anywhere."""
        return self._spill.is_full

    def feed(self, data: bytes) -> None:
        self.bytes += len(data)
        if self.is_flood:
            self._keep_end(data)
            return
        self._read(data)
        if self.is_flood:
            self._unread = self._unfinished.encode("utf-8", "replace") + self._decoder.getstate()[0]
            self._unfinished = ""
            self._decoder.reset()

    def close(self) -> None:
        """Process the rest of the last line and close the file. `feed` must not be called afterwards."""
        self._decode_end()
        self._take(cleaned(self._last_line + self._decoder.decode(b"", final=True)))
        self._unfinished, self._unread = "", b""
        self._spill.close()

    @property
    def length(self) -> int:
        """Return the number of characters so far, including an unfinished line."""
        return self.characters + len(cleaned(self._last_line))

    def latest(self, limit: int) -> str:
        """Return the last `limit` characters so far."""
        self._decode_end()
        last = self._tail if self.is_cut else self._head
        return (last + cleaned(self._last_line))[-limit:]

    def full_text(self) -> str:
        """Return `text` and the unfinished line."""
        return self.text() + cleaned(self._last_line)

    def new_text(self) -> str:
        """Return the output since the last call; an unfinished line is repeated in full the next time."""
        self._decode_end()
        reported, self._reported = self._reported, self.characters
        if not self.is_cut:
            return self._head[reported:] + cleaned(self._last_line)
        if not reported:
            return self.full_text()
        fresh = self.characters - reported
        if fresh <= len(self._tail):
            return (self._tail[-fresh:] if fresh else "") + cleaned(self._last_line)
        note = f"[… {fresh - len(self._tail):,} characters left out. {self._spill.note} …]"
        return f"{note}\n{self._tail}{cleaned(self._last_line)}"

    def text(self) -> str:
        """Return all of it, or its head and tail with a note between them on how to read the rest."""
        self._decode_end()
        if not self.is_cut:
            return self._head
        source = f"{self.bytes:,} bytes. {self._spill.note}"
        return join_ends(
            self._head, self._tail, self.characters, lambda gone: f"[… {gone:,} characters left out of {source} …]"
        )

    def complete_text(self, most: int) -> str | None:
        """Return all of it after `close`, from the file if necessary; None if it is incomplete or exceeds `most`."""
        if not self.is_cut:
            return self._head
        return self._spill.read() if self.characters <= most else None

    def save(self) -> str:
        """Write all of it to the file after `close`, unless it is there, and return the note on where it is."""
        if not self.is_cut:
            self._spill.write(self._head)
            self._spill.close()
        return self._spill.note

    @property
    def _last_line(self) -> str:
        """Return the unfinished line."""
        return self._unfinished or codecs.getincrementaldecoder("utf-8")("replace").decode(self._unread)

    def _read(self, data: bytes) -> None:
        self._unfinished += self._decoder.decode(data)
        # Complete lines only, so that no escape sequence is split.
        end = self._unfinished.rfind("\n") + 1
        if not end and len(self._unfinished) > _LONGEST_LINE:
            end = len(self._unfinished)
        self._take(cleaned(self._unfinished[:end]))
        self._unfinished = self._unfinished[end:]

    def _keep_end(self, data: bytes) -> None:
        """Keep the end as raw bytes; earlier bytes are counted as one character each and dropped."""
        self._unread += data
        if len(self._unread) > 2 * _LONGEST_LINE:
            self.characters += len(self._unread) - _LONGEST_LINE
            self._unread = self._unread[-_LONGEST_LINE:]

    def _decode_end(self) -> None:
        """Decode the complete lines of the raw end."""
        end = self._unread.rfind(b"\n") + 1
        if not end and len(self._unread) > _LONGEST_LINE:
            end = len(self._unread)
        self._take(cleaned(self._unread[:end].decode("utf-8", "replace")))
        self._unread = self._unread[end:]

    def _take(self, text: str) -> None:
        if not text:
            return
        was_cut = self.is_cut
        self.characters += len(text)
        self._tail = (self._tail + text)[-self._tail_limit :]
        if was_cut:
            self._spill.write(text)
            return
        self._head += text
        if self.is_cut:
            self._spill.write(self._head)
            self._head = self._head[: self._head_limit]


class _Spill:
    """File with the complete output. A write error only changes `note`."""

    def __init__(self, path: Path, largest: int, hint: str) -> None:
        self._path = path
        self._room = largest
        self._file: TextIO | None = None
        self._is_over = False
        self.note = f"Full output: {path}{hint}."

    @property
    def is_full(self) -> bool:
        """Return True if there was more output than the file may hold."""
        return self._room <= 0

    def write(self, text: str) -> None:
        text = text[: max(0, self._room)]
        self._room -= len(text)
        if self._is_over:
            return
        try:
            self._file = self._file or open_spill(self._path)
            self._file.write(text)
        except OSError as error:
            self._give_up(f"It could not be saved to a file: {error.strerror or error}")
        else:
            if self.is_full:
                self._give_up(f"Beginning of the output: {self._path}; the rest was not saved.")

    def read(self) -> str | None:
        """Return what was written; None if some of it is missing."""
        if self._is_over:
            return None
        try:
            return self._path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def close(self) -> None:
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as error:
            self.note = f"It could not be saved to a file: {error.strerror or error}"
        self._file = None

    def _give_up(self, note: str) -> None:
        self._is_over = True
        self.close()
        self.note = note


def for_model(output: str, empty: str) -> str:
    """Return a command's output with every line unchanged, or `empty` if there is no output."""
    return output.removesuffix("\n") if output else empty


def cleaned(text: str) -> str:
    """Return output as a terminal would show it, without escape sequences."""
    if "\x1b" in text:
        text = _LINE_START.sub("\r", text)
    # A carriage return restarts a line, as in progress bars: its final state counts.
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "\b" in text or "\a" in text:
        text = _erased(remove_escapes(text).replace("\a", ""))
    return strip_escapes(text)


def _erased(text: str) -> str:
    """Return a text without the characters that backspaces have erased."""
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)
