"""Conversion of a function's return value to a tool output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard

from msgspec.structs import replace

from harness.messages import Image, JsonObject, JsonValue, Text, UserContent
from harness.ports.tool import ToolOutput

if TYPE_CHECKING:
    from typing import TypeGuard

NO_OUTPUT = "(no output)"


def output_of(value: object) -> ToolOutput:
    """Return a value as a tool output.

    A `ToolOutput`, text, images and lists of them are used as they are; anything else becomes JSON, also in `details`.

    Raises:
        TypeError: The value cannot be represented as JSON.
    """
    match value:
        case ToolOutput():
            return value
        case None | "":
            return ToolOutput.text(NO_OUTPUT)
        case str():
            return ToolOutput.text(value)
        case Text() | Image():
            return ToolOutput((value,))
        case list() | tuple() if _is_content(value):  # pyright: ignore[reportUnknownArgumentType] items are checked there
            return ToolOutput(tuple(value))
        case _:
            return _as_json(value)


def checked_output(value: object) -> ToolOutput:
    """Validate the output of a tool, because others serialize it and send it to a model.

    Raises:
        TypeError: The output is invalid.
    """
    if not isinstance(value, ToolOutput):
        raise TypeError(f"it returned a {type(value).__name__} instead of a ToolOutput")
    blocks = _listed(value.content)
    if blocks is None or not all(isinstance(each, Text | Image) for each in blocks):
        raise TypeError("the content of its output is not a tuple of Text and Image")
    if value.details is not None:
        try:
            json.dumps(value.details)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"the details of its output are not JSON: {error}") from error
    return replace(value, content=tuple(value.content)) if isinstance(blocks, list) else value


def _listed(content: object) -> Sequence[object] | None:
    return content if isinstance(content, tuple | list) else None  # pyright: ignore[reportUnknownVariableType] items are checked by the caller


def _is_content(values: Sequence[object]) -> TypeGuard[Sequence[UserContent]]:
    return bool(values) and all(isinstance(each, Text | Image) for each in values)


def _as_json(value: object) -> ToolOutput:
    # Imported late: pydantic is slow to import, and text needs no conversion.
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        plain: JsonValue = to_jsonable_python(value, inf_nan_mode="null")
    except (PydanticSerializationError, ValueError) as error:
        raise TypeError(f"a tool cannot return a {type(value).__name__}: {error}") from error
    details: JsonObject = plain if isinstance(plain, dict) else {"value": plain}
    return ToolOutput.text(json.dumps(plain, ensure_ascii=False), details=details)
