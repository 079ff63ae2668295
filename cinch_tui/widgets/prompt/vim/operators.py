"""Vim commands: count, operator and motion, parsed and executed; the register."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from cinch_tui.widgets.prompt.line_edits import TextEdit
from cinch_tui.widgets.prompt.vim.motions import first_letter, line_end, line_start, resting

_COUNT = "[1-9][0-9]*"
_MOTION = r"(?P<motion>[hjklwWbBeE0^$G;,%{}]|gg|[fFtT].)"
_OBJECT = r"(?P<text_object>[ia][wWp\"'`()b\[\]{}B<>])"
_NORMAL = re.compile(
    rf"(?P<count>{_COUNT})?(?:{_MOTION}|r(?P<letter>.)|(?P<action>[xXDCYsS~pPJu.oOaAiIvV\x12])"
    rf"|(?P<operator>[dcy])(?P<inner>{_COUNT})?(?:(?P<lines>(?P=operator))"
    rf"|{_OBJECT}|{_MOTION.replace('motion', 'target')}))"
)
_VISUAL = re.compile(rf"(?P<count>{_COUNT})?(?:{_OBJECT}|{_MOTION}|r(?P<letter>.)|(?P<action>[dcyxs~pPJuUovV]))")
_BEGUN = re.compile(rf"(?:{_COUNT})?(?:[dcy](?:{_COUNT})?[iagfFtT]?|[gfFtTr]?)")
_BEGUN_VISUAL = re.compile(rf"(?:{_COUNT})?[iagfFtTr]?")
REDO = "\x12"
"""Ctrl+R."""


class VimCommand(Struct, frozen=True):
    """A parsed command. A count of 0 was not given."""

    action: str = ""
    operator: str = ""
    motion: str = ""
    """With its letter, as `fx`; equal to the operator for whole lines, as `dd`."""
    text_object: str = ""
    """Text object, as `iw`."""
    letter: str = ""
    count: int = 0

    @property
    def times(self) -> int:
        return max(1, self.count)


def read_command(keys: str, *, visual: bool) -> VimCommand | None:
    """Return the command; None if the keys are only the start of one.

    Raises:
        ValueError: the keys are not a command.
    """
    found = (_VISUAL if visual else _NORMAL).fullmatch(keys)
    if found is None:
        if (_BEGUN_VISUAL if visual else _BEGUN).fullmatch(keys):
            return None
        raise ValueError(keys)
    part = {name: text or "" for name, text in found.groupdict().items()}
    counts = [min(int(part[name]), 9_999) for name in ("count", "inner") if part.get(name)]
    return VimCommand(
        action="r" if part["letter"] else part["action"],
        operator=part.get("operator", ""),
        motion=part["motion"] or part.get("target") or part.get("lines", ""),
        text_object=part["text_object"],
        letter=part["letter"],
        count=math.prod(counts) if counts else 0,
    )


class Field(Protocol):
    """Port: a text with a cursor."""

    @property
    def text(self) -> str: ...

    @property
    def index(self) -> int:
        """Return the cursor position in characters."""
        ...

    def extend_span(self, start: int, end: int) -> tuple[int, int]:
        """Extend the span to units that must not be split."""
        ...

    def move_to(self, index: int) -> None: ...

    def mark(self, start: int, end: int) -> None: ...

    def change(self, edit: TextEdit) -> None:
        """Change the text as one undo step."""

    def undo(self) -> None: ...

    def redo(self) -> None: ...


class TextSpan(Struct, frozen=True):
    """A range of text; `lines`: whole lines without the last newline."""

    start: int
    end: int
    lines: bool = False


class Operators:
    """Executes commands. Methods that return a bool return True to enter insert mode."""

    def __init__(self, field: Field) -> None:
        self._field = field
        self._kept = ""
        self._kept_lines = False
        self._actions: dict[str, Callable[[int], bool]] = {
            "x": lambda count: self.operate("d", self._letters(count)),
            "X": lambda count: self.operate("d", TextSpan(max(self._line_start, self._at - count), self._at)),
            "D": lambda _: self.operate("d", TextSpan(self._at, self._line_end)),
            "C": lambda _: self.operate("c", TextSpan(self._at, self._line_end)),
            "Y": lambda count: self.operate("y", self._lines(count)),
            "s": lambda count: self.operate("c", self._letters(count)),
            "S": lambda count: self.operate("c", self._lines(count)),
            "~": self._swap_case,
            "p": lambda count: self._put(count, behind=True),
            "P": lambda count: self._put(count, behind=False),
            "J": self._join,
            "u": lambda count: self._again(self._field.undo, count),
            REDO: lambda count: self._again(self._field.redo, count),
            "o": lambda _: self._open(self._line_end, "\n", 1),
            "O": lambda _: self._open(self._line_start, "\n", 0),
            "a": lambda _: self._write_at(min(self._at + 1, self._line_end)),
            "A": lambda _: self._write_at(self._line_end),
            "i": lambda _: self._write_at(self._at),
            "I": lambda _: self._write_at(first_letter(self._field.text, self._at)),
        }

    def act(self, command: VimCommand) -> bool:
        if command.action == "r":
            return self._replace(self._letters(command.times), command)
        return self._actions[command.action](command.times)

    def operate(self, operator: str, span: TextSpan) -> bool:
        span = self._extended(span)
        self._keep(span)
        if operator == "y":
            if not (span.lines and span.start <= self._at <= span.end):
                self._field.move_to(span.start)
            return False
        if operator == "c":
            self._field.change(TextEdit(span.start, span.end, "", span.start))
            return True
        self._delete(span)
        return False

    def change_marked(self, command: VimCommand, span: TextSpan) -> bool:
        match command.action:
            case "d" | "x" | "c" | "s" | "y":
                return self.operate({"x": "d", "s": "c"}.get(command.action, command.action), span)
            case "p" | "P":
                return self._put_over(span)
            case "J":
                return self._join(self._field.text.count("\n", span.start, span.end) + 1)
            case "r":
                return self._replace(span, command, is_marked=True)
            case _:
                span = self._extended(span)
                text = self._recased(span, {"u": str.lower, "U": str.upper, "~": str.swapcase}[command.action])
                self._field.change(TextEdit(span.start, span.end, text, span.start))
                return False

    @property
    def _at(self) -> int:
        return self._field.index

    @property
    def _line_start(self) -> int:
        return line_start(self._field.text, self._at)

    @property
    def _line_end(self) -> int:
        return line_end(self._field.text, self._at)

    def _letters(self, count: int) -> TextSpan:
        end = self._at
        for _ in range(count):
            end = min(self._field.extend_span(end, end + 1)[1], self._line_end)
        return TextSpan(self._at, end)

    def _extended(self, span: TextSpan) -> TextSpan:
        """Extend the span to units that must not be split."""
        return TextSpan(*self._field.extend_span(span.start, span.end), span.lines) if span.start < span.end else span

    def _recased(self, span: TextSpan, case: Callable[[str], str]) -> str:
        """Change the case, except for placeholders."""
        text, recased, at = self._field.text, "", span.start
        while at < span.end:
            _, end = self._field.extend_span(at, at + 1)
            recased += case(text[at:end]) if end == at + 1 else text[at:end]
            at = end
        return recased

    def _lines(self, count: int) -> TextSpan:
        end = self._at
        for _ in range(count):
            end = min(line_end(self._field.text, end) + 1, len(self._field.text) + 1)
        return TextSpan(self._line_start, end - 1, lines=True)

    def _keep(self, span: TextSpan) -> None:
        text = self._field.text[span.start : span.end]
        if text or span.lines:
            self._kept, self._kept_lines = text, span.lines

    def _delete(self, span: TextSpan) -> None:
        start, end, text = span.start, span.end, self._field.text
        if span.lines:
            # Remove a newline with the lines: the one behind, or the one before the last line.
            start, end = (start, end + 1) if end < len(text) else (max(0, start - 1), end)
        self._field.change(TextEdit(start, end, "", start))
        rest = self._field.text
        here = min(span.start, len(rest))
        self._field.move_to(first_letter(rest, min(here, len(rest))) if span.lines else resting(rest, here))

    def _swap_case(self, count: int) -> bool:
        span = self._letters(count)
        text = self._recased(span, str.swapcase)
        self._field.change(TextEdit(span.start, span.end, text, resting(self._field.text, span.end)))
        return False

    def _replace(self, span: TextSpan, command: VimCommand, *, is_marked: bool = False) -> bool:
        old = self._field.text[span.start : span.end]
        if is_marked or len(old) == command.times:
            new = "".join(letter if letter == "\n" else command.letter for letter in old)
            self._field.change(TextEdit(span.start, span.end, new, span.start if is_marked else span.end - 1))
        return False

    def _put(self, count: int, *, behind: bool) -> bool:
        text = self._kept
        if self._kept_lines:
            several = "\n".join([text] * count)
            place = self._line_end if behind else self._line_start
            added = f"\n{several}" if behind else f"{several}\n"
            self._field.change(TextEdit(place, place, added, place + behind))
            self._field.move_to(first_letter(self._field.text, place + behind))
        elif text:
            here = self._letters(1)
            place = here.end if behind else here.start
            self._field.change(TextEdit(place, place, text * count, place + len(text) * count - 1))
        return False

    def _put_over(self, span: TextSpan) -> bool:
        span = self._extended(span)
        text, is_lines = self._kept, self._kept_lines
        self._keep(span)
        if is_lines and not span.lines:
            text = f"\n{text}\n"
        self._field.change(TextEdit(span.start, span.end, text, span.start))
        return False

    def _join(self, count: int) -> bool:
        for _ in range(max(1, count - 1)):
            text, end = self._field.text, self._line_end
            if end == len(text):
                break
            stop = end + 1 + len(text[end + 1 :]) - len(text[end + 1 :].lstrip(" \t"))
            blank = "" if text[stop : stop + 1] in ("", "\n", ")") or text[end - 1 : end].isspace() else " "
            self._field.change(TextEdit(end, stop, blank, end))
        return False

    def _again(self, do: Callable[[], None], count: int) -> bool:
        for _ in range(count):
            do()
        self._field.move_to(resting(self._field.text, self._at))
        return False

    def _open(self, place: int, added: str, by: int) -> bool:
        self._field.change(TextEdit(place, place, added, place + by))
        return True

    def _write_at(self, place: int) -> bool:
        self._field.move_to(place)
        return True
