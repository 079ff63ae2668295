"""Tool whose arguments are a msgspec struct."""

from __future__ import annotations

from functools import cache
from typing import ClassVar, Generic, Literal, TypeVar

import msgspec

from harness.errors import InvalidArguments
from harness.function_tools.schema import Checker, validation_message
from harness.function_tools.typed_arguments import shown_schema, unwrap_string
from harness.messages import JsonObject, JsonValue
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Risk, RiskLevel
from harness.views import View
from tools.builtin import description_of

ALIASES = {
    **dict.fromkeys(("file_path", "filePath", "notebook_path", "dir_path", "directory"), "path"),
    **dict.fromkeys(("old_text", "oldText", "oldString", "old"), "old_string"),
    **dict.fromkeys(("new_text", "newText", "newString", "new"), "new_string"),
    **dict.fromkeys(("id", "bash_id", "shell_id"), "job_id"),
    **dict.fromkeys(("head_limit", "max_matches"), "limit"),
    **dict.fromkeys(("literal_text", "fixed_strings"), "literal"),
    **dict.fromkeys(("case_insensitive", "-i"), "ignore_case"),
    **dict.fromkeys(("src", "from", "source_path", "old_path"), "source"),
    **dict.fromkeys(("dst", "dest", "to", "target", "destination_path", "new_path"), "destination"),
    **dict.fromkeys(("input", "patch_text", "patchText", "diff"), "patch"),
    "question": "prompt",
    "options": "choices",
    "multiSelect": "multi_select",
    "subagent_type": "agent",
    "prompt": "task",
    "reasoning": "thought",
    "replaceAll": "replace_all",
    "cmd": "command",
    "timeout": "timeout_s",
    "run_in_background": "background",
    "include": "glob",
    "-C": "context",
}
"""Names of parameters as models write them that were trained with other tools."""


class Parameters(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Base class of tool parameters; unknown fields are rejected, so that a misspelled one is noticed."""


P = TypeVar("P", bound=Parameters)


class TypedTool(Tool, Generic[P]):
    """A tool whose arguments are a struct.

    A subclass sets `Arguments` and the class variables and implements `execute`; `risk_of`, `preview_of` and `summary`
    if the defaults do not fit. The description for the model is `descriptions/<name>.md`.
    """

    mutates: bool | Literal["by_call"] = False  # pyright: ignore[reportIncompatibleMethodOverride]  it is only read
    deferred: ClassVar[bool] = False
    """True if the tool is rarely used, so that its schema need not be declared; see `is_deferred`."""
    risk_level: ClassVar[RiskLevel | None] = None
    """Risk of a call that depends on no argument; None: "edit" if the tool mutates, else "read"."""

    Arguments: type[P]

    @property
    def description(self) -> str:
        return description_of(self.name)

    @property
    def parameters(self) -> JsonObject:
        return _schema(self.Arguments)

    def validate(self, arguments: JsonObject) -> JsonObject:
        return self.validate_with_schema(self.parameters, arguments)

    def validate_with_schema(self, schema: JsonObject, arguments: JsonObject) -> JsonObject:
        """Validate with a schema that the caller already has: generating it takes longer than a first call."""
        given = _adapted(schema, arguments)
        try:
            return msgspec.to_builtins(self._parsed(given))
        except msgspec.ValidationError as error:
            # msgspec stops at the first problem, and a model corrects all that it is told of at once.
            problems = Checker(self.name, schema).problems(given) or (_problem(str(error)),)
            raise InvalidArguments(validation_message(self.name, problems)) from error

    def summary(self, arguments: JsonObject) -> str:
        return next((str(value) for value in arguments.values() if isinstance(value, str)), "")

    def risk(self, arguments: JsonObject) -> Risk:
        return self.risk_of(self._parsed(arguments))

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        return await self.preview_of(self._parsed(arguments), context)

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return await self.execute(self._parsed(arguments), context)

    def risk_of(self, arguments: P) -> Risk:
        return Risk(self.risk_level or ("edit" if self.mutates else "read"))

    async def preview_of(self, arguments: P, context: ToolContext) -> View | ToolOutput | None:
        return None

    async def execute(self, arguments: P, context: ToolContext) -> ToolOutput:
        raise NotImplementedError

    def _parsed(self, arguments: JsonObject) -> P:
        return msgspec.convert(arguments, self.Arguments, strict=False)


@cache
def _schema(arguments: type[Parameters]) -> JsonObject:
    return {key: _shorter(value) for key, value in shown_schema(msgspec.json.schema(arguments)).items()}


def _shorter(schema: JsonValue) -> JsonValue:
    """Leave out what costs tokens and is clear without: that an optional parameter may be null, false, empty or 0."""
    match schema:
        case list():
            return [_shorter(each) for each in schema]
        case {"anyOf": [dict() as only, {"type": "null"}], **others}:
            return _shorter({**only, **others})
        case dict():
            return {key: _shorter(value) for key, value in schema.items() if key != "default" or value}
        case _:
            return schema


def _adapted(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """Return the arguments as the schema names them, with JSON strings parsed; also in lists of objects."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return arguments
    adapted: JsonObject = {}
    for key, value in arguments.items():
        alias = ALIASES.get(key, key)
        name = alias if key not in properties and alias in properties and alias not in arguments else key
        adapted[name] = _adapted_value(properties.get(name), value)
    return adapted


def _adapted_value(schema: JsonValue, value: JsonValue) -> JsonValue:
    match schema, unwrap_string(schema, value):
        case {"items": dict() as items}, list() as values:
            return [_adapted(items, each) if isinstance(each, dict) else each for each in values]
        case _, unwrapped:
            return unwrapped


def _problem(message: str) -> str:
    """Return an error of msgspec with its location first: `Expected … - at `$.edits[0]`` → `edits[0]: Expected …`."""
    text, mark, where = message.rpartition(" - at `$")
    return f"{where.strip('.`') or 'arguments'}: {text}" if mark else f"arguments: {message}"
