"""Vim modes: keys in, changes out.

Keys have Textual's names, printable ones are the character.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec.structs import replace

from cinch_tui.widgets.prompt.line_edits import TextEdit
from cinch_tui.widgets.prompt.vim.motions import (
    STEPS,
    Motion,
    line_end,
    line_start,
    matching_bracket,
    resting,
    span_of,
    to_letter,
    to_line,
    vertical,
)
from cinch_tui.widgets.prompt.vim.operators import (
    REDO,
    Field,
    Operators,
    TextSpan,
    VimCommand,
    read_command,
)

Mode: TypeAlias = Literal["insert", "normal", "visual", "visual line"]
Outcome: TypeAlias = Literal["taken", "left", "older", "newer"]
"""`left`: the key is not used here; `older` and `newer` ask for another prompt of the history."""

_ALIASES = {"ctrl+r": REDO, "backspace": "h", "ctrl+h": "h", "space": "l", " ": "l"}
_VISUAL_MODES: dict[str, Mode] = {"v": "visual", "V": "visual line"}
_TURNED = {"f": "F", "F": "f", "t": "T", "T": "t"}
_CHANGES = {*"xXDCsSr~pPJoOaAiI"}


class Vim:
    def __init__(self, field: Field) -> None:
        self.mode: Mode = "insert"
        self._field = field
        self._operators = Operators(field)
        self.pending = ""
        """Keys of an incomplete command."""
        self._find = ("", "")
        self._column: int | None = None
        self._last: VimCommand | None = None
        self._inserted = ""
        self._before_insert = ("", 0)
        self._anchor = self._at = 0

    def reset(self) -> None:
        """Start with a new text."""
        self.pending = ""
        self._insert()

    def key(self, key: str) -> Outcome:
        if self.mode == "insert":
            if key == "escape":
                self._leave_insert()
            return "taken" if key == "escape" else "left"
        if key == "escape":
            return self._escape()
        keys, self.pending = self.pending, ""
        name = key if keys and len(key) == 1 else _ALIASES.get(key, key)
        if len(name) > 1:
            return "left"
        try:
            command = read_command(keys + name, visual=self.mode != "normal")
        except ValueError:
            return "taken"
        if command is None:
            self.pending = keys + name
            return "taken"
        return self._execute(command) if self.mode == "normal" else self._visual(command)

    def _escape(self) -> Outcome:
        has_done = bool(self.pending) or self.mode != "normal"
        self.pending = ""
        if self.mode != "normal":
            self._end_visual()
        return "taken" if has_done else "left"

    # In normal mode

    def _execute(self, command: VimCommand) -> Outcome:
        if command.action == ".":
            self._repeat(command.count)
            return "taken"
        if command.action in _CHANGES or command.operator in ("d", "c"):
            self._last = command
        if not (command.action or command.operator):
            return self._move(command)
        self._column = None
        if command.operator:
            span = self._span(command)
            if span and self._operators.operate(command.operator, span):
                self._insert()
        elif command.action in _VISUAL_MODES:
            self.mode = _VISUAL_MODES[command.action]
            self._anchor = self._at = self._field.index
            self._mark()
        elif self._operators.act(command):
            self._insert()
        return "taken"

    def _move(self, command: VimCommand) -> Outcome:
        motion = self._motion(command, self._field.index)
        if command.motion not in ("j", "k"):
            self._column = None
        elif motion is None:
            return "newer" if command.motion == "j" else "older"
        if motion:
            self._field.move_to(resting(self._field.text, motion.to))
        return "taken"

    def _repeat(self, count: int) -> None:
        if self._last is None:
            return
        inserted = self._inserted
        self._execute(replace(self._last, count=count) if count else self._last)
        if self.mode == "insert":
            at = self._field.index
            self._field.change(TextEdit(at, at, inserted, at + len(inserted)))
            self._leave_insert()

    # Motions

    def _motion(self, command: VimCommand, at: int) -> Motion | None:
        name, text = command.motion, self._field.text
        if name in STEPS:
            step, kind = STEPS[name]
            for _ in range(command.times):
                at = step(text, at)
            return Motion(at, kind)
        if name[0] in _TURNED:
            self._find = (name[0], name[1])
            return to_letter(text, at, *self._find, command.times)
        others: dict[str, Callable[[], Motion | None]] = {
            "j": lambda: self._vertical(at, command.times),
            "k": lambda: self._vertical(at, -command.times),
            "G": lambda: to_line(text, command.count or text.count("\n") + 1),
            "gg": lambda: to_line(text, command.times),
            "$": lambda: self._line_end(at, command.times),
            "%": lambda: matching_bracket(text, at),
            ";": lambda: self._find_again(at, self._find[0], command.times),
            ",": lambda: self._find_again(at, _TURNED.get(self._find[0], ""), command.times),
        }
        return others[name]()

    def _vertical(self, at: int, by: int) -> Motion | None:
        text = self._field.text
        if self._column is None:
            self._column = at - line_start(text, at)
        motion = vertical(text, line_start(text, at), by)
        if motion is None:
            return None
        return Motion(min(motion.to + self._column, line_end(text, motion.to)), "lines")

    def _line_end(self, at: int, count: int) -> Motion | None:
        text = self._field.text
        there = vertical(text, at, count - 1)
        if there is None:
            return None
        end = line_end(text, there.to)
        return Motion(end) if end == line_start(text, end) else Motion(end - 1, "inclusive")

    def _find_again(self, at: int, how: str, count: int) -> Motion | None:
        if not how:
            return None
        text, letter = self._field.text, self._find[1]
        # A cursor next to the letter continues to the next one.
        offset = {"t": 1, "T": -1}.get(how, 0)
        if offset and text[at + offset : at + offset + 1] == letter:
            at += offset
        return to_letter(text, at, how, letter, count)

    def _span(self, command: VimCommand) -> TextSpan | None:
        text, at = self._field.text, self._field.index
        if command.text_object:
            found = span_of(text, at, command.text_object[1], around=command.text_object[0] == "a")
            return TextSpan(*found, lines=command.text_object[1] == "p") if found else None
        if command.motion == command.operator:
            last = vertical(text, at, command.times - 1) or Motion(len(text))
            return TextSpan(line_start(text, at), line_end(text, last.to), lines=True)
        if command.motion in ("w", "W"):
            return self._words(command)
        motion = self._motion(command, at)
        self._column = None
        if motion is None:
            return None
        start, end = sorted((at, motion.to))
        if motion.kind == "lines":
            return TextSpan(line_start(text, start), line_end(text, end), lines=True)
        return TextSpan(start, end + (motion.kind == "inclusive"))

    def _words(self, command: VimCommand) -> TextSpan:
        """An operator on words keeps the newline; `c` also keeps trailing blanks."""
        text, at = self._field.text, self._field.index
        if command.operator == "c" and text[at : at + 1].strip():
            ends = self._motion(replace(command, motion="e" if command.motion == "w" else "E"), at - 1)
            return TextSpan(at, ends.to + 1 if ends else at)
        motion = self._motion(command, at)
        end = motion.to if motion else at
        if "\n" in text[at:end].rstrip(" \t") and not text[at:end].split("\n", 1)[1].strip():
            end = line_end(text, at)
        return TextSpan(at, end)

    # Marking

    def _end_visual(self) -> None:
        self.mode = "normal"
        self._field.move_to(resting(self._field.text, self._at))

    def _visual(self, command: VimCommand) -> Outcome:
        if command.action and command.action != "o":
            self._act_on_marked(command)
            return "taken"
        if command.text_object:
            found = span_of(self._field.text, self._at, command.text_object[1], around=command.text_object[0] == "a")
            if found:
                self._anchor, self._at = found[0], max(found[0], found[1] - 1)
        elif command.motion:
            motion = self._motion(command, self._at)
            if command.motion not in ("j", "k"):
                self._column = None
            if motion:
                self._at = resting(self._field.text, motion.to)
        else:
            self._anchor, self._at = self._at, self._anchor
        self._mark()
        return "taken"

    def _act_on_marked(self, command: VimCommand) -> None:
        mode = _VISUAL_MODES.get(command.action)
        if mode is None:
            self._change_marked(command)
        elif mode == self.mode:
            self._end_visual()
        else:
            self.mode = mode
            self._mark()

    def _change_marked(self, command: VimCommand) -> None:
        span = self._marked()
        self.mode = "normal"
        self._field.move_to(span.start)
        if self._operators.change_marked(command, span):
            self._insert()

    def _marked(self) -> TextSpan:
        text = self._field.text
        start, end = sorted((self._anchor, self._at))
        if self.mode == "visual line":
            return TextSpan(line_start(text, start), line_end(text, end), lines=True)
        return TextSpan(start, min(end + 1, len(text)))

    def _mark(self) -> None:
        span = self._marked()
        self._field.mark(span.start, span.end)

    # Writing

    def _insert(self) -> None:
        self.mode = "insert"
        self._before_insert = (self._field.text, self._field.index)

    def _leave_insert(self) -> None:
        text, at = self._field.text, self._field.index
        before, start = self._before_insert
        behind = before[start:]
        if text.startswith(before[:start]) and text.endswith(behind) and len(text) >= len(before):
            self._inserted = text[start : len(text) - len(behind)]
        self.mode = "normal"
        self._column = None
        self._field.move_to(max(line_start(text, at), at - 1))
