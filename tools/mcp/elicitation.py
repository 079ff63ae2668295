"""Elicitation: a form of a server as questions to the user, one for each field; a page to open as a confirmation."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from harness.user_requests import Answer, Choice, Question
from tools.mcp.state import clean_line, clean_text
from tools.mcp.wire import as_list, as_object

Ask: TypeAlias = Callable[[Question], Awaitable[Answer]]
Value: TypeAlias = "str | int | float | bool | list[str] | None"
Action: TypeAlias = Literal["accept", "decline", "cancel"]

MAX_FIELDS = 20
MAX_CHOICES = 50
MAX_TRIES = 3
MESSAGE_CHARS = 2_000
URL_CHARS = 2_000
_DECLINE, _LEAVE_OUT, _YES, _NO = "Decline", "Leave out", "Yes", "No"


class FormAnswer(Struct, frozen=True):
    """Answer to a form."""

    action: Action
    """Decision of the user."""
    content: dict[str, Value] | None = None
    """Values by name of the field, if accepted."""


class _Option(Struct, frozen=True):
    label: str
    value: Value


class _Declined(Exception):
    """The user declines the form."""


class _Cancelled(Exception):
    """The user closes a question, or no valid answer was given."""


class Form:
    """A form of a server.

    Args:
        server: Name of the server.
        message: Text of the server.
        schema: Restricted JSON Schema: an object with properties that are not objects.
    """

    def __init__(self, server: str, message: str, schema: dict[str, Any]) -> None:
        self._server = clean_line(server, 60)
        self._message = clean_text(message, MESSAGE_CHARS)
        self._fields = as_object(schema.get("properties"))
        self._required = as_list(schema.get("required"))

    async def ask(self, ask: Ask) -> FormAnswer:
        """Ask for the fields one after another.

        Returns:
            `cancel` if the user closes a question, `decline` if they choose that.
        """
        if len(self._fields) > MAX_FIELDS:
            return FormAnswer("decline")
        content: dict[str, Value] = {}
        try:
            if not self._fields:
                await self._confirm(ask)
            for number, (name, field) in enumerate(self._fields.items(), 1):
                value = await self._ask_field(ask, name, as_object(field), number)
                if value is not None:
                    content[name] = value
        except _Declined:
            return FormAnswer("decline")
        except _Cancelled:
            return FormAnswer("cancel")
        return FormAnswer("accept", content)

    async def _confirm(self, ask: Ask) -> None:
        choices = (Choice("Accept"), Choice(_DECLINE))
        answer = await ask(Question(self._prompt(), choices, header=self._header, free_text=False))
        if _index(answer) == 1:
            raise _Declined
        if _index(answer) != 0:
            raise _Cancelled

    async def _ask_field(self, ask: Ask, name: str, field: dict[str, Any], number: int) -> Value:
        """Return the value of a field; None if it is left out."""
        is_required = name in self._required
        options = _options(field)
        is_multiple = field.get("type") == "array"
        is_free = options is None
        choices = [*(options or ()), *_default(field, options)]
        # Only a text remains to be typed: closing the question cancels.
        is_text = is_required and is_free and not choices
        extra = [] if is_text else [_DECLINE] if is_required else [_LEAVE_OUT, _DECLINE]
        labels = [each.label for each in choices]
        problem = ""
        for _ in range(MAX_TRIES):
            question = Question(
                self._prompt(name, field, number, problem),
                tuple(map(Choice, (*labels, *extra))),
                header=self._header,
                multi_select=is_multiple,
                free_text=is_free,
            )
            answer = await ask(question)
            if answer.status in ("skipped", "timed_out"):
                raise _Cancelled
            if answer.status == "selected" and not answer.other:
                chosen = answer.indexes or (answer.index or 0,)
                picked = [choices[each].value for each in chosen if each < len(choices)]
                named = [extra[each - len(choices)] for each in chosen if each >= len(choices)]
                if _DECLINE in named:
                    raise _Declined
                if not picked or not is_multiple:
                    return picked[0] if picked else None
                value: Value = [str(each) for each in picked]
            else:
                value = answer.other or answer.text
            checked = _checked(value, field)
            if not isinstance(checked, _Problem):
                return checked
            problem = checked.text
        raise _Cancelled

    def _prompt(self, name: str = "", field: dict[str, Any] | None = None, number: int = 0, problem: str = "") -> str:
        head = f"The MCP server {self._server} asks: {self._message}"
        if field is None:
            return head
        title = clean_line(str(field.get("title") or name), 100)
        about = clean_text(str(field.get("description") or ""), 500)
        parts = [
            head if number == 1 else f"The MCP server {self._server} asks:",
            f"{title}: {about}" if about else title,
        ]
        return "\n\n".join([*parts, problem] if problem else parts)

    @property
    def _header(self) -> str:
        return self._server[:30]


class _Problem(Struct, frozen=True):
    text: str


def _index(answer: Answer) -> int | None:
    return answer.index if answer.status == "selected" else None


def _options(field: dict[str, Any]) -> list[_Option] | None:
    """Return the values to choose from; None if any text may be given."""
    if field.get("type") == "boolean":
        return [_Option(_YES, value=True), _Option(_NO, value=False)]
    source = as_object(field.get("items")) if field.get("type") == "array" else field
    if titled := as_list(source.get("oneOf") or source.get("anyOf")):
        found = [each for each in map(as_object, titled) if isinstance(each.get("const"), str)]
        return [_Option(clean_line(str(each.get("title") or each["const"])), each["const"]) for each in found][
            :MAX_CHOICES
        ]
    if not (values := as_list(source.get("enum"))):
        return None
    names = as_list(source.get("enumNames"))
    labels = names if len(names) == len(values) else values
    pairs = zip(labels, values, strict=True)
    return [_Option(clean_line(str(label)), str(value)) for label, value in pairs][:MAX_CHOICES]


def _default(field: dict[str, Any], options: list[_Option] | None) -> list[_Option]:
    """Return the default as a choice, unless it is among the options."""
    value = field.get("default")
    if options is not None or not isinstance(value, str | int | float) or value == "":
        return []
    return [_Option(clean_line(str(value)), value)]


def _checked(value: Value, field: dict[str, Any]) -> Value | _Problem:
    """Return a given value in the type of its field, or what is wrong with it."""
    match field.get("type"), value:
        case ("integer" | "number") as kind, str(text):
            return _number(text, kind, field)
        case "array", list(items):
            least, most = field.get("minItems"), field.get("maxItems")
            if isinstance(least, int) and len(items) < least:
                return _Problem(f"Choose at least {least}.")
            if isinstance(most, int) and len(items) > most:
                return _Problem(f"Choose at most {most}.")
            return items
        case _, str(text):
            return _text(text, field)
        case _:
            return value


def _number(text: str, kind: str, field: dict[str, Any]) -> Value | _Problem:
    try:
        value = int(text) if kind == "integer" else float(text)
    except ValueError:
        return _Problem("Enter a whole number." if kind == "integer" else "Enter a number.")
    least, most = field.get("minimum"), field.get("maximum")
    if not math.isfinite(value):
        return _Problem("Enter a number.")
    if isinstance(least, int | float) and value < least:
        return _Problem(f"Enter a number of at least {least}.")
    if isinstance(most, int | float) and value > most:
        return _Problem(f"Enter a number of at most {most}.")
    return value


_FORMATS = {
    "email": (re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"), "an email address"),
    "uri": (re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"), "a URI"),
    "date": (re.compile(r"\d{4}-\d{2}-\d{2}"), "a date such as 2026-01-31"),
    "date-time": (re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}.*"), "a time such as 2026-01-31T12:00:00Z"),
}


def _text(text: str, field: dict[str, Any]) -> Value | _Problem:
    least, most = field.get("minLength"), field.get("maxLength")
    if isinstance(least, int) and len(text) < least:
        return _Problem(f"Enter at least {least} characters.")
    if isinstance(most, int) and len(text) > most:
        return _Problem(f"Enter at most {most} characters.")
    pattern, what = _FORMATS.get(str(field.get("format")), (None, ""))
    if pattern is not None and not pattern.fullmatch(text):
        return _Problem(f"Enter {what}.")
    return text


def url_question(server: str, message: str, url: str) -> Question:
    """Return the question whether the user opens a page, with its address; cinch never opens it unasked."""
    host = urlsplit(url).hostname or "unknown host"
    prompt = (
        f"The MCP server {clean_line(server, 60)} asks you to open a page of {clean_line(host)}:\n\n"
        f"{clean_line(url, URL_CHARS)}\n\n{clean_text(message, MESSAGE_CHARS)}"
    )
    choices = (Choice("I opened it", "Open the address in a browser, then continue."), Choice(_DECLINE))
    return Question(prompt, choices, header=clean_line(server, 30), free_text=False)
