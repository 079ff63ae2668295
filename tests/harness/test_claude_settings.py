from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.approval.claude_settings import ImportedSettings, import_claude_settings
from harness.approval.claude_tools import CLAUDE_TOOLS, claude_name, tools_named
from harness.permissions import Level
from tools.builtin import CLASSES


def imported(path: Path, permissions: object, level: Level = "project") -> ImportedSettings:
    path.write_text(json.dumps({"permissions": permissions}, indent=2), encoding="utf-8")
    return import_claude_settings(path, level)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


@pytest.mark.parametrize(
    ("entry", "rules"),
    [
        ("Bash", ["bash"]),
        ("Bash(*)", ["bash"]),
        ("Bash(npm run test:*)", ["bash(npm run test:*)"]),
        ("Bash(npm run build)", ["bash(npm run build)"]),
        ("Bash(git commit *)", ["bash(git commit:*)"]),
        ("Bash(git * main)", ["bash(git * main)"]),
        ("Read(./.env)", ["read(./.env)"]),
        ("Read(~/.zshrc)", ["read(~/.zshrc)"]),
        ("Read(//Users/alice/**)", ["read(//Users/alice/**)"]),
        ("Edit(/src/**)", ["edit(/src/**)"]),
        ("MultiEdit", ["edit"]),
        ("Glob", ["find_files", "list_files"]),
        ("Grep(src/**)", ["grep(src/**)"]),
        ("WebFetch(domain:example.com)", ["web_fetch(domain:example.com)"]),
        ("Task(reviewer)", ["delegate_subagent(reviewer)"]),
        ("Agent(reviewer)", ["delegate_subagent(reviewer)"]),
        ("Skill(deploy)", ["skill(deploy)"]),
        ("mcp__github", ["mcp__github"]),
        ("mcp__github__*", ["mcp__github__*"]),
        ("mcp__github__get_issue", ["mcp__github__get_issue"]),
    ],
)
def test_rule_is_imported_with_the_names_of_cinch(path: Path, entry: str, rules: list[str]) -> None:
    found = imported(path, {"deny": [entry]})

    assert ([f"{each.effect} {each}" for each in found.rules], found.notices) == (
        [f"deny {each}" for each in rules],
        [],
    )


def test_each_rule_names_its_file_and_line(path: Path) -> None:
    found = imported(path, {"allow": ["Bash(make)", "Read"], "ask": ["WebFetch"], "deny": ["Bash(curl:*)"]})

    assert [(each.effect, str(each), str(each.source)) for each in found.rules] == [
        ("deny", "bash(curl:*)", f"project: {path}, line 11"),
        ("ask", "web_fetch", f"project: {path}, line 8"),
        ("allow", "bash(make)", f"project: {path}, line 4"),
        ("allow", "read", f"project: {path}, line 5"),
    ]


@pytest.mark.parametrize(
    ("entry", "asks"),
    [
        ("PowerShell(Get-ChildItem *)", ["PowerShell"]),
        ("Bash(domain:example.com)", ["bash"]),
        ("Bash(=x)", ["bash"]),
        ("Bash('x)", ["bash"]),
        ("Read(!src)", ["read"]),
        ("Glob(!x)", ["find_files", "list_files"]),
    ],
)
def test_unsupported_entry_is_reported_and_an_import_never_loosens(path: Path, entry: str, asks: list[str]) -> None:
    denied, allowed = imported(path, {"deny": [entry]}), imported(path, {"allow": [entry]})

    assert [f"{each.effect} {each}" for each in denied.rules] == [f"ask {each}" for each in asks]
    assert allowed.rules == []
    for found in (denied, allowed):
        assert len(found.notices) == 1
        assert f"{path}, line 4: {entry!r} is not supported" in found.notices[0]


def test_path_relative_to_the_settings_of_the_user_is_not_supported(path: Path) -> None:
    found = imported(path, {"deny": ["Read(/secrets/**)"]}, "user")

    assert [f"{each.effect} {each}" for each in found.rules] == ["ask read"]


@pytest.mark.parametrize("entry", [1, None, "a b c", "", ["Bash"]])
def test_entry_that_is_no_rule_is_reported(path: Path, entry: object) -> None:
    found = imported(path, {"deny": [entry]})

    assert (found.rules, len(found.notices)) == ([], 1)


def test_wider_import_and_unknown_tool_are_reported(path: Path) -> None:
    found = imported(path, {"allow": ["Write(docs/**)", "LSP"]})

    assert [str(each) for each in found.rules] == ["edit(docs/**)", "LSP"]
    assert "imported as edit(docs/**)" in found.notices[0]
    assert "has no effect" in found.notices[1]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("default", ("smart", False, 0)),
        ("acceptEdits", ("edits", False, 0)),
        ("plan", (None, True, 0)),
        ("dontAsk", ("on", False, 1)),
        ("bypassPermissions", (None, False, 1)),
        ("auto", (None, False, 1)),
    ],
)
def test_mode_is_imported_unless_it_loosens(path: Path, mode: str, expected: tuple[object, ...]) -> None:
    found = imported(path, {"defaultMode": mode})

    assert (found.approval, found.starts_planning, len(found.notices)) == expected


def test_other_settings_are_imported_or_reported(path: Path) -> None:
    found = imported(path, {"disableBypassPermissionsMode": "disable", "additionalDirectories": ["../docs"]})

    assert found.forbids_off
    assert found.notices == [
        f"{path}, line 5: additionalDirectories is not imported; start cinch with --add-dir ../docs"
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"permissions": []}', "[" * 100_000, '"' + "x" * 300_000 + '"'])
def test_file_that_is_no_settings_file_imports_nothing(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")

    assert import_claude_settings(path, "user").rules == []


def test_missing_file_is_no_problem(tmp_path: Path) -> None:
    assert import_claude_settings(tmp_path / "none.json", "user") == ImportedSettings()


def test_each_tool_of_cinch_has_the_current_name_of_claude_code() -> None:
    assert [claude_name(name) for name in ("bash", "edit_file", "list_files", "delegate_subagent", "job_kill")] == [
        "Bash",
        "Edit",
        "LS",
        "Agent",
        "TaskStop",
    ]
    assert claude_name("mcp__github__get_issue") == "mcp__github__get_issue"


def test_names_of_tools_lead_to_tools_that_exist() -> None:
    names = {name for each in CLAUDE_TOOLS for name in tools_named(each)}

    assert names - {*CLASSES, "skill"} == set()
    assert tools_named("Glob") == ("find_files", "list_files")
    assert tools_named("mcp__github__get_issue") == ("mcp__github__get_issue",)
