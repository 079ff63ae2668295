"""Hostile documents: endless, huge, malformed, or pointing elsewhere."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fakes.api_documents import body_schema, document, load, post
from fakes.web_site import WebSite
from fakes.workplace import Workplace

from harness.errors import ConfigError
from tools.openapi import Credentials, OpenApi, OpenApiTools
from tools.openapi.documents import Node
from tools.openapi.guard import AddressGuard
from tools.openapi.operations import Unsupported
from tools.openapi.servers import base_url
from tools.yaml_reader import YamlError, parse_yaml


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
        (
            "a: " + "[" * 100_000,
            "nested deeper than 200 levels|maximum nesting depth",
        ),  # from 6.0.4 on, PyYAML has a limit
        ("a: " + "[" * 300, "nested deeper than 200 levels"),
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


PUBLIC = "https://docs.example.org/api.json"


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254", "localhost", "10.0.0.1", "[::1]", "intranet", "127.1", "0x7f.1", "169.254.43518",
        "localhost.", "router.lan", "x.home.arpa", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "224.0.0.1",
    ],
)  # fmt: skip
async def test_private_server_of_a_public_document_is_refused(host: str) -> None:
    servers = Node([{"url": f"http://{host}/latest"}], PUBLIC)

    with pytest.raises(Unsupported, match="private network"):
        base_url(OpenApi("api"), servers, PUBLIC, AddressGuard(is_active=True))


async def test_server_of_a_document_may_be_relative_or_missing() -> None:
    guard = AddressGuard(is_active=True)

    assert base_url(OpenApi("api"), Node([{"url": "/v1/"}], PUBLIC), PUBLIC, guard) == "https://docs.example.org/v1"
    assert base_url(OpenApi("api"), Node(None, PUBLIC), PUBLIC, guard) == "https://docs.example.org"


@pytest.mark.parametrize(
    ("source", "server"),
    [
        (PUBLIC, "https://elsewhere.example.org"),
        (PUBLIC, "http://docs.example.org"),
        (PUBLIC, "https://docs.example.org:8443"),
        ("http://docs.example.org/api.json", "http://docs.example.org"),
        ("file:///api.json", "https://docs.example.org"),
    ],
)
async def test_document_does_not_choose_who_receives_secrets(source: str, server: str) -> None:
    servers, guard = Node([{"url": server}], source), AddressGuard(is_active=True)

    for api in (OpenApi("a", credentials=Credentials(bearer="token")), OpenApi("a", headers={"X-Key": "token"})):
        with pytest.raises(Unsupported, match="would receive the secrets"):
            base_url(api, servers, source, guard)
    assert base_url(OpenApi("a"), servers, source, guard) == server


@pytest.mark.parametrize(
    ("server", "allow_http", "is_offered"),
    [
        ("http://api.example.org", False, False),
        ("http://api.example.org", True, True),
        ("http://localhost:80", False, True),
        ("https://api.example.org", False, True),
    ],
)
async def test_server_receives_secrets_encrypted_or_by_permission(
    server: str, allow_http: bool, is_offered: bool
) -> None:
    text = document({"/x": {"get": {"operationId": "x"}}})
    credentials = Credentials(bearer="token")
    apis = OpenApiTools(OpenApi("a", text=text, server=server, credentials=credentials, allow_http=allow_http))

    await apis.load()

    assert len(apis.tools) == is_offered
    assert is_offered or "receive the secrets unencrypted; use https, or set `allow_http" in str(apis.skipped)


@pytest.mark.parametrize("secret", ["http://ada:hush-hush@docs.invalid/a.json", "http://docs.invalid/a.json?key=hush"])
async def test_url_of_a_document_with_a_secret_needs_encryption(secret: str) -> None:
    with pytest.raises(ConfigError, match=r"http://docs\.invalid/a\.json: its URL would send a secret unencrypted"):
        await OpenApiTools(OpenApi("a", document=secret)).load()


async def test_name_that_resolves_to_a_private_address_receives_no_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.loads(document({"/x": {"get": {"operationId": "x"}}, "/y": {"get": {"operationId": "y"}}}))
    with WebSite() as site:
        port = urlsplit(site.url).port
        text["servers"] = [{"url": f"http://docs.example.org:{port}"}]
        text["paths"]["/x"]["servers"] = [{"url": f"http://rebound.example.org:{port}"}]
        site.page("/api.json", json.dumps(text), "application/json")
        site.page("/y", "fine", "text/plain")
        addresses = {"docs.example.org": "127.0.0.1", "rebound.example.org": "127.0.0.2"}
        real = socket.getaddrinfo

        def resolved(host: str, *rest: Any, **options: Any) -> Any:
            return real(addresses.get(host, host), *rest, **options)

        def is_first(address: object) -> bool:
            return str(address) == "127.0.0.1"

        monkeypatch.setattr(socket, "getaddrinfo", resolved)
        monkeypatch.setattr("tools.web.addresses.is_public", is_first)
        apis = OpenApiTools(OpenApi("api", document=f"http://docs.example.org:{port}/api.json"))
        x, y = await apis.load()

        refused = await Workplace(tmp_path).call(x)
        answered = await Workplace(tmp_path).call(y)
        await apis.close()

    assert "rebound.example.org is in a private network, and the document is not; set `server`" in refused.text
    assert "fine" in answered.text


@pytest.mark.parametrize(
    "changes",
    [
        {"components": {"schemas": {"S": {"$ref": "http://["}}}},
        {"components": {"schemas": {"S": {"$ref": f"#/tags/{'9' * 5000}"}}}, "tags": []},
        {"components": {"schemas": {"S": {"$ref": "a%00b.yaml"}}}},
        {"servers": [{"url": "http://[bad"}]},
        {"servers": [{"url": "http://example.org:port"}]},
    ],
    ids=["reference", "index", "path", "server", "port"],
)
async def test_malformed_url_does_not_affect_other_apis(tmp_path: Path, changes: dict[str, Any]) -> None:
    good = document({"/x": {"get": {"operationId": "x"}}})
    hostile = json.loads(document(post({"$ref": "#/components/schemas/S"}))) | changes
    (tmp_path / "api.json").write_text(json.dumps(hostile))
    apis = OpenApiTools(OpenApi("bad", document=str(tmp_path / "api.json")), OpenApi("good", text=good))

    tools = await apis.load_available()
    for tool in tools:
        assert tool.parameters

    assert "openapi__good__x" in [tool.name for tool in tools]
    assert not any("cannot be loaded" in problem for problem in apis.loaded[0].problems)


async def test_unexpected_error_of_one_api_is_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(value: object, shown: str) -> None:
        raise ValueError("unexpected")

    monkeypatch.setattr("tools.openapi.documents.check_version", fail)
    apis = OpenApiTools(OpenApi("bad", text=document({})))

    assert await apis.load_available() == ()
    assert apis.loaded[0].problems == ("cannot be loaded: ValueError: unexpected",)
