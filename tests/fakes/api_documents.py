"""OpenAPI documents of the tests, and their tools."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from tools.openapi import LoadedApi, OpenApi, OpenApiTools


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
