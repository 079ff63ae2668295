from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.api_documents import body_schema, document, load, post
from fakes.contexts import tool_context
from fakes.workplace import Workplace

from harness.function_tools.schema import Checker
from harness.ports.tool import Tool
from tools.openapi import Credentials, LoadedApi, OpenApi, OpenApiTools
from tools.openapi.client import Reply
from tools.openapi.documents import parse_document
from tools.openapi.request import outgoing
from tools.openapi.result import layout, output_of
from tools.openapi.security import Redactor
from tools.openapi.tool import OperationTool
from tools.yaml_reader import parse_yaml


async def test_nullable_and_exclusive_bounds_of_3_0() -> None:
    schema = {"type": "integer", "nullable": True, "minimum": 0, "exclusiveMinimum": True, "enum": [1, 2]}

    assert await body_schema(schema, "3.0.3") == {
        "type": ["integer", "null"],
        "exclusiveMinimum": 0,
        "enum": [1, 2, None],
    }


async def test_nullable_reference_of_3_0() -> None:
    schema = {"type": "object", "properties": {"a": {"allOf": [{"$ref": "#/components/schemas/A"}], "nullable": True}}}

    written = await body_schema(schema, "3.0.3", A={"type": "string"})

    assert written["properties"]["a"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}


async def test_all_of_is_merged_and_cycles_become_definitions() -> None:
    base = {"type": "object", "properties": {"id": {"type": "integer", "readOnly": True}}, "required": ["id", "name"]}
    node = {
        "allOf": [
            {"$ref": "#/components/schemas/Base"},
            {"properties": {"name": {"type": "string"}, "next": {"$ref": "#/components/schemas/Node"}}},
        ]
    }

    written = await body_schema({"$ref": "#/components/schemas/Node"}, Base=base, Node=node)

    assert written["$ref"] == "#/$defs/Node"
    assert written["$defs"]["Node"] == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}},
        "required": ["name"],
    }


async def test_discriminator_names_its_values() -> None:
    schema = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind", "mapping": {"dog": "Dog"}},
    }

    written = await body_schema(schema, Cat={"properties": {"lives": {"type": "integer"}}}, Dog={"type": "object"})

    checker = Checker("test", {"type": "object", "properties": {"body": written}})
    assert not checker.problems({"body": {"kind": "dog"}})
    assert not checker.problems({"body": {"kind": "Cat", "lives": 9}})
    assert checker.problems({"body": {"kind": "Dog"}})


async def test_pattern_is_described_and_not_matched() -> None:
    assert await body_schema({"type": "string", "pattern": "(a+)+$"}) == {
        "type": "string",
        "description": "Pattern: (a+)+$",
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "file"},
        {"type": 5, "required": True, "properties": {"a": None}, "items": [{}]},
        {"$ref": "#/nowhere"},
        {"$ref": "https://elsewhere.example/schema.json"},
        {"enum": [], "minimum": "1", "maxLength": -1, "multipleOf": 0},
        {"$defs": {"a": 1}, "$dynamicRef": "#x", "patternProperties": {"(": {}}},
        {"const": {"$ref": "#/$defs/x"}, "default": {"$ref": "#/$defs/x"}},
        True,
        "text",
    ],
)
async def test_schema_that_is_none_allows_values(schema: object) -> None:
    written = await body_schema(schema)

    assert not Checker("test", {"type": "object", "properties": {"body": written}}).problems(
        {"body": {"$ref": "#/$defs/x"}}
    )


async def test_long_schema_loses_detail() -> None:
    wide = {f"p{each}": {"type": "string", "description": "d" * 300} for each in range(300)}

    written = await body_schema({"type": "object", "properties": wide})

    assert len(json.dumps(written)) < 12_000
    assert len(written["properties"]) == 300


