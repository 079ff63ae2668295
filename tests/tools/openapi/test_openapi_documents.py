from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fakes.workplace import Workplace

from harness.errors import ConfigError
from harness.function_tools.schema import Checker
from harness.ports.tool import Tool
from tools.openapi import Credentials, LoadedApi, OpenApi, OpenApiTools
from tools.openapi.documents import parse_document
from tools.openapi.tool import OperationTool
from tools.openapi.yaml_reader import YamlError, parse_yaml


def document(paths: dict[str, Any], version: str = "3.1.0", **others: Any) -> str:
    servers = [{"url": "https://api.example.org/v1"}]
    return json.dumps({"openapi": version, "info": {"title": "T"}, "servers": servers, "paths": paths} | others)


def post(schema: object, media_type: str = "application/json", **others: Any) -> dict[str, Any]:
    body = {"required": True, "content": {media_type: {"schema": schema}}}
    return {"/x": {"post": {"operationId": "send", "requestBody": body, **others}}}


async def load(text: str = "", **options: Any) -> LoadedApi:
    apis = OpenApiTools(OpenApi("api", text=text, **options))
    await apis.load()
    return apis.loaded[0]


async def body_schema(schema: object, version: str = "3.1.0", **schemas: Any) -> dict[str, Any]:
    loaded = await load(document(post(schema), version, components={"schemas": schemas}))
    parameters: Any = loaded.tools[0].parameters
    jsonschema.Draft202012Validator.check_schema(parameters)
    return parameters["properties"]["body"] | ({"$defs": parameters["$defs"]} if "$defs" in parameters else {})


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


async def test_references_do_not_leave_the_folder_or_the_origin(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "secret.json").write_text('{"type": "string", "description": "secret"}')
    (tmp_path / "api/link.json").symlink_to(tmp_path / "secret.json")
    references = ["file:///etc/passwd", "../secret.json", "link.json", "https://elsewhere.example/x.json"]
    schema = {"type": "object", "properties": {f"p{i}": {"$ref": each} for i, each in enumerate(references)}}
    (tmp_path / "api/api.json").write_text(document(post(schema)))

    apis = OpenApiTools(OpenApi("api", document=str(tmp_path / "api/api.json")))
    (tool,) = await apis.load()

    assert "secret" not in json.dumps(tool.parameters)
    problems = "\n".join(apis.loaded[0].problems)
    assert problems.count("it is outside the folder of the document") == 3
    assert "https://elsewhere.example/x.json is not loaded: it has another origin than the document" in problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"swagger": "2.0"}', "Swagger 2.0 is not supported; convert it to OpenAPI 3 with `npx swagger2openapi`"),
        ('{"openapi": "4.0.0"}', "OpenAPI 4.0.0 is not supported; versions 3.0 and 3.1 are"),
        ("- a\n", "this is not an OpenAPI document"),
        ('{"openapi": ', "is not valid JSON"),
        ("a: [b", "is not valid YAML: line "),
        ("a: &a [*a]", "undefined or recursive alias"),
        ("[" * 100_000, "is not valid JSON|nested"),
        ("a: " + "[" * 100_000, "nested deeper than 200 levels"),
        ("{" * 5000, "is not valid JSON"),
    ],
    ids=lambda each: each[:20],
)
async def test_document_that_is_none_is_explained(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        await load(text)

    assert any(part in str(raised.value) for part in problem.split("|"))


async def test_missing_file_and_unusable_name() -> None:
    with pytest.raises(ConfigError, match=r"no-such-file\.json: there is no such file"):
        await OpenApiTools(OpenApi("api", document="no-such-file.json")).load()
    with pytest.raises(ConfigError, match="invalid name 'a b' of an API"):
        await OpenApiTools(OpenApi("a b", text=document({}))).load()


async def test_yaml_bomb_is_refused_at_once() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    started = time.monotonic()

    with pytest.raises(YamlError, match="with aliases expanded"):
        parse_yaml("\n".join(levels))

    assert time.monotonic() - started < 1


def test_yaml_values_are_those_of_the_core_schema() -> None:
    text = "k: no\nt: 12:30\nd: 2020-01-01\n200: x\no: 0o17\nf: 1e3\nq: '5'\nm: &m {x: 1, y: 2}\nn: {<<: *m, y: 3}\nz:"

    assert parse_yaml(text) == {
        "k": "no", "t": "12:30", "d": "2020-01-01", "200": "x", "o": 15, "f": 1000.0, "q": "5",
        "m": {"x": 1, "y": 2}, "n": {"y": 3, "x": 1}, "z": None,
    }  # fmt: skip


async def test_hostile_schemas_end() -> None:
    schemas: dict[str, Any] = {f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * 10} for n in range(30)}
    schemas["S30"] = {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/S0"}}}
    chain = {f"C{n}": {"properties": {"next": {"$ref": f"#/components/schemas/C{n + 1}"}}} for n in range(3000)}
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"type": "object", "properties": {"x": deep}}
    started = time.monotonic()

    for schema in ({"$ref": "#/components/schemas/S0"}, {"$ref": "#/components/schemas/C0"}, deep):
        await body_schema(schema, **schemas, **chain)

    assert time.monotonic() - started < 5


async def test_loading_a_large_document_does_not_block_the_event_loop() -> None:
    operation = {"summary": "s" * 100, "responses": {str(n): {"description": "d" * 50} for n in range(100, 130)}}
    text = document({f"/p{n}/{{id}}": {"get": operation} for n in range(4000)})
    assert len(text) > 8_000_000
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            longest = max(longest, time.monotonic() - before)

    watching = asyncio.create_task(watch())
    loaded = await load(text)
    watching.cancel()

    assert len(loaded.tools) == 4000
    assert longest < 0.5


async def test_document_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.openapi.documents.MAX_BYTES", 1000)
    (tmp_path / "api.json").write_text(" " * 2000)

    with pytest.raises(ConfigError, match="larger than"):
        await OpenApiTools(OpenApi("api", document=str(tmp_path / "api.json"))).load()


async def test_names_and_descriptions_carry_no_control_characters() -> None:
    operation = {"operationId": "a\x1b[31m", "summary": "Red\x1b[31m\x07", "description": "x" * 5000}

    loaded = await load(document({"/x": {"get": operation}}))
    (tool,) = loaded.tools

    assert tool.name.isascii()
    assert tool.name.isprintable()
    assert tool.label.isprintable()
    assert tool.description.isprintable()
    assert len(tool.description) < 1100


async def test_private_server_of_a_public_document_is_refused() -> None:
    from tools.openapi.documents import Node
    from tools.openapi.operations import Unsupported
    from tools.openapi.servers import base_url

    public, api = "https://docs.example.org/api.json", OpenApi("api")

    for host in ("169.254.169.254", "localhost", "10.0.0.1", "[::1]", "intranet"):
        servers = Node([{"url": f"http://{host}/latest"}], public)
        with pytest.raises(Unsupported, match="private network"):
            base_url(api, servers, public)
    assert base_url(api, Node([{"url": "/v1/"}], public), public) == "https://docs.example.org/v1"
    assert base_url(api, Node(None, public), public) == "https://docs.example.org"


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


def test_json_with_a_byte_order_mark_and_yaml_that_looks_like_json() -> None:
    assert parse_document(b'\xef\xbb\xbf{"a": 1}', "x") == {"a": 1}
    assert parse_document(b"{a: 1, b: [x,],}", "x") == {"a": 1, "b": ["x"]}
