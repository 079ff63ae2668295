"""Validation by JSON Schema.

Supports Draft 2020-12, or the draft that `$schema` names. References are never fetched, and formats are not checked.
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
    """Validator of one schema, compiled at its first use. `name` identifies the schema in error texts.

    Properties that the schema neither names nor forbids are accepted, as the standard requires.
    """

    def __init__(self, name: str, schema: JsonObject) -> None:
        self._name = name
        self._schema = schema

    def check(self, arguments: JsonObject) -> JsonObject:
        """Return the arguments of a call, with defaults of top-level properties filled in.

        Raises:
            InvalidArguments: The arguments do not fit the schema; the text lets the model correct the call.
            ConfigError: As for `problems`.
        """
        found = self.problems(arguments)
        if found:
            raise InvalidArguments(validation_message(self._name, found))
        return arguments | _defaults(self._schema, arguments)

    def problems(self, value: JsonValue) -> tuple[str, ...]:
        """Return the issues of a value; empty if it is valid.

        Raises:
            ConfigError: The schema is invalid, or refers to something it does not contain.
        """
        validator = self._validator
        # Imported late with jsonschema, which takes 70 ms and which most agents do not need.
        from referencing.exceptions import Unresolvable

        try:
            issues = [_issue(each) for each in islice(_errors(validator, value), MAX_ISSUES)]
        except Unresolvable as error:
            why = f"refers to something it does not contain, and references are not fetched: {error}"
            raise ConfigError(f"the schema of {self._name} {why}") from error
        except RecursionError:
            return ("arguments: nested too deeply to be checked",)
        # Each missing property is an issue of its own that names all of them.
        return tuple(dict.fromkeys(problem for issue in issues for problem in explained(issue)))

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
            raise ConfigError(f"the schema of {self._name} is invalid: {error}") from error
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigError(f"the schema of {self._name} is not JSON: {error}") from error


@lru_cache(maxsize=256)
def _compiled(schema: str) -> Validator:
    """Return the validator of a schema given as JSON; cached, because tools are recreated with equal schemas."""
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
        where = place(error.absolute_path) if error.absolute_path else "schema"
        raise ConfigError(f"{where}: {short(error.message)}") from error
    # Without this registry, which contains only the drafts, references would be fetched.
    return kind(parsed, registry=REGISTRY)


def _defaults(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return {
        name: copy.deepcopy(part["default"])
        for name, part in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(part, dict) and "default" in part and name not in arguments
    }


def _errors(validator: Validator, value: JsonValue) -> Iterator[ValidationError]:
    # The stub has no type for the value.
    return validator.iter_errors(value)  # pyright: ignore[reportUnknownMemberType]


def _issue(error: ValidationError) -> ValidationIssue:
    branches: dict[str | int, list[ValidationIssue]] = {}
    for each in error.context or ():
        branches.setdefault(each.schema_path[0], []).append(_issue(each))
    # The casts: schema and value were JSON, which the types of the library do not express.
    return ValidationIssue(
        path=tuple(error.absolute_path),
        rule=str(error.validator),
        wanted=cast(JsonValue, error.validator_value),
        found=cast(JsonValue, error.instance),
        schema=cast(JsonObject, error.schema) if isinstance(error.schema, dict) else {},
        message=error.message,
        branches=tuple(tuple(issues) for issues in branches.values()),
    )
