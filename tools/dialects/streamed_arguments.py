"""Translation of a call's arguments, as JSON text, while they are received.

Names are replaced as soon as they are complete, and values pass through as they come, so that a call can be followed
while the model writes it. Only values that change are held until they are complete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from harness.messages import JsonValue

Handling: TypeAlias = Literal["pass", "hold", "drop"]

_IN_STRING = re.compile(r'["\\]')
_IN_CONTAINER = re.compile(r'["\[\]{}]')
_AFTER_SCALAR = re.compile(r"[\s,}\]]")
_BLANK = " \t\r\n"


class StreamedArguments:
    """Reads the text of a JSON object in parts. Text that is not JSON passes through unchanged."""

    def __init__(
        self,
        name_of: Callable[[str], str],
        handling: Callable[[str], Handling],
        converted: Callable[[str, JsonValue], JsonValue],
    ) -> None:
        """Translate one object.

        Args:
            name_of: Returns the new name of a member.
            handling: Returns if the value of a member passes, is held to be converted, or is dropped with its name.
            converted: Returns the new value of a member that is held; its name is the former one.
        """
        self._name_of = name_of
        self._handling = handling
        self._converted = converted
        self._state: Callable[[str, int], int] = self._before
        self._out: list[str] = []
        self._held = ""
        """Text that is not translated yet."""
        self._name = ""
        self._how: Handling = "pass"
        self._is_first = True
        self._depth = 0
        self._in_string = False
        self._is_escaped = False

    def feed(self, text: str) -> str:
        """Return the translation of the next part."""
        at = 0
        while at < len(text):
            at = self._state(text, at)
        return self._taken()

    def end(self) -> str:
        """Return what is left at the end, such as that of a reply which was cut off."""
        if self._state == self._value and self._how == "hold":
            if self._depth == 0 and not self._in_string:
                self._finish()
            else:
                self._out.append(self._prefix())
        if self._how != "drop":
            self._out.append(self._held)
        self._held = ""
        return self._taken()

    def _taken(self) -> str:
        out, self._out = "".join(self._out), []
        return out

    def _before(self, text: str, at: int) -> int:
        if text[at] in _BLANK:
            return at + 1
        if text[at] != "{":
            return self._give_up(at)
        self._out.append("{")
        self._state = self._between
        return at + 1

    def _between(self, text: str, at: int) -> int:
        """Read up to the next name, or the end of the object."""
        match text[at]:
            case '"':
                self._held, self._state = '"', self._key
            case "}":
                self._out.append("}")
                self._state = self._rest
            case sign if sign == "," or sign in _BLANK:
                pass
            case _:
                return self._give_up(at)
        return at + 1

    def _key(self, text: str, at: int) -> int:
        end, is_closed = self._string_part(text, at)
        self._held += text[at:end]
        if not is_closed:
            return end
        try:
            name = json.loads(self._held)
        except ValueError:
            return self._give_up(end)
        self._name, self._state = str(name), self._colon
        return end

    def _colon(self, text: str, at: int) -> int:
        if text[at] in _BLANK:
            return at + 1
        if text[at] != ":":
            return self._give_up(at)
        self._held, self._state = "", self._value_start
        return at + 1

    def _value_start(self, text: str, at: int) -> int:
        if text[at] in _BLANK:
            return at + 1
        self._how = self._handling(self._name)
        if self._how == "pass":
            self._out.append(self._prefix())
        self._depth, self._in_string, self._state = 0, False, self._value
        return at

    def _value(self, text: str, at: int) -> int:
        if self._in_string:
            end, is_closed = self._string_part(text, at)
            self._keep(text[at:end])
            if is_closed:
                self._in_string = False
                if self._depth == 0:
                    self._finish()
            return end
        if self._depth == 0 and text[at] not in '"[{':
            found = _AFTER_SCALAR.search(text, at)
            end = found.start() if found else len(text)
            self._keep(text[at:end])
            if found:
                self._finish()
            return end
        found = _IN_CONTAINER.search(text, at)
        end = found.end() if found else len(text)
        self._keep(text[at:end])
        if found:
            self._in_string = found[0] == '"'
            self._depth += (found[0] in "[{") - (found[0] in "]}")
            if self._depth == 0 and not self._in_string:
                self._finish()
        return end

    def _rest(self, text: str, at: int) -> int:
        self._out.append(text[at:])
        return len(text)

    def _string_part(self, text: str, at: int) -> tuple[int, bool]:
        """Return the end of the part of a string that begins here, and True if the string ends with it."""
        while at < len(text):
            if self._is_escaped:
                self._is_escaped = False
                at += 1
                continue
            found = _IN_STRING.search(text, at)
            if found is None:
                break
            at = found.end()
            if found[0] == '"':
                return at, True
            self._is_escaped = True
        return len(text), False

    def _keep(self, part: str) -> None:
        if self._how == "pass":
            self._out.append(part)
        elif self._how == "hold":
            self._held += part

    def _finish(self) -> None:
        """End a member."""
        if self._how == "hold":
            try:
                value = json.dumps(self._converted(self._name, json.loads(self._held)), ensure_ascii=False)
            except (ValueError, RecursionError):
                value = self._held
            self._out.append(f"{self._prefix()}{value}")
        self._held, self._how, self._state = "", "pass", self._between

    def _prefix(self) -> str:
        comma = "" if self._is_first else ", "
        self._is_first = False
        return f"{comma}{json.dumps(self._name_of(self._name), ensure_ascii=False)}: "

    def _give_up(self, at: int) -> int:
        """Pass the rest through: it is not JSON, and the error names what the model wrote."""
        self._out.append(self._held)
        self._held, self._state = "", self._rest
        return at
