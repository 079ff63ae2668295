"""What a command printed, as far as memory should hold it: all of it while short, else its head and tail.

The whole of a long output goes to a file that is only made when it is needed. What is beyond that file's end costs next
to nothing: it is only read when somebody looks.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TextIO

from harness.execution.spill import HEAD, at_line_ends, open_spill, without_last_break
from harness.terminal_text import strip_escapes

_LONGEST_LINE = 1 << 16
LARGEST_FILE = 100_000_000


class CapturedOutput:
    """Takes bytes as they come, gives text that is safe to show. Holds little more than `limit` characters."""

    def __init__(self, limit: int, spill: Path, *, largest_file: int = LARGEST_FILE) -> None:
        self._head_limit = int(limit * HEAD)
        self._tail_limit = limit - self._head_limit
        self._limit = limit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._spill = _Spill(spill, largest_file)
        self._unfinished = ""
        self._unread = b""
        self._head = ""
        self._tail = ""
        self._told = 0
        self.characters = 0
        self.bytes = 0

    @property
    def is_cut(self) -> bool:
        return self.characters > self._limit

    @property
    def is_flood(self) -> bool:
        """Whether it is more than the file may hold, so that what is neither head nor tail is kept nowhere."""
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
        """Take what is left of the last line, and close the file. Nothing may be fed after it."""
        self._look()
        self._take(_cleaned(self._last_line + self._decoder.decode(b"", final=True)))
        self._unfinished, self._unread = "", b""
        self._spill.close()

    @property
    def length(self) -> int:
        """Characters printed so far, those of a line that has not ended included."""
        return self.characters + len(_cleaned(self._last_line))

    def latest(self, limit: int) -> str:
        """The last characters printed so far."""
        self._look()
        last = self._tail if self.is_cut else self._head
        return (last + _cleaned(self._last_line))[-limit:]

    def full_text(self) -> str:
        """As `text`, with the line that has not ended."""
        return self.text() + _cleaned(self._last_line)

    def new_text(self) -> str:
        """What was printed since this was asked last; a line that had not ended then comes again, whole."""
        self._look()
        told, self._told = self._told, self.characters
        if not self.is_cut:
            return self._head[told:] + _cleaned(self._last_line)
        if not told:
            return self.full_text()
        fresh = self.characters - told
        if fresh <= len(self._tail):
            return (self._tail[-fresh:] if fresh else "") + _cleaned(self._last_line)
        note = f"[… {fresh - len(self._tail):,} characters left out. {self._spill.note} …]"
        return f"{note}\n{self._tail}{_cleaned(self._last_line)}"

    def text(self) -> str:
        """All of it, or its head and tail with a note between that says how to read the rest."""
        self._look()
        if not self.is_cut:
            return self._head
        head, tail = at_line_ends(self._head, self._tail)
        omitted = self.characters - len(head) - len(tail)
        note = f"[… {omitted:,} characters left out of {self.bytes:,} bytes. {self._spill.note} …]"
        return f"{without_last_break(head)}\n{note}\n{tail}"

    @property
    def _last_line(self) -> str:
        """What has not ended yet."""
        return self._unfinished or codecs.getincrementaldecoder("utf-8")("replace").decode(self._unread)

    def _read(self, data: bytes) -> None:
        self._unfinished += self._decoder.decode(data)
        # Whole lines only, so that no escape sequence is cut in two.
        end = self._unfinished.rfind("\n") + 1
        if not end and len(self._unfinished) > _LONGEST_LINE:
            end = len(self._unfinished)
        self._take(_cleaned(self._unfinished[:end]))
        self._unfinished = self._unfinished[end:]

    def _keep_end(self, data: bytes) -> None:
        """As it came; what lies before it is counted, a byte as a character, and dropped."""
        self._unread += data
        if len(self._unread) > 2 * _LONGEST_LINE:
            self.characters += len(self._unread) - _LONGEST_LINE
            self._unread = self._unread[-_LONGEST_LINE:]

    def _look(self) -> None:
        """Read the whole lines of what was only kept."""
        end = self._unread.rfind(b"\n") + 1
        if not end and len(self._unread) > _LONGEST_LINE:
            end = len(self._unread)
        self._take(_cleaned(self._unread[:end].decode("utf-8", "replace")))
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
    """The file that holds the whole output. A failure to write it is told in `note` and costs nothing else."""

    def __init__(self, path: Path, largest: int) -> None:
        self._path = path
        self._room = largest
        self._file: TextIO | None = None
        self._is_over = False
        self.note = f"All of it: {path}; read a part of it with read_file or search it with grep."

    @property
    def is_full(self) -> bool:
        """Whether more came than it may hold."""
        return self._room <= 0

    def write(self, text: str) -> None:
        text = text[: max(0, self._room)]
        self._room -= len(text)
        if self._is_over:
            return
        try:
            self._opened().write(text)
        except OSError as error:
            self._give_up(f"It could not be kept in a file: {error.strerror or error}")
        else:
            if self.is_full:
                self._give_up(f"Its beginning: {self._path}; what is beyond was not kept.")

    def close(self) -> None:
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as error:
            self.note = f"It could not be kept in a file: {error.strerror or error}"
        self._file = None

    def _opened(self) -> TextIO:
        if self._file is None:
            self._file = open_spill(self._path)
        return self._file

    def _give_up(self, note: str) -> None:
        self._is_over = True
        self.close()
        self.note = note


def for_model(output: str, empty: str) -> str:
    """Return a command's output with every line unchanged, or `empty` if there is no output."""
    return without_last_break(output) if output else empty


def _cleaned(text: str) -> str:
    if "\r" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    return strip_escapes(text)


def _last_state(line: str) -> str:
    """What a line shows in the end: a carriage return starts it anew, as progress bars do."""
    return line.rstrip("\r").rpartition("\r")[2]
