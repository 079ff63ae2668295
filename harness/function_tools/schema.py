"""A JSON Schema from outside as a check of what a model sends.

Schemas of Draft 2020-12, or of the draft their `$schema` names. Nothing is ever fetched, and formats are not checked.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, cast

from harness.errors import ConfigError, InvalidArguments
from harness.function_tools.validation_errors import ValidationIssue, explained, place, short, validation_message
from harness.messages import JsonObject, JsonValue

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

MAX_ISSUES = 50


class Checker:
    """The check of one schema; `name` says in error texts whose schema it is. Compiled at its first use.

    Properties that the schema neither names nor forbids are let through, as the standard has it.
    """

    def __init__(self, name: str, schema: JsonObject) -> None:
        self._name = name
        self._schema = schema

    def check(self, arguments: JsonObject) -> JsonObject:
        """The arguments of a call, with the defaults of the schema's own properties filled in.

        Raises:
            InvalidArguments: with a text from which the model can correct itself.
            ConfigError: as `problems`.
        """
        found = self.problems(arguments)
        if found:
            raise InvalidArguments(validation_message(self._name, found))
        return arguments | _defaults(self._schema, arguments)

    def problems(self, value: JsonValue) -> tuple[str, ...]:
        """What is wrong with a value; nothing if it fits.

        Raises:
            ConfigError: the schema itself is wrong, or refers to what is not in it.
        """
        validator = self._validator
        # With jsonschema, which takes 70 ms to import and most agents never need.
        from referencing.exceptions import Unresolvable

        try:
            faults = [_fault(each) for each in islice(_errors(validator, value), MAX_ISSUES)]
        except Unresolvable as error:
            why = f"refers to what is not in it, and nothing is fetched: {error}"
            raise ConfigError(f"the schema of {self._name} {why}") from error
        except RecursionError:
            return ("arguments: nested too deeply to be checked",)
        # Of several missing properties each is a fault, and each tells of all.
        return tuple(dict.fromkeys(problem for fault in faults for problem in explained(fault)))

    def compile(self) -> None:
        """Compile the schema now instead of at its first use.

        Raises:
            ConfigError: The schema is wrong.
        """
        _ = self._validator

    @cached_property
    def _validator(self) -> Validator:
        try:
            return _compiled(json.dumps(self._schema))
        except ConfigError as error:
            raise ConfigError(f"the schema of {self._name} is wrong: {error}") from error
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigError(f"the schema of {self._name} is no JSON: {error}") from error


@lru_cache(maxsize=256)
def _compiled(schema: str) -> Validator:
    """The validator of a schema given as JSON: tools come and go, and their schemas are the same again and again."""
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for
    from jsonschema_specifications import REGISTRY  # pyright: ignore[reportMissingTypeStubs] it has none

    parsed: JsonValue = json.loads(schema)
    if not isinstance(parsed, dict):
        raise ConfigError("it must be an object")
    kind = validator_for(parsed, default=Draft202012Validator)
    try:
        kind.check_schema(parsed)
    except SchemaError as error:
        where = place(error.absolute_path) if error.absolute_path else "the whole"
        raise ConfigError(f"{where}: {short(error.message)}") from error
    # Without this registry, which only knows the drafts themselves, what a reference names would be fetched.
    return kind(parsed, registry=REGISTRY)


def _defaults(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return {
        name: copy.deepcopy(part["default"])
        for name, part in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(part, dict) and "default" in part and name not in arguments
    }


def _errors(validator: Validator, value: JsonValue) -> Iterator[ValidationError]:
    # Its stub names no type for what is checked.
    return validator.iter_errors(value)  # pyright: ignore[reportUnknownMemberType]


def _fault(error: ValidationError) -> ValidationIssue:
    branches: dict[str | int, list[ValidationIssue]] = {}
    for each in error.context or ():
        branches.setdefault(each.schema_path[0], []).append(_fault(each))
    # The casts: the schema and the value were JSON when they went in, which the library's types do not tell.
    return ValidationIssue(
        path=tuple(error.absolute_path),
        rule=str(error.validator),
        wanted=cast(JsonValue, error.validator_value),
        found=cast(JsonValue, error.instance),
        schema=cast(JsonObject, error.schema) if isinstance(error.schema, dict) else {},
        message=error.message,
        branches=tuple(tuple(faults) for faults in branches.values()),
    )
