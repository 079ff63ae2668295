"""`cinch permissions`, as a script uses it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.fork_server import run_forked
from fakes.model_server import ModelServer, Reply

from cinch_tui.subcommands.permissions import HELP

FIELDS = ["decision", "rule", "source", "risk", "why"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".cinch").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha\n")
    return folder


def call(tool: str, **arguments: object) -> dict[str, object]:
    return {"tool": tool, "arguments": arguments}


def bash(command: str) -> dict[str, object]:
    return call("bash", command=command)


class Ran:
    """A run of `cinch permissions`."""

    def __init__(self, folder: Path, *arguments: str, given: Sequence[object] = (), raw: bytes = b"") -> None:
        text = raw or "".join(f"{json.dumps(each)}\n" for each in given).encode()
        done = run_forked(["permissions", *arguments], cwd=folder, stdin=text)
        self.status, self.text, self.stderr = done.returncode, done.stdout, done.stderr

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def decisions(self) -> list[str]:
        return [each["decision"] for each in self.records]


def configure(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_each_call_is_decided_in_order_and_nothing_is_executed(folder: Path) -> None:
    given = [
        bash("touch made"),
        call("read_file", path="a.txt"),
        call("read_file", path=".env"),
        bash("rm -rf /"),
        call("write_file", path="made", content="x"),
    ]

    ran = Ran(folder, "explain", "--mode", "smart", given=given)

    assert (ran.status, ran.stderr) == (0, "")
    assert ran.decisions == ["ask", "allow", "ask", "deny", "ask"]
    assert [list(each) for each in ran.records] == [FIELDS] * 5
    assert [each["risk"] for each in ran.records] == ["execute", "read", "read", "forbidden", "edit"]
    assert "secret" in ran.records[2]["why"]
    assert not (folder / "made").exists()


@pytest.mark.parametrize(
    ("mode", "decisions"),
    [
        ("on", ["ask", "ask", "ask", "ask", "deny"]),
        ("smart", ["allow", "ask", "ask", "ask", "deny"]),
        ("edits", ["allow", "allow", "ask", "ask", "deny"]),
        ("off", ["allow", "allow", "allow", "allow", "deny"]),
        ("plan", ["allow", "deny", "deny", "deny", "deny"]),
    ],
)
def test_mode_decides(folder: Path, mode: str, decisions: list[str]) -> None:
    given = [
        call("read_file", path="a.txt"),
        call("write_file", path="b.txt", content="x"),
        bash("make"),
        call("write_file", path=".git/config", content="x"),
        bash("rm -rf /"),
    ]

    assert Ran(folder, "explain", "--mode", mode, given=given).decisions == decisions


def test_flags_count_as_they_do_for_cinch(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    given = [bash("make test"), bash("make lint"), bash("cat a.txt"), call("read_file", path="../other/b.txt")]
    flags = ("--allow", "bash(make:*)", "--ask", "bash(cat:*)", "--deny", "bash(make lint)", "--add-dir", "../other")

    ran = Ran(folder, "explain", *flags, given=given)

    assert ran.decisions == ["allow", "deny", "ask", "allow"]
    assert ran.records[0]["source"] == "flag: the command line"
    assert Ran(folder, "explain", given=given).decisions == ["ask", "ask", "allow", "ask"]
    assert "bash(make lint)" in Ran(folder, "list", *flags).text


def test_trust_flag_makes_the_rules_of_the_folder_count(folder: Path) -> None:
    configure(folder / ".cinch" / "config.toml", '[permissions]\nallow = ["bash(make:*)"]\n')

    decisions = [Ran(folder, "explain", *flags, given=[bash("make")]).decisions for flags in ((), ("--trust",))]

    assert decisions == [["ask"], ["allow"]]


def test_rule_and_its_place_are_named(folder: Path, own_home: Path) -> None:
    file = own_home / "cinch" / "config.toml"
    configure(file, '[permissions]\nallow = ["bash(make test:*)"]\ndeny = ["bash(git push:*)"]\n')

    ran = Ran(folder, "explain", given=[bash("make test -k x"), bash("cd . && git push"), bash("make tests")])

    assert ran.decisions == ["allow", "deny", "ask"]
    assert [each["rule"] for each in ran.records] == ["bash(make test:*)", "bash(git push:*)", None]
    assert str(file) in ran.records[0]["source"]
    assert ran.records[0]["source"].startswith("user")


def test_rules_of_an_untrusted_folder_tighten_only(folder: Path) -> None:
    text = '[permissions]\nallow = ["bash(make test:*)"]\ndeny = ["bash(git push:*)"]\n'
    configure(folder / ".cinch" / "config.toml", text)
    given = [bash("make test"), bash("git push")]

    before = Ran(folder, "explain", given=given).decisions
    run_forked(["config", "trust"], cwd=folder)

    assert before == ["ask", "deny"]
    assert Ran(folder, "explain", given=given).decisions == ["allow", "deny"]


def test_invalid_calls_are_denied_and_invalid_lines_are_errors(folder: Path) -> None:
    lines = [
        b'{"tool": "nothing", "arguments": {}}',
        b'{"tool": "bash", "arguments": {}}',
        b"not JSON",
        b"",
        b'["bash"]',
        b'{"tool": "bash"}',
        b"\xff",
        b"[" * 100_000,
        b'{"tool": "read_file", "arguments": {"path": "a.txt"}}',
    ]

    ran = Ran(folder, "explain", raw=b"\n".join(lines))

    assert ran.status == 2
    assert [each.get("decision", "error") for each in ran.records] == [
        *("deny", "deny", "error", "error", "error", "error", "error", "allow"),
    ]
    assert "unknown tool" in ran.records[0]["why"]
    assert "command" in ran.records[1]["why"]


def test_programs_of_the_folder_are_not_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = folder / "bin"
    programs.mkdir()
    for name in ("git", "rg", "bash", "sh"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >> {folder}/started\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    ran = Ran(folder, "explain", given=[bash("git status"), bash("rg x"), call("grep", pattern="x")])

    assert len(ran.records) == 3
    assert not (folder / "started").exists()


def test_rules_are_listed_with_place_and_use(folder: Path, own_home: Path) -> None:
    configure(own_home / "cinch" / "config.toml", '[permissions]\nallow = ["edit(src/**)"]\nask = ["bash(ssh:*)"]\n')

    listed = Ran(folder, "list")
    records = Ran(folder, "list", "--json").records

    assert [(each["effect"], each["rule"], each["uses"]) for each in records] == [
        ("ask", "bash(ssh:*)", 0),
        ("allow", "edit(src/**)", 0),
    ]
    assert "edit(src/**)" in listed.text
    assert "config.toml" in listed.text


def test_permissions_of_claude_code_are_printed_as_configuration(folder: Path) -> None:
    permissions = {
        "allow": ["Bash(npm test:*)"],
        "deny": ["Read(./.env)", "Bash(domain:x.org)"],
        "defaultMode": "acceptEdits",
        "disableBypassPermissionsMode": "disable",
    }
    configure(folder / ".claude" / "settings.json", json.dumps({"permissions": permissions}))

    ran = Ran(folder, "import")

    lines = ran.text.splitlines()
    assert ran.status == 0
    assert lines[1:4] == ["[approval]", 'mode = "edits"', 'loosest_mode = "edits"']
    assert 'allow = ["bash(npm test:*)"]' in lines
    assert any(line.startswith("deny = [") and ".env" in line for line in lines)
    assert "settings.json" in ran.stderr


def test_rules_are_suggested_from_the_sessions_of_the_folder(folder: Path, own_home: Path) -> None:
    turns = [Reply(calls=[("bash", {"command": f"npm run build --silent {number}"})]) for number in range(3)]
    with ModelServer([*turns, Reply("built")]) as server:
        own = {"ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_BASE_URL": server.url}
        command = ["-p", "-m", "anthropic/fake-model", "--approve", "off", "build"]
        run_forked(command, cwd=folder, env={**os.environ, **own})

    records = Ran(folder, "suggest", "--json").records
    text = Ran(folder, "suggest").text

    assert [(each["rule"], each["count"]) for each in records] == [("bash(npm run build:*)", 3)]
    assert "npm run build --silent 0" in records[0]["matching"]
    assert records[0]["others"]
    assert "does not allow: " in text


def test_invalid_arguments_are_a_usage_error(folder: Path) -> None:
    for arguments in ((), ("explain", "--mode", "loose"), ("forget",)):
        ran = Ran(folder, *arguments)

        assert ran.status == 2, arguments
        assert "cinch permissions --help" in ran.stderr


def test_invalid_deny_rule_is_reported(folder: Path, own_home: Path) -> None:
    configure(own_home / "cinch" / "config.toml", '[permissions]\ndeny = ["bash("]\n')

    ran = Ran(folder, "explain", given=[bash("ls")])

    assert (ran.status, ran.text) == (2, "")
    assert "config.toml" in ran.stderr


def test_help_names_every_action(folder: Path) -> None:
    assert Ran(folder, "--help").text == HELP
