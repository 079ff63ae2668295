"""What an answer must be: a type that pydantic knows, or a JSON Schema, as a schema for the model and a check."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from harness.errors import ConfigError, InvalidArguments
from harness.function_tools.schema import Checker
from harness.function_tools.validation_errors import as_list
from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject, JsonValue

VALUE = "value"
LISTS = ("$defs", "definitions")
LISTED = ("#/$defs/", "#/definitions/")
_FENCED = re.compile(r"```[a-z]*\s*\n(.*)\n\s*```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OutputType:
    """`schema` is always that of an object, as models take no other; what is none is its property `value`.

    `read` makes of such an object what was asked for, and raises `InvalidArguments` with a list of what is wrong.
    """

    name: str
    schema: JsonObject
    read: Callable[[JsonObject], object]

    def read_text(self, text: str) -> object:
        """What a reply comes to that is nothing but the answer.

        Raises:
            InvalidArguments: as `read`, and where it is no JSON object.
        """
        fenced = _FENCED.fullmatch(text.strip())
        try:
            answer: JsonValue = json.loads(fenced[1] if fenced else text)
        except (ValueError, RecursionError) as error:
            raise InvalidArguments(f"- the reply is no JSON: {error}") from error
        if not isinstance(answer, dict):
            raise InvalidArguments("- the reply must be a JSON object")
        return self.read(answer)


def output_type(wanted: object) -> OutputType:
    """The form of an answer, from a JSON Schema or from any type that `pydantic.TypeAdapter` takes.

    Raises:
        ConfigError: it is neither.
    """
    return _form_of_schema(wanted) if isinstance(wanted, Mapping) else _form_of_type(wanted)  # pyright: ignore[reportUnknownArgumentType] what is in it is looked at below


def _form_of_schema(wanted: Mapping[str, JsonValue]) -> OutputType:
    schema: JsonObject = dict(wanted)
    is_object = schema.get("type", "object" if "properties" in schema else None) == "object"
    offered = {**schema, "type": "object"} if is_object else wrapped(schema)
    checker = Checker("the answer", offered)
    # Asked before anything is sent: what is wrong with the schema itself should cost no tokens.
    checker.problems({})

    def read(answer: JsonObject) -> object:
        problems = checker.problems(answer)
        if problems:
            raise InvalidArguments(as_list(problems))
        return answer if is_object else answer[VALUE]

    return OutputType(str(schema.get("title") or "answer"), offered, read)


def _form_of_type(wanted: object) -> OutputType:
    # Pydantic takes a while to import, and most agents answer in prose.
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    from harness.function_tools.typed_arguments import problems_in, shown_schema

    try:
        adapter: TypeAdapter[object] = TypeAdapter(wanted)  # pyright: ignore[reportArgumentType, reportUnknownVariableType] it says itself what is no type
        schema = closed(shown_schema(adapter.json_schema()))
    except (PydanticUserError, TypeError, NameError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"no answer can have the form of {wanted!r}: {reason}") from error
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
    """An object whose property `value` has this schema, its references led to where they now are."""
    lists = {key: _moved(schema[key]) for key in LISTS if key in schema}
    value = _moved({key: part for key, part in schema.items() if key not in LISTS})
    return {"type": "object", "properties": {VALUE: value}, "required": [VALUE], "additionalProperties": False, **lists}


def closed(part: JsonObject) -> JsonObject:
    """The same schema, where no object says nothing of properties beyond its own: pydantic drops them in any case."""
    shut: JsonObject = {key: _shut(value) for key, value in part.items()}
    if part.get("type") == "object" and "properties" in part:
        shut.setdefault("additionalProperties", False)
    return shut


def _shut(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return closed(value)
        case list():
            return [_shut(each) for each in value]
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
