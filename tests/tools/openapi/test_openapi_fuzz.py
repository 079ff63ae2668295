"""Documents with arbitrary mistakes: loaded or explained, never an exception of another kind."""

from __future__ import annotations

import asyncio
import copy
import json
from contextlib import suppress
from typing import Any

import jsonschema
from fakes.api_service import create_app
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import ConfigError, InvalidArguments
from tools.openapi import Credentials, OpenApi, OpenApiTools

VALID: dict[str, Any] = create_app().openapi() | {
    "servers": [{"url": "https://{a}.example.org", "variables": {"a": {}}}]
}
WRONG: list[Any] = [
    None, True, 0, -1.5, "", "x", "$ref", [], {}, [None], [{}], {"$ref": "#"}, {"$ref": "#/paths"}, {"$ref": 5},
    {"$ref": "#/components/schemas/Item"}, {"a": []}, "\x1b[31m", "multipart/mixed", "../..", {"type": {}}, ["null"],
    "http://[bad", {"$ref": "http://["}, {"$ref": f"#/tags/{'9' * 5000}"}, {"$ref": "a%00b.yaml"}, "http://a:b",
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


PLACES = [place for place in places(VALID) if place]


@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(WRONG)), min_size=1, max_size=4))
@settings(max_examples=25)
def test_document_with_mistakes_is_loaded_or_explained(mistakes: list[tuple[tuple[Any, ...], Any]]) -> None:
    document = copy.deepcopy(VALID)
    for place, wrong in mistakes:
        with suppress(KeyError, IndexError, TypeError):
            parent = document
            for key in place[:-1]:
                parent = parent[key]
            parent[place[-1]] = copy.deepcopy(wrong)
    credentials = Credentials("token", "user", "password", "key")
    apis = OpenApiTools(OpenApi("api", text=json.dumps(document), variables={"a": "b"}, credentials=credentials))

    with suppress(ConfigError):
        for tool in asyncio.run(apis.load()):
            schema: Any = tool.parameters
            jsonschema.Draft202012Validator.check_schema(schema)
            with suppress(InvalidArguments):
                arguments = tool.validate(dict.fromkeys(schema["properties"], "x"))
                assert tool.risk(arguments)
            assert isinstance(tool.description, str)
            assert tool.name.isascii()
