"""Signatures of functions as parameters of tools: the schema for the model, and the values for the call."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import re
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from msgspec import Struct

from harness.errors import ConfigError, InvalidArguments
from harness.function_tools.schema import validation_message
from harness.messages import JsonObject
from harness.ports.tool import ToolContext

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    # Type hints have no useful static type.
    Hint: TypeAlias = Any
    Adapter: TypeAlias = TypeAdapter[Any]
    Parameters: TypeAlias = Mapping[str, inspect.Parameter]

Values: TypeAlias = dict[str, object]

# The parser takes a section in the first line for the summary, and knows only capitalized headings.
_ARGUMENTS = re.compile(r"(?im)^(?:args|arguments|parameters|params|keyword args|keyword arguments):[ \t]*$")

MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Signature(Struct, frozen=True):
    """Signature of a function tool."""

    name: str
    """Name of the function."""
    description: str
    """Description for the model."""
    schema: JsonObject
    """JSON Schema of the parameters."""
    context: str
    """Parameter that receives the `ToolContext`; empty if absent."""
    adapter: Adapter
    """Validator of the arguments."""

    def unwrapped(self, arguments: JsonObject) -> JsonObject:
        """Return the arguments, with JSON strings parsed where the schema allows no string."""
        # Imported late with pydantic, which only function tools need.
        from harness.function_tools.typed_arguments import unwrap_strings

        return unwrap_strings(self.schema, arguments)

    def values(self, name: str, arguments: JsonObject) -> Values:
        """Return the values to call the function with, converted to the hinted types, defaults included.

        Raises:
            InvalidArguments: The arguments do not fit the schema; the text lets the model correct the call.
        """
        from pydantic import ValidationError

        from harness.function_tools.typed_arguments import problems_in

        try:
            checked = self.adapter.validate_json(json.dumps(arguments))
        except ValidationError as error:
            raise InvalidArguments(validation_message(name, problems_in(error, self.schema))) from error
        return {field.name: getattr(checked, field.name) for field in dataclasses.fields(checked)}


def signature_of(function: Callable[..., object]) -> Signature:
    """Return the signature of a function as a tool.

    Raises:
        ConfigError: The function cannot be a tool; the text says why.
    """
    name = str(getattr(function, "__name__", type(function).__name__))
    parameters = inspect.signature(function).parameters
    for parameter in parameters.values():
        _check_parameter(name, parameter)
    hints = _hints(name, function, parameters)
    contexts = [each for each, hint in hints.items() if _is_context(hint)]
    if len(contexts) > 1:
        raise ConfigError(f"{name}: only one parameter can be the ToolContext, not {' and '.join(contexts)}")
    summary, texts = _docs(inspect.getdoc(function) or "")
    fields = [
        _field(each, _described(hint, texts.get(each, "")), parameters[each].default)
        for each, hint in hints.items()
        if each not in contexts
    ]
    adapter, schema = _built(name, fields)
    description = summary or f"{name.replace('_', ' ').strip().capitalize()}."
    return Signature(name, description, schema, "".join(contexts), adapter)


def _docs(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a docstring in Google, NumPy or reST style, and the texts of its parameters."""
    # Imported late: only functions with a docstring need it.
    from docstring_parser import ParseError, parse

    has_summary = _ARGUMENTS.match(docstring) is None
    text = _ARGUMENTS.sub("Args:", docstring if has_summary else f"-\n\n{docstring}")
    try:
        parsed = parse(text)
    except ParseError:
        return _first_paragraph(text), {}
    texts = {
        name.strip().lstrip("*"): " ".join((each.description or "").split())
        for each in parsed.params
        if each.args[:1] != ["attribute"]
        for name in each.arg_name.split(",")
    }
    return _first_paragraph(parsed.description or "") if has_summary else "", texts


def _first_paragraph(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


def _check_parameter(name: str, parameter: inspect.Parameter) -> None:
    if parameter.kind in MANY:
        raise ConfigError(f"{name}: a model cannot fill {parameter}; name each parameter, or use a list or dict")
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise ConfigError(f"{name}: {parameter.name} is positional-only, but a model passes arguments by name")
    if parameter.annotation is inspect.Parameter.empty:
        hint = "; for a method, pass the bound method: tool(thing.method)" if parameter.name == "self" else ""
        raise ConfigError(f"{name}: {parameter.name} has no type hint, which the schema requires{hint}")


def _hints(name: str, function: Callable[..., object], parameters: Parameters) -> dict[str, Hint]:
    """Return the hints of the parameters only: that of the result may exist for type checkers only."""
    annotations = {each: parameter.annotation for each, parameter in parameters.items()}
    holder = type("Annotated", (), {"__annotations__": annotations})
    try:
        return typing.get_type_hints(holder, globalns=_namespace(function), localns={}, include_extras=True)
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        raise ConfigError(f"{name}: a type hint cannot be resolved: {error}; use only types of its module") from error


def _namespace(function: Callable[..., object]) -> dict[str, object]:
    """Return the names that its hints may use: the globals of the function, or of a callable object's method."""
    inner: object = inspect.unwrap(function)
    while isinstance(inner, functools.partial):
        inner = inner.func
    return getattr(inner if hasattr(inner, "__globals__") else type(inner).__call__, "__globals__", {})


def _is_context(hint: Hint) -> bool:
    return hint is ToolContext or ToolContext in typing.get_args(hint)


def _described(hint: Hint, text: str) -> Hint:
    """Return the hint with the parameter's description; `Annotated[int, "text"]` takes precedence over the docs."""
    from pydantic import Field
    from pydantic.fields import FieldInfo

    extras: Sequence[object] = getattr(hint, "__metadata__", ())
    if any(isinstance(each, FieldInfo) and each.description for each in extras):
        return hint
    text = next((each for each in extras if isinstance(each, str)), text)
    return Annotated[hint, Field(description=text)] if text else hint


def _field(name: str, hint: Hint, default: object) -> tuple[str, Hint, Hint]:
    from pydantic import Field
    from pydantic.fields import FieldInfo

    if default is inspect.Parameter.empty:
        return name, hint, dataclasses.field()
    # Wrapped, because dataclasses reject mutable defaults, which pydantic copies.
    return name, hint, default if isinstance(default, FieldInfo) else Field(default=default)


def _built(name: str, fields: Sequence[tuple[str, Hint, Hint]]) -> tuple[Adapter, JsonObject]:
    """Return the validator of the fields, and their schema in the order of the function."""
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.errors import PydanticUserError

    from harness.function_tools.typed_arguments import shown_schema

    namespace = {"__pydantic_config__": ConfigDict(extra="forbid")}
    try:
        kind = dataclasses.make_dataclass("Arguments", fields, namespace=namespace, kw_only=True)
        adapter: Adapter = TypeAdapter(kind)
        schema = shown_schema(_json_schema(adapter))
    except (PydanticUserError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"{name}: its type hints cannot be converted to a JSON schema: {reason}") from error
    properties = schema.get("properties")
    found = properties if isinstance(properties, dict) else {}
    ordered: JsonObject = {each: found[each] for each, _, _ in fields if each in found}
    return adapter, {**schema, "properties": ordered}


def _json_schema(adapter: Adapter) -> JsonObject:
    from pydantic.json_schema import PydanticJsonSchemaWarning

    with warnings.catch_warnings():
        # A default that JSON cannot represent does not concern the model.
        warnings.simplefilter("ignore", PydanticJsonSchemaWarning)
        return adapter.json_schema()