async def test_unsupported_operations_are_named_with_the_reason() -> None:
    paths = {
        "/trace": {"trace": {}},
        "/mixed": {"post": {"operationId": "m", "requestBody": {"content": {"multipart/mixed": {}}}}},
        "/style": {"get": {"parameters": [{"name": "q", "in": "query", "style": "matrix"}]}},
        "/place": {"get": {"parameters": [{"name": "q", "in": "body"}]}},
        "/ref": {"get": {"parameters": [{"$ref": "#/components/parameters/none"}]}},
        "/circle": {"$ref": "#/paths/~1circle"},
        "/server": {"get": {"servers": [{"url": "ftp://example.org"}]}},
        "/variable": {"get": {"servers": [{"url": "https://{host}"}]}},
        "/good/{id}": {"get": {}},
    }

    loaded = await load(document(paths))

    assert [tool.name for tool in loaded.tools] == ["openapi__api__get_good_id"]
    assert [str(each) for each in loaded.skipped] == [
        "TRACE /trace: TRACE is not supported: its response repeats the credentials of the request",
        "POST /mixed (m): the media type of its body is not supported: multipart/mixed",
        "GET /style: the parameter 'q' has the style 'matrix', which is not for query",
        "GET /place: a parameter has the unknown place 'body'",
        "GET /ref: #/components/parameters/none names something that does not exist",
        "/circle: the reference #/paths/~1circle leads in a circle",
        "GET /server: its server 'ftp://example.org' is not an http or https URL; set `server` in the configuration of "
        "the API",
        "GET /variable: the variable 'host' of its server has no value; set it in `variables`",
    ]


async def test_names_do_not_depend_on_the_order_of_operations() -> None:
    operations = {"/a": {"get": {"operationId": "do/it"}}, "/b": {"get": {"operationId": "do.it"}}, "/c": {"get": {}}}

    first = await load(document(operations))
    second = await load(document(dict(reversed(operations.items()))))

    def by_path(loaded: LoadedApi) -> dict[str, str]:
        return {tool.operation.path: tool.name for tool in loaded.tools if isinstance(tool, OperationTool)}

    assert by_path(first) == by_path(second)
    assert len(set(by_path(first).values())) == 3
    assert by_path(first)["/c"] == "openapi__api__get_c"


async def test_servers_of_paths_and_operations_variables_and_override() -> None:
    variable = {"url": "https://{region}.example.org/{base}", "variables": {"base": {"default": "v2"}}}
    paths = {
        "/a": {"get": {}, "post": {"servers": [variable]}, "servers": [{"url": "https://path.example.org/"}]},
        "/b": {"get": {}},
    }

    async def urls(**options: Any) -> list[Any]:
        loaded = await load(document(paths), **options)
        return [tool._base for tool in loaded.tools if isinstance(tool, OperationTool)]

    assert await urls(variables={"region": "eu"}) == [
        "https://path.example.org",
        "https://eu.example.org/v2",
        "https://api.example.org/v1",
    ]
    assert set(await urls(server="http://localhost:8000/api/")) == {"http://localhost:8000/api"}


async def test_yaml_document_in_several_files(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas/item.yaml").write_text("type: object\nproperties: {on: {type: string, enum: [no, yes]}}")
    (tmp_path / "api.yaml").write_text(
        "openapi: 3.0.3\nservers: [{url: https://api.example.org}]\npaths:\n  /x:\n    post:\n      requestBody:\n"
        "        content: {application/json: {schema: {$ref: 'schemas/item.yaml'}}}\n      responses: {200: {}}\n"
    )

    apis = OpenApiTools(OpenApi("api", document=str(tmp_path / "api.yaml")))
    (tool,) = await apis.load()

    assert tool.parameters["properties"] == {
        "body": {"type": "object", "properties": {"on": {"type": "string", "enum": ["no", "yes"]}}}
    }


def test_yaml_values_are_those_of_the_core_schema() -> None:
    text = "k: no\nt: 12:30\nd: 2020-01-01\n200: x\no: 0o17\nf: 1e3\nq: '5'\nm: &m {x: 1, y: 2}\nn: {<<: *m, y: 3}\nz:"

    assert parse_yaml(text) == {
        "k": "no", "t": "12:30", "d": "2020-01-01", "200": "x", "o": 15, "f": 1000.0, "q": "5",
        "m": {"x": 1, "y": 2}, "n": {"y": 3, "x": 1}, "z": None,
    }  # fmt: skip


def test_secrets_do_not_appear_in_the_repr() -> None:
    api = OpenApi(
        "api",
        credentials=Credentials(bearer="hidden1", password="hidden2", api_key="hidden3", schemes={"a": "hidden4"}),
        headers={"X-Key": "hidden5"},
    )

    assert "hidden" not in repr(api)


async def test_few_tools_are_declared_and_many_are_searched() -> None:
    few = await load(document({f"/{n}": {"get": {}} for n in range(5)}))
    many = await load(document({f"/{n}": {"get": {}} for n in range(6)}))

    def deferred(tools: tuple[Tool, ...]) -> set[bool]:
        return {getattr(tool, "deferred", False) for tool in tools}

    assert deferred(few.tools) == {False}
    assert deferred(many.tools) == {True}


async def test_arguments_as_models_send_them(tmp_path: Path) -> None:
    parameters = [
        {"name": "since", "in": "query", "schema": {"type": "string"}},
        {"name": "version", "in": "query", "required": True, "schema": {"type": "string", "default": "v1"}},
        {"name": "filter[name]", "in": "query", "schema": {"type": "string"}},
    ]
    loaded = await load(document(post({"type": "object"}, parameters=parameters)))
    (tool,) = loaded.tools

    valid = tool.validate({"body": '{"a": 1}', "since": None, "filter_name": "x"})

    assert valid == {"body": {"a": 1}, "version": "v1", "filter_name": "x"}
    assert "required" in tool.parameters
    assert tool.parameters["required"] == ["body"]
    view = await Workplace(tmp_path).foresee(tool, **valid)
    assert "?version=v1&filter%5Bname%5D=x" in view.text  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]


