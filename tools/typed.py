"""Tool whose arguments are a pydantic model."""

from __future__ import annotations

from functools import cache
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import InvalidArguments
from harness.function_tools.schema import validation_message
from harness.function_tools.typed_arguments import problems_in, shown_schema, unwrap_strings
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk, RiskLevel
from harness.views import View
from tools.builtin import description_of


class Parameters(BaseModel):
    """Base class of tool parameters; unknown fields are rejected, so that a misspelled one is noticed."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, defer_build=True)


P = TypeVar("P", bound=Parameters)


class TypedTool(Generic[P]):
    """A tool whose arguments are a pydantic model.

    A subclass sets `Arguments` and the class variables and implements `execute`; `risk_of`, `preview_of` and `summary`
    if the defaults do not fit. The description for the model is `descriptions/<name>.md`.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    mutates: bool = False
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
        try:
            parsed = self.Arguments.model_validate(unwrap_strings(schema, arguments))
        except ValidationError as error:
            raise InvalidArguments(validation_message(self.name, problems_in(error, schema))) from error
        return parsed.model_dump(mode="json")

    def summary(self, arguments: JsonObject) -> str:
        return next((str(value) for value in arguments.values() if isinstance(value, str)), "")

    def risk(self, arguments: JsonObject) -> Risk:
        return self.risk_of(self.Arguments.model_validate(arguments))

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        return await self.preview_of(self.Arguments.model_validate(arguments), context)

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return await self.execute(self.Arguments.model_validate(arguments), context)

    def risk_of(self, arguments: P) -> Risk:
        return Risk(self.risk_level or ("edit" if self.mutates else "read"))

    async def preview_of(self, arguments: P, context: ToolContext) -> View | ToolOutput | None:
        return None

    async def execute(self, arguments: P, context: ToolContext) -> ToolOutput:
        raise NotImplementedError


@cache
def _schema(arguments: type[Parameters]) -> JsonObject:
    return shown_schema(arguments.model_json_schema())
