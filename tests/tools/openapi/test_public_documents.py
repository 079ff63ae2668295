"""Documents of public services, which `make` fetches; see documents.txt."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tools.openapi import LoadedApi, OpenApi, OpenApiTools

FOLDER = Path(__file__).parents[3] / ".venv" / "openapi-documents"
NAMES = [
    line.removeprefix("package/api/") for line in Path(__file__).with_name("documents.txt").read_text().splitlines()
]
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
RELATIVE = "its server {} is relative, and the document is a file; set `server` in the configuration of the API"
SKIPPED = {
    "httpbin.org.json": "TRACE is not supported: its response repeats the credentials of the request",
    "docker.com/engine.json": RELATIVE.format("/v1.33"),
    "brainbi.net.json": RELATIVE.format(","),
}
"""Reasons why operations of a document are not offered."""


def path_of(name: str) -> Path:
    path = FOLDER / name
    if not path.exists():
        text = f"{name} is missing: make .venv/.installed-documents"
        (pytest.fail if os.environ.get("REQUIRE_ALL_TESTS") else pytest.skip)(text)
    return path


async def load(path: Path, **options: Any) -> LoadedApi:
    apis = OpenApiTools(OpenApi("api", document=str(path), **options))
    await apis.load()
    return apis.loaded[0]


def references(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        match pending.pop():
            case dict() as node:
                if isinstance(node.get("$ref"), str):
                    yield node["$ref"]
                pending += node.values()
            case list() as items:
                pending += items
            case _:
                pass


@pytest.mark.parametrize("name", NAMES)
async def test_every_operation_is_offered_or_named_with_the_reason(name: str) -> None:
    path = path_of(name)
    document = json.loads(path.read_text())
    operations = [f"{m.upper()} {p}" for p, item in document["paths"].items() for m in item if m in METHODS]

    loaded = await load(path)

    assert len(loaded.tools) + len(loaded.skipped) == len(operations)
    named = {tool.summary({}) for tool in loaded.tools} | {each.operation.split(" (")[0] for each in loaded.skipped}
    assert named == set(operations)
    assert {each.reason for each in loaded.skipped} >= ({SKIPPED[name]} if name in SKIPPED else set())
    assert bool(loaded.skipped) is (name in SKIPPED)
    check_tools(loaded)


def check_tools(loaded: LoadedApi) -> None:
    """Check that names are legal and different, and schemas valid, self-contained and bounded."""
    names = [tool.name for tool in loaded.tools]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", each) for each in names)
    for tool in loaded.tools[:: len(names) // 12 + 1]:
        schema: Any = tool.parameters
        jsonschema.Draft202012Validator.check_schema(schema)
        assert len(json.dumps(schema)) <= 12_000
        assert {each.removeprefix("#/$defs/") for each in references(schema)} <= schema.get("$defs", {}).keys()
        assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", each) for each in schema["properties"])
        assert 0 < len(tool.description) < 1200


async def test_yaml_gives_the_same_tools_as_json(tmp_path: Path) -> None:
    path = path_of("spotify.com.json")
    (tmp_path / "spotify.yaml").write_text(yaml.safe_dump(json.loads(path.read_text())))

    from_json, from_yaml = await load(path), await load(tmp_path / "spotify.yaml")

    assert [(tool.name, tool.description, tool.parameters) for tool in from_yaml.tools] == [
        (tool.name, tool.description, tool.parameters) for tool in from_json.tools
    ]