async def test_paths_with_a_query_or_a_fragment(tmp_path: Path) -> None:
    parameters = [{"name": "a", "in": "query", "schema": {"type": "string"}}]
    loaded = await load(
        document({path: {"get": {"parameters": parameters}} for path in ("/x?b=1", "/x#one", "/x#two")})
    )

    views: list[Any] = [await Workplace(tmp_path).foresee(tool, a="1") for tool in loaded.tools]

    base = "GET https://api.example.org/v1/x"
    assert [view.text for view in views] == [f"{base}?b=1&a=1", f"{base}?a=1", f"{base}?a=1"]


def test_json_with_a_byte_order_mark_and_yaml_that_looks_like_json() -> None:
    assert parse_document(b'\xef\xbb\xbf{"a": 1}', "x") == {"a": 1}
    assert parse_document(b"{a: 1, b: [x,],}", "x") == {"a": 1, "b": ["x"]}


async def test_reserved_characters_of_a_path_parameter_are_encoded() -> None:
    place = {"name": "id", "in": "path", "required": True, "allowReserved": True, "schema": {"type": "string"}}
    loaded = await load(document({"/x/{id}": {"get": {"parameters": [place]}}}))
    tool: Any = loaded.tools[0]

    sent = outgoing(tool.operation, "https://h", {"id": "7/refunds?admin=1"})

    assert sent.url == "https://h/x/7%2Frefunds%3Fadmin%3D1"


async def test_infinite_numbers_do_not_reach_a_schema() -> None:
    schema = "{type: number, default: 1e999, maximum: 1e999, enum: [1e999, 2]}"
    text = f"""
        openapi: 3.1.0
        servers: [{{url: "https://h"}}]
        paths: {{/x: {{get: {{parameters: [{{name: n, in: query, schema: {schema}}}]}}}}}}
    """
    loaded = await load(text)

    json.dumps(loaded.tools[0].parameters, allow_nan=False)


@pytest.mark.parametrize("charset", ["idna", "undefined", "punycode", "unicode_escape", "rot13", "no-such"])
async def test_charset_that_is_not_an_encoding_of_text_is_read_as_utf8(tmp_path: Path, charset: str) -> None:
    reply = Reply(200, "OK", {"content-type": f"text/plain; charset={charset}"}, "a\\u0041-ä".encode())

    output = await output_of("POST /x", reply, tool_context(tmp_path), Redactor(OpenApi("api")))

    assert "a\\u0041-ä" in "".join(getattr(block, "text", "") for block in output.content)


def test_layout_of_deeply_nested_json_stays_small() -> None:
    nested = "[" * 300 + "1.10, " * 20_000 + "2" + "]" * 300
    text = json.dumps({"a": {"b": ["x" * 100, "y" * 100]}})

    assert len(layout(nested)) < 3 * len(nested)
    assert "1.10, 1.10" in layout(nested)
    assert layout(text).count("\n") > 2
