"""TypedTool: a pydantic model in, a ToolOutput out."""

from __future__ import annotations

import json
from functools import cache
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import InvalidArguments
from harness.messages import JsonObject, JsonValue
from harness.tool import Risk, ToolContext, ToolOutput
from harness.views import View
from tools.cards import description_of


class Parameters(BaseModel):
    """Base of every tool's parameters: unknown fields are refused, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, defer_build=True)


P = TypeVar("P", bound=Parameters)


class TypedTool(Generic[P]):
    """A tool whose arguments are a pydantic model.

    A subclass names `Arguments`, fills the class variables and writes `execute`; `judge`, `foresee` and `summary` where
    the defaults do not fit. The text the model reads is `descriptions/<name>.md`.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    mutates: bool = False
    Arguments: type[P]

    @property
    def description(self) -> str:
        return description_of(self.name)

    @property
    def parameters(self) -> JsonObject:
        return _schema(self.Arguments)

    def validate(self, arguments: JsonObject) -> JsonObject:
        try:
            parsed = self.Arguments.model_validate(_unwrap_strings(self.Arguments, arguments))
        except ValidationError as error:
            raise InvalidArguments(_explain(self.name, error)) from error
        return parsed.model_dump(mode="json")

    def summary(self, arguments: JsonObject) -> str:
        return next((str(value) for value in arguments.values() if isinstance(value, str)), "")

    def risk(self, arguments: JsonObject) -> Risk:
        return self.judge(self.Arguments.model_validate(arguments))

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        return await self.foresee(self.Arguments.model_validate(arguments), context)

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return await self.execute(self.Arguments.model_validate(arguments), context)

    def judge(self, arguments: P) -> Risk:
        del arguments
        return Risk("edit" if self.mutates else "read")

    async def foresee(self, arguments: P, context: ToolContext) -> View | ToolOutput | None:
        del arguments, context
        return None

    async def execute(self, arguments: P, context: ToolContext) -> ToolOutput:
        raise NotImplementedError


@cache
def _schema(arguments: type[Parameters]) -> JsonObject:
    schema: JsonObject = arguments.model_json_schema()
    parts = schema.pop("$defs", {})
    return _cleaned(schema, parts if isinstance(parts, dict) else {})


def _cleaned(schema: JsonObject, parts: JsonObject) -> JsonObject:
    """Pydantic repeats each field's name as a title, which models pay for, and refers to parts, which some reject."""
    part = parts.get(str(schema.get("$ref", "")).removeprefix("#/$defs/"))
    if isinstance(part, dict):
        schema = part | {key: value for key, value in schema.items() if key != "$ref"}
    cleaned: JsonObject = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if isinstance(value, dict):
            cleaned[key] = _cleaned(value, parts)
        elif isinstance(value, list):
            cleaned[key] = [_cleaned(item, parts) if isinstance(item, dict) else item for item in value]
        else:
            cleaned[key] = value
    return cleaned


def _unwrap_strings(model: type[Parameters], arguments: JsonObject) -> JsonObject:
    """Several models send an array or object as a string of JSON; take it where the field is no string."""
    unwrapped: JsonObject = {}
    properties = _schema(model).get("properties")
    for key, value in arguments.items():
        field = properties.get(key) if isinstance(properties, dict) else None
        takes_string = "string" in json.dumps(field) if field is not None else True
        is_container = isinstance(value, str) and value.lstrip()[:1] in ("[", "{")
        unwrapped[key] = _parsed(value) if (is_container and _is_container(field)) or not takes_string else value
    return unwrapped


def _is_container(field: JsonValue) -> bool:
    return isinstance(field, dict) and field.get("type") in ("array", "object")


def _parsed(value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    try:
        parsed: JsonValue = json.loads(value)
    except ValueError:
        return value
    return parsed


def _explain(name: str, error: ValidationError) -> str:
    problems = [
        f"- {'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}" for item in error.errors()
    ]
    return (
        f"The arguments of {name} do not fit its schema:\n" + "\n".join(problems) + "\nSend the call again, corrected."
    )
