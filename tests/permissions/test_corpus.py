"""Corpora of commands: what only reads is not asked about, and nothing else runs without approval.

Commands of the other files are data: they are never executed. A line of `read.txt` runs in the sandbox only.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from permissions import sandbox
from permissions.decisions import attempts, corpus, decision, objection

from harness.approval.rules import parse_rule
from harness.permissions import RuleSource

READ = ("read", "read_agents")
OTHERS = ("ask", "bypass", "dangerous", "forbidden", "programs", "constructs")


def test_corpora_are_large() -> None:
    assert sum(len(corpus(name)) for name in READ) >= 680
    assert sum(len(corpus(name)) for name in OTHERS) >= 2_900


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_command_runs_without_approval(name: str, trapped: Path) -> None:
    assert [command for command in corpus(name, trapped) if not objection(command, trapped)] == []


def test_dangerous_command_asks_whatever_is_allowed(trapped: Path) -> None:
    rules = [parse_rule("bash", "allow", RuleSource("user"))]
    decided = {command: decision(command, trapped, rules=rules).kind for command in corpus("dangerous")}
    assert [command for command, kind in decided.items() if kind == "allow"] == []


def test_catastrophic_command_is_denied_although_approval_is_off(trapped: Path) -> None:
    decided = {command: decision(command, trapped, "off").kind for command in corpus("forbidden", trapped)}
    assert [command for command, kind in decided.items() if kind != "deny"] == []


@pytest.mark.usefixtures("rg_on_path")
@pytest.mark.parametrize("name", READ)
def test_command_that_only_reads_is_not_asked_about(name: str, trapped: Path) -> None:
    commands = corpus(name)
    asked = {command: why for command in commands if (why := objection(command, trapped))}
    assert len(asked) <= 0.03 * len(commands), asked


@pytest.mark.usefixtures("rg_on_path")
@pytest.mark.parametrize("name", READ)
def test_allowed_commands_change_no_file_read_no_secret_and_open_no_socket(
    name: str, trapped: Path, box: sandbox.Sandbox
) -> None:
    results = [box.run(command) for command in corpus(name) if not objection(command, trapped)]
    assert [result for result in results if attempts(result) or result.status is None] == []
    assert [result for result in results if result.status == 127] == []
    assert not (trapped / "TRAPPED").exists()
