"""Output types: a pydantic type or JSON Schema, as a schema for the model and a validator of its answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from harness.errors import ConfigError, InvalidArguments
from harness.function_tools.schema import Checker, as_list
from harness.messages import JsonObject, JsonValue

VALUE = "value"
LISTS = ("$defs", "definitions")
LISTED = ("#/$defs/", "#/definitions/")
_FENCED = re.compile(r"```[a-z]*\s*\n(.*)\n\s*```", re.DOTALL)


class OutputType(Struct, frozen=True):
    """Schema and validator of structured output."""

    name: str
    """Name of the type."""
    schema: JsonObject
    """JSON Schema of an object, because models accept no other; another type is its property `value`."""
    read: Callable[[JsonObject], object]
    """Validates an answer and returns its value; raises `InvalidArguments` with a list of issues."""

    def read_text(self, text: str) -> object:
        """Validate a reply that consists of the answer only.

        Raises:
            InvalidArguments: As for `read`, or if the reply is not a JSON object.
        """
        fenced = _FENCED.fullmatch(text.strip())
        try:
            answer: JsonValue = json.loads(fenced[1] if fenced else text)
        except (ValueError, RecursionError) as error:
            raise InvalidArguments(f"- the reply is not valid JSON: {error}") from error
        if not isinstance(answer, dict):
            raise InvalidArguments("- the reply must be a JSON object")
        return self.read(answer)


def output_type(wanted: object) -> OutputType:
    """Return the output type for a JSON Schema, or for any type that `pydantic.TypeAdapter` accepts.

    Raises:
        ConfigError: The value is neither.
    """
    return _from_schema(wanted) if isinstance(wanted, Mapping) else _from_type(wanted)  # pyright: ignore[reportUnknownArgumentType] items are checked there


def _from_schema(wanted: Mapping[str, JsonValue]) -> OutputType:
    schema: JsonObject = dict(wanted)
    is_object = schema.get("type", "object" if "properties" in schema else None) == "object"
    offered = {**schema, "type": "object"} if is_object else wrapped(schema)
    checker = Checker("the answer", offered)
    # Check the schema before anything is sent, so that an invalid one costs no tokens.
    checker.problems({})

    def read(answer: JsonObject) -> object:
        problems = checker.problems(answer)
        if problems:
            raise InvalidArguments(as_list(problems))
        return answer if is_object else answer[VALUE]

    return OutputType(str(schema.get("title") or "answer"), offered, read)


def _from_type(wanted: object) -> OutputType:
    # Imported late: pydantic is slow to import, and most agents answer in prose.
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    from harness.function_tools.typed_arguments import problems_in, shown_schema

    try:
        adapter: TypeAdapter[object] = TypeAdapter(wanted)  # pyright: ignore[reportArgumentType, reportUnknownVariableType] it raises for an invalid type
        schema = closed(shown_schema(adapter.json_schema()))
    except (PydanticUserError, TypeError, NameError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"{wanted!r} cannot be an output type: {reason}") from error
    is_object = schema.get("type") == "object"

    def read(answer: JsonObject) -> object:
        if not is_object and VALUE not in answer:
            raise InvalidArguments(as_list([f"{VALUE}: required and missing"]))
        try:
            return adapter.validate_json(json.dumps(answer if is_object else answer[VALUE]))
        except ValidationError as error:
            raise InvalidArguments(as_list(problems_in(error, schema, () if is_object else (VALUE,)))) from error

    return OutputType(str(getattr(wanted, "__name__", "answer")), schema if is_object else wrapped(schema), read)


def wrapped(schema: JsonObject) -> JsonObject:
    """Return an object schema whose property `value` has this schema, with its references adjusted."""
    lists = {key: _moved(schema[key]) for key in LISTS if key in schema}
    value = _moved({key: part for key, part in schema.items() if key not in LISTS})
    return {"type": "object", "properties": {VALUE: value}, "required": [VALUE], "additionalProperties": False, **lists}


def closed(part: JsonObject) -> JsonObject:
    """Return the schema with `additionalProperties` false for each object, because pydantic drops them in any case."""
    result: JsonObject = {key: _closed(value) for key, value in part.items()}
    if part.get("type") == "object" and "properties" in part:
        result.setdefault("additionalProperties", False)
    return result


def _closed(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return closed(value)
        case list():
            return [_closed(each) for each in value]
        case _:
            return value


def _moved(value: JsonValue) -> JsonValue:
    match value:
        case {"$ref": str(reference)} if reference[:1] == "#" and not reference.startswith(LISTED):
            return {**value, "$ref": f"#/properties/{VALUE}{reference[1:]}"}
        case dict():
            return {key: _moved(part) for key, part in value.items()}
        case list():
            return [_moved(part) for part in value]
        case _:
            return value
