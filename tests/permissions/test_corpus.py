"""Corpora of commands: what only reads is not asked about, and nothing else runs without approval.

Commands of the other files are data: they are never executed. A line of `read.txt` runs in the sandbox only.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from permissions import sandbox
from permissions.decisions import corpus, objection

from harness.approval.paths import PathFacts
from harness.workspace.workspace import Workspace
from tools.shell.analysis import analyze

OTHERS = ("ask", "bypass", "dangerous", "forbidden")


def test_corpora_are_large() -> None:
    assert len(corpus("read")) >= 180
    assert sum(len(corpus(name)) for name in OTHERS) >= 400


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_command_runs_without_approval(name: str, trapped: Path) -> None:
    assert [command for command in corpus(name) if not objection(command, trapped)] == []


@pytest.mark.parametrize("name", ["dangerous", "forbidden"])
def test_dangerous_command_is_known_to_be_so(name: str, trapped: Path) -> None:
    """A protected path is as good: no rule covers it either."""
    facts = PathFacts(Workspace(trapped))
    risks = {command: facts.check(analyze(command).risk) for command in corpus(name)}
    assert [command for command, risk in risks.items() if risk.level != name and not risk.is_protected] == []


@pytest.mark.usefixtures("rg_on_path")
def test_command_that_only_reads_is_not_asked_about(trapped: Path) -> None:
    commands = corpus("read")
    asked = {command: why for command in commands if (why := objection(command, trapped))}
    assert len(asked) <= 0.05 * len(commands), asked


@pytest.mark.skipif(bool(sandbox.missing_support()), reason=sandbox.missing_support())
@pytest.mark.usefixtures("rg_on_path")
def test_allowed_commands_change_no_file_and_open_no_socket(
    trapped: Path, child_environment: dict[str, str], tmp_path: Path
) -> None:
    with sandbox.Sandbox(trapped, child_environment, tmp_path) as box:
        results = [box.run(command) for command in corpus("read") if not objection(command, trapped)]
    assert [result for result in results if result.attempts or result.status is None] == []
    assert [result for result in results if result.status == 127] == []
    assert not (trapped / "TRAPPED").exists()
