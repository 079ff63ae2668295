from __future__ import annotations

from pathlib import Path

import pytest
from fakes.own_tools import output

from harness.errors import InvalidArguments
from harness.function_tools.function_tool import SchemaTool
from harness.messages import JsonObject
from harness.ports.tool import ToolContext

WEATHER: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}},
    "required": ["city"],
}


def foreign(schema: JsonObject = WEATHER, **about) -> SchemaTool:
    async def work(arguments: JsonObject, context: ToolContext) -> object:
        return {"asked": arguments, "by": context.call_id}

    return SchemaTool("get_weather", "Tells the weather.", schema, work, **about)


async def test_external_tool_receives_arguments_matching_its_schema(tmp_path: Path):
    answer = await output(foreign(), tmp_path, city="Ulm")

    assert answer.details == {"asked": {"city": "Ulm", "days": 1}, "by": "call/1"}
    with pytest.raises(InvalidArguments, match=r"city: must be string, not integer 1"):
        foreign().validate({"city": 1})


def test_external_tool_requires_approval_by_default():
    assert (foreign().risk({}).level, foreign().mutates, foreign().label) == ("execute", True, "Get weather")
    trusted = foreign(risk="read", label="Weather", cacheable=True)
    assert (trusted.risk({}).level, trusted.mutates, trusted.label) == ("read", False, "Weather")
    assert trusted.risk({}).cacheable
