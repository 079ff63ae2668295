"""Vim commands: count, operator and motion, parsed and executed; the register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from cinch_tui.widgets.prompt.line_edits import TextEdit
from cinch_tui.widgets.prompt.vim.motions import KINDS, first_letter, line_end, line_start, resting

OPERATORS = "dcy"
_MOTIONS = {*"hjklwWbBeE0^$G;,%{}", "gg"}
_TO_LETTER = "fFtT"
_ACTIONS = {*"xXDCYsSr~pPJu.oOaAiIvV", "redo"}
_VISUAL_ACTIONS = {*"dcyxsr~pPJuUovV"}


class IncompleteCommand(Exception):
    """The keys are the start of a command."""


class InvalidCommand(Exception):
    """The keys are not a command."""


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


class _Keys:
    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = list(keys)

    def next(self) -> str:
        if not self._keys:
            raise IncompleteCommand
        return self._keys.pop(0)

    def number(self) -> int:
        digits = ""
        # A leading 0 is a motion.
        while self._keys and self._keys[0].isascii() and self._keys[0].isdigit() and (digits or self._keys[0] != "0"):
            digits += self._keys.pop(0)
        return min(int(digits or 0), 9_999)


def read_command(keys: Sequence[str], *, visual: bool) -> VimCommand:
    """Raises:
    MoreIsNeeded, NoCommand
    """
    waiting = _Keys(keys)
    count = waiting.number()
    key = waiting.next()
    if visual and key in "ia":
        return VimCommand(text_object=_text_object(key, waiting), count=count)
    if not visual and key in OPERATORS:
        return _operation(key, count, waiting)
    if key in (_VISUAL_ACTIONS if visual else _ACTIONS):
        letter = waiting.next() if key == "r" else ""
        return VimCommand(action=key, letter=letter, count=count)
    return VimCommand(motion=_motion(key, waiting), count=count)


def _operation(operator: str, count: int, waiting: _Keys) -> VimCommand:
    inner = waiting.number()
    count = max(1, count) * max(1, inner) if count or inner else 0
    key = waiting.next()
    if key == operator:
        return VimCommand(operator=operator, motion=operator, count=count)
    if key in "ia":
        return VimCommand(operator=operator, text_object=_text_object(key, waiting), count=count)
    return VimCommand(operator=operator, motion=_motion(key, waiting), count=count)


def _motion(key: str, waiting: _Keys) -> str:
    if key == "g":
        key += waiting.next()
    if key in _TO_LETTER:
        return key + waiting.next()
    if key not in _MOTIONS:
        raise InvalidCommand
    return key


def _text_object(key: str, waiting: _Keys) -> str:
    kind = waiting.next()
    if kind not in KINDS:
        raise InvalidCommand
    return key + kind


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

    def go(self, index: int) -> None: ...

    def mark(self, start: int, end: int) -> None: ...

    def apply(self, change: TextEdit) -> None:
        """Change the text as one undo step."""
        ...

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
            "redo": lambda count: self._again(self._field.redo, count),
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
        span = self._whole(span)
        self._keep(span)
        if operator == "y":
            if not (span.lines and span.start <= self._at <= span.end):
                self._field.go(span.start)
            return False
        if operator == "c":
            self._field.apply(TextEdit(span.start, span.end, "", span.start))
            return True
        self._delete(span)
        return False

    def change_marked(self, command: VimCommand, span: TextSpan) -> bool:
        match command.action:
            case "d" | "x":
                return self.operate("d", span)
            case "c" | "s":
                return self.operate("c", span)
            case "y":
                return self.operate("y", span)
            case "p" | "P":
                return self._put_over(span)
            case "J":
                return self._join(self._field.text.count("\n", span.start, span.end) + 1)
            case "r":
                return self._replace(span, command, whole=True)
            case _:
                span = self._whole(span)
                text = self._recased(span, {"u": str.lower, "U": str.upper, "~": str.swapcase}[command.action])
                self._field.apply(TextEdit(span.start, span.end, text, span.start))
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

    def _whole(self, span: TextSpan) -> TextSpan:
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
        self._field.apply(TextEdit(start, end, "", start))
        rest = self._field.text
        here = min(span.start, len(rest))
        self._field.go(first_letter(rest, min(here, len(rest))) if span.lines else resting(rest, here))

    def _swap_case(self, count: int) -> bool:
        span = self._letters(count)
        text = self._recased(span, str.swapcase)
        self._field.apply(TextEdit(span.start, span.end, text, resting(self._field.text, span.end)))
        return False

    def _replace(self, span: TextSpan, command: VimCommand, *, whole: bool = False) -> bool:
        old = self._field.text[span.start : span.end]
        if whole or len(old) == command.times:
            new = "".join(letter if letter == "\n" else command.letter for letter in old)
            self._field.apply(TextEdit(span.start, span.end, new, span.start if whole else span.end - 1))
        return False

    def _put(self, count: int, *, behind: bool) -> bool:
        text = self._kept
        if self._kept_lines:
            several = "\n".join([text] * count)
            place = self._line_end if behind else self._line_start
            added = f"\n{several}" if behind else f"{several}\n"
            self._field.apply(TextEdit(place, place, added, place + behind))
            self._field.go(first_letter(self._field.text, place + behind))
        elif text:
            here = self._letters(1)
            place = here.end if behind else here.start
            self._field.apply(TextEdit(place, place, text * count, place + len(text) * count - 1))
        return False

    def _put_over(self, span: TextSpan) -> bool:
        span = self._whole(span)
        text, is_lines = self._kept, self._kept_lines
        self._keep(span)
        if is_lines and not span.lines:
            text = f"\n{text}\n"
        self._field.apply(TextEdit(span.start, span.end, text, span.start))
        return False

    def _join(self, count: int) -> bool:
        for _ in range(max(1, count - 1)):
            text, end = self._field.text, self._line_end
            if end == len(text):
                break
            stop = end + 1 + len(text[end + 1 :]) - len(text[end + 1 :].lstrip(" \t"))
            blank = "" if text[stop : stop + 1] in ("", "\n", ")") or text[end - 1 : end].isspace() else " "
            self._field.apply(TextEdit(end, stop, blank, end))
        return False

    def _again(self, do: Callable[[], None], count: int) -> bool:
        for _ in range(count):
            do()
        self._field.go(resting(self._field.text, self._at))
        return False

    def _open(self, place: int, added: str, by: int) -> bool:
        self._field.apply(TextEdit(place, place, added, place + by))
        return True

    def _write_at(self, place: int) -> bool:
        self._field.go(place)
        return True
