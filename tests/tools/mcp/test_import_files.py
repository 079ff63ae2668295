from __future__ import annotations

import json
import time

import pytest

from tools.mcp.import_files import (
    ImportInput,
    describe_servers,
    inputs_of,
    parse_json_server,
    parse_servers,
    with_inputs,
)
from tools.mcp.server_config import McpAuth, McpServer


def parsed(**servers: object) -> list[McpServer]:
    found = parse_servers(json.dumps({"mcpServers": servers}), "")
    assert found.problems == ()
    return list(found.servers)


def problems_of(entry: object) -> tuple[str, ...]:
    return parse_servers(json.dumps({"mcpServers": {"a": entry}}), ".mcp.json").problems


def test_servers_of_claude_code_are_read() -> None:
    local, remote = parsed(
        github={"command": "npx", "args": ["-y", "@mcp/github"], "env": {"TOKEN": "${TOKEN:-none}", "PORT": 3}},
        linear={
            "type": "http",
            "url": "https://mcp.example/",
            "headers": {"Authorization": "Bearer ${KEY}"},
            "oauth": {"clientId": "cinch", "callbackPort": 8123},
        },
    )

    assert local == McpServer(
        "github", "npx", ("-y", "@mcp/github"), {"TOKEN": "${TOKEN:-none}", "PORT": "3"}, transport="stdio"
    )
    assert remote == McpServer(
        "linear",
        url="https://mcp.example/",
        transport="http",
        headers={"Authorization": "Bearer ${KEY}"},
        auth=McpAuth(client_id="cinch", redirect_port=8123),
    )


def test_a_file_of_vs_code_is_read_with_comments_trailing_commas_and_inputs() -> None:
    text = """\ufeff{
      // "servers": {"none": {"command": "no"}},
      "inputs": [{"id": "api-key", "type": "promptString", "description": "Key, please", "password": true},],
      "servers": {
        /* the only one, } */
        "docs": {
          "type": "stdio",
          "command": "${workspaceFolder}/serve",
          "args": ["--url", "http://localhost//x", "--home=${userHome}", "a,}",],
          "env": {"KEY": "${input:api-key}", "USER_NAME": "${env:USER}",},
        },
      },
    }"""

    found = parse_servers(text, ".vscode/mcp.json")

    (server,) = found.servers
    assert found.problems == ()
    assert server.command == "./serve"
    assert server.args == ("--url", "http://localhost//x", "--home=${HOME}", "a,}")
    assert server.env == {"KEY": "${input:api-key}", "USER_NAME": "${USER}"}
    assert found.inputs == (ImportInput("api-key", "Key, please", is_secret=True),)
    assert found.inputs[0].variable == "API_KEY"
    assert inputs_of(server) == ["api-key"]
    assert with_inputs(server, {"api-key": "s3"}).env["KEY"] == "s3"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"type": "streamable-http", "url": "https://x"}, ("http", "https://x")),
        ({"type": "streamableHttp", "url": "https://x"}, ("http", "https://x")),
        ({"type": "sse", "url": "https://x"}, ("sse", "https://x")),
        ({"transport": "sse", "serverUrl": "https://x"}, ("sse", "https://x")),
        ({"httpUrl": "https://x"}, ("http", "https://x")),
        ({"type": "remote", "url": "https://x"}, ("http", "https://x")),
        ({"type": "local", "command": ["npx", "a"]}, ("stdio", "")),
    ],
)
def test_spellings_of_other_programs_are_accepted(entry: object, expected: tuple[str, str]) -> None:
    (server,) = parsed(a=entry)

    assert (server.transport, server.url) == expected


def test_a_list_as_command_is_a_command_with_arguments() -> None:
    (server,) = parse_servers('{"mcp": {"a": {"command": ["npx", "-y"], "environment": {"A": "b"}}}}', "").servers

    assert (server.command, server.args, server.env) == ("npx", ("-y",), {"A": "b"})


def test_a_disabled_server_stays_configured() -> None:
    assert [server.enabled for server in parsed(a={"command": "x", "disabled": True}, b={"command": "x"})] == [
        False,
        True,
    ]


@pytest.mark.parametrize(("given", "seconds"), [(30_000, 30.0), (30, 30.0), (-1, 60.0), (True, 60.0)])
def test_a_timeout_in_milliseconds_is_recognized(given: object, seconds: float) -> None:
    assert parsed(a={"command": "x", "timeout": given})[0].timeout == seconds


def test_approvals_are_reported_with_the_rule_that_grants_them() -> None:
    assert problems_of({"command": "x", "alwaysAllow": ["read", "list"], "colour": "red", "description": "."}) == (
        ".mcp.json: MCP server a: alwaysAllow is not taken over; to allow these calls without asking: "
        'permissions.allow = ["mcp__a__read", "mcp__a__list"]',
        ".mcp.json: MCP server a: not used: colour",
    )


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({}, "neither a command nor a url"),
        ("npx", "not an object"),
        ({"type": "ws", "url": "wss://x"}, "'ws' is not supported"),
        ({"command": 3}, "command must be a text"),
        ({"command": []}, "command"),
        ({"command": "x", "args": "y"}, "args must be a list"),
        ({"command": "x", "env": {"A": {}}}, "env must be an object"),
    ],
)
def test_an_unusable_server_is_reported_and_the_others_are_used(entry: object, reason: str) -> None:
    text = json.dumps({"mcpServers": {"bad": entry, "good": {"command": "x"}}})

    found = parse_servers(text, ".mcp.json")

    assert [server.name for server in found.servers] == ["good"]
    (problem,) = found.problems
    assert problem.startswith(".mcp.json: MCP server bad is not used: ")
    assert reason in problem


def test_a_name_with_control_characters_is_rejected_and_shown_harmlessly() -> None:
    found = parse_servers(json.dumps({"mcpServers": {"a\x1b[2J": {"command": "x"}}}), "f")

    assert found.servers == ()
    assert "\x1b" not in found.problems[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "not valid JSON"), ("[]", "no MCP servers"), ('{"mcpServers": 3}', "no MCP servers"), ("[" * 10**5, "deep")],
)
def test_a_broken_file_is_one_problem(text: str, reason: str) -> None:
    found = parse_servers(text, "f")

    assert found.servers == ()
    assert reason in found.problems[0]


@pytest.mark.parametrize("text", ["/*" * 10**5, '"\\' + '\\"' * 10**5, ",/*" * 10**5, ", " * 10**5])
def test_a_hostile_file_takes_linear_time(text: str) -> None:
    start = time.perf_counter()

    parse_servers(text, "f")

    assert time.perf_counter() - start < 1


def test_one_json_object_describes_a_server() -> None:
    server, notes = parse_json_server("a", '{"type": "http", "url": "https://x", "more": 1}')

    assert server.url == "https://x"
    assert notes == ["not used: more"]
    with pytest.raises(ValueError, match="neither a command"):
        parse_json_server("a", "{}")


def test_the_description_shows_commands_and_addresses() -> None:
    long = McpServer("b", "sh", ("-c", "x" * 1000))

    text = describe_servers([McpServer("a", url="https://x"), long])

    assert text.startswith("connects a to https://x; starts b: sh -c xxx")
    assert text.endswith("… (+706 characters)")
