"""What cinch decides about a command in smart mode, and the corpora of commands to decide about."""

from __future__ import annotations

import json
from pathlib import Path

from harness.approval.paths import PathFacts
from harness.workspace.workspace import Workspace
from tools.shell.analysis import analyze

CORPORA = Path(__file__).parent / "corpus"


def corpus(name: str) -> list[str]:
    """Return the commands of a file: one a line, as a JSON string if a line could not hold it."""
    lines = (CORPORA / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    return [_command(line) for line in lines if line and not line.startswith("#")]


def _command(line: str) -> str:
    return json.loads(line) if line.startswith('"') and line.endswith('"') else line


def objection(command: str, root: Path) -> str:
    """Return the reason why a command needs approval in smart mode without any rule, or an empty string."""
    risk = PathFacts(Workspace(root)).check(analyze(command).risk)
    if risk.level == "read":
        return risk.concern
    reasons = (risk.reason, risk.concern, *(each.why for each in risk.commands), risk.level)
    return next(filter(None, reasons))
