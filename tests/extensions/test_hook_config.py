"""Hooks as files declare them, and which of them a call runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from extensions.hooks.config import HookHandler, HookSource, LoadedHooks, add_hooks
from extensions.hooks.matching import matches, names_of
from harness.messages import JsonValue

SOURCE = HookSource(Path("/x/settings.json"), "user")


def load(events: JsonValue) -> LoadedHooks:
    loaded = LoadedHooks()
    add_hooks(loaded, events, SOURCE)
    return loaded


def test_groups_of_claude_code_and_flat_ones_are_read():
    loaded = load(
        {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "a", "timeout": 5, "if": "Bash(rm *)"}]},
                {"matcher": "write_file", "command": "b", "args": ["-x"]},
            ],
            "Stop": [{"hooks": [{"type": "http", "url": "https://example.com/h", "headers": {"A": "$B"}}]}],
            "SubagentStop": [{"hooks": [{"type": "prompt", "prompt": "done?", "model": "haiku"}]}],
            "SessionEnd": [{"command": "c"}, {"command": "d", "timeout": 9000}],
        }
    )

    assert loaded.problems == []
    assert [(each.event, each.matcher, each.target, each.limit_s) for each in loaded.handlers] == [
        ("PreToolUse", "Bash", "a", 5.0),
        ("PreToolUse", "write_file", "b -x", 60.0),
        ("Stop", "", "https://example.com/h", 60.0),
        ("SubagentStop", "", "done?", 30.0),
        ("SessionEnd", "", "c", 1.5),
        ("SessionEnd", "", "d", 60.0),
    ]


MISTAKES: list[tuple[JsonValue, str]] = [
    ([], "hooks is not a table of events"),
    ({"PreTool": []}, "hooks.PreTool is not an event; use one of PreToolUse"),
    ({"Stop": {}}, "hooks.Stop is not a list"),
    ({"Stop": [{"matcher": "("}]}, "hooks.Stop[0] has an invalid matcher: '('"),
    ({"Stop": [{}]}, "hooks.Stop[0] has no hooks"),
    ({"Stop": [{"hooks": [{"type": "command"}]}]}, "hooks.Stop[0] has a hook without a command"),
    ({"Stop": [{"command": "a", "timeout": "5"}]}, "needs a positive number for timeout, not '5'"),
    ({"Stop": [{"url": "ftp://x"}]}, "needs a url that begins with https:// or http://"),
    ({"Stop": [{"type": "prompt", "command": "a"}]}, "hooks.Stop[0] has a hook without a prompt"),
    ({"SessionStart": [{"prompt": "a"}]}, "has a hook of type prompt, which decides nothing at SessionStart"),
    ({"Stop": [{"command": "a", "args": [1]}]}, "needs a list of texts for args"),
    ({"Stop": [{"url": "https://x", "headers": {"A": "b\r\nC: d"}}]}, "needs a table of texts for headers"),
]


@pytest.mark.parametrize(("events", "problem"), MISTAKES)
def test_mistakes_are_reported_with_their_place(events: JsonValue, problem: str):
    loaded = load(events)

    assert loaded.handlers == []
    [found] = loaded.problems
    assert found.startswith("/x/settings.json: ")
    assert problem in found


def test_hooks_that_only_claude_code_can_run_are_no_mistakes():
    loaded = load({"Setup": [{"command": "a"}], "Stop": [{"hooks": [{"type": "agent", "prompt": "ok?"}]}]})

    assert (loaded.handlers, loaded.problems) == ([], [])
    assert loaded.unsupported == [
        "/x/settings.json: Setup is an event that cinch does not have",
        "/x/settings.json: Stop has a hook of type 'agent', which cinch does not have",
    ]


def test_hooks_of_the_administrator_cannot_be_turned_off():
    loaded = load({"Stop": [{"command": "user"}]})
    add_hooks(loaded, {"Stop": [{"command": "managed"}]}, HookSource(Path("/etc/x"), "managed"))

    loaded.disabled_by = SOURCE.path

    assert [each.command for each in loaded.usable] == ["managed"]


@pytest.mark.parametrize(
    ("matcher", "tool", "expected"),
    [
        ("", "bash", True),
        ("*", "mcp__memory__write", True),
        ("Bash", "bash", True),
        ("bash", "bash", True),
        ("BashOutput", "bash", False),
        ("Edit|Write", "edit_file", True),
        ("Edit, Write", "write_file", True),
        ("MultiEdit", "edit_file", True),
        ("Task", "delegate_subagent", True),
        ("mcp__memory", "mcp__memory__write", False),
        ("mcp__memory__.*", "mcp__memory__write", True),
        ("^(Ba|x)", "bash", True),
        ("Notebook.*", "edit_file", False),
        ("LS", "list_files", True),
        ("Write", "apply_patch", True),
        ("write_file", "apply_patch", True),
        ("Write", "bash", False),
    ],
)
def test_matchers_accept_the_names_of_both_programs(matcher: str, tool: str, expected: bool):
    assert matches(HookHandler("PreToolUse", SOURCE, matcher), names_of(tool)) is expected


def test_number_of_hooks_in_a_file_is_limited():
    loaded = load({"Stop": [{"command": f"{number}"} for number in range(300)]})

    assert len(loaded.handlers) == 200
    assert loaded.problems == ["/x/settings.json: hooks has more than 200 hooks; the others are not used"]
