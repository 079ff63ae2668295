"""Approval of calls to APIs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from harness.approval.explanation import CallSettings, explain
from harness.approval.modes import EXECUTE, PLAN, Mode
from harness.approval.policy import Permissions
from harness.approval.rules import parse_rule
from harness.approval.store import RuleStore
from harness.messages import JsonObject, ToolCall
from harness.permissions import Decision, Effect
from harness.workspace.workspace import Workspace
from tools.openapi import OpenApi, OpenApiTools

UPLOAD = {
    "content": {"multipart/form-data": {"schema": {"properties": {"file": {"type": "string", "format": "binary"}}}}}
}
DOCUMENT = {
    "openapi": "3.0.3",
    "servers": [{"url": "https://shop.example.com"}],
    "paths": {
        "/orders/{id}": {"get": {"operationId": "read_order"}, "delete": {"operationId": "delete_order"}},
        "/files": {"post": {"operationId": "upload", "requestBody": UPLOAD}},
    },
}


def decide(
    folder: Path, name: str, arguments: JsonObject, *rules: tuple[Effect, str], agent_mode: Mode = EXECUTE
) -> Decision:
    tools = asyncio.run(OpenApiTools(OpenApi("shop", text=json.dumps(DOCUMENT))).load())
    store = RuleStore(rules=[parse_rule(text, effect) for effect, text in rules])
    settings = CallSettings(Permissions(agent_mode, "smart", store), Workspace(folder), tools)
    return explain(settings, ToolCall("1", f"openapi__shop__{name}", arguments))


def test_get_counts_as_reading_and_the_rest_asks(tmp_path: Path) -> None:
    assert decide(tmp_path, "read_order", {"id": "7"}).kind == "allow"
    assert decide(tmp_path, "read_order", {"id": "7"}, agent_mode=PLAN).kind == "allow"
    assert decide(tmp_path, "delete_order", {"id": "7"}).kind == "ask"
    assert decide(tmp_path, "delete_order", {"id": "7"}, agent_mode=PLAN).kind == "deny"


@pytest.mark.parametrize(
    ("rules", "kind"),
    [
        ([("allow", "openapi__shop__delete_order")], "allow"),
        ([("allow", "openapi__shop__*")], "allow"),
        ([("allow", "openapi__shop")], "allow"),
        ([("allow", "openapi__sho")], "ask"),
        ([("allow", "openapi__shop__*(DELETE /orders/*)")], "allow"),
        ([("allow", "openapi__shop__*(DELETE /files/*)")], "ask"),
        ([("allow", "openapi__other__*")], "ask"),
        ([("allow", "openapi__*"), ("deny", "openapi__*(DELETE *)")], "deny"),
        ([("allow", "openapi__*"), ("ask", "openapi__shop__delete_*")], "ask"),
    ],
)
def test_rules_name_apis_operations_and_requests(tmp_path: Path, rules: list[tuple[Effect, str]], kind: Effect) -> None:
    assert decide(tmp_path, "delete_order", {"id": "7"}, *rules).kind == kind


def test_uploaded_secret_needs_approval_although_the_call_is_allowed(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "a.txt").write_text("a")
    rule: tuple[Effect, str] = ("allow", "openapi__shop__upload")

    assert decide(tmp_path, "upload", {"body": {"file": "a.txt"}}, rule).kind == "allow"
    secret = decide(tmp_path, "upload", {"body": {"file": ".env"}}, rule)
    outside = decide(tmp_path, "upload", {"body": {"file": "/etc/hosts"}}, rule)

    assert (secret.kind, secret.why) == ("ask", "it reads a secret: .env")
    assert (outside.kind, outside.why) == ("ask", "it reads outside the workspace: /etc/hosts")
