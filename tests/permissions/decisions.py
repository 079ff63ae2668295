"""What cinch decides about a command in smart mode, and the corpora of commands to decide about."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from permissions.sandbox import Result

from harness.approval.modes import EXECUTE, ApprovalMode
from harness.approval.paths import PathFacts
from harness.approval.policy import Permissions, RulePolicy
from harness.approval.store import RuleStore
from harness.messages import JsonObject, ToolCall
from harness.permissions import Decision, Rule
from harness.ports.permission_policy import CallFacts
from harness.ports.tool import Tool
from harness.workspace.workspace import Workspace
from tools.bash import BashTool
from tools.shell.analysis import analyze
from tools.shell.tables import FOLDER

CORPORA = Path(__file__).parent / "corpus"


def table_names() -> list[str]:
    """Return the names of all programs that have a table."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def corpus(name: str, root: Path | None = None) -> list[str]:
    """Return the commands of a file: one a line, as a JSON string if a line could not hold it.

    Args:
        name: Name of the file.
        root: Workspace that `@ROOT@` stands for.
    """
    lines = (CORPORA / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    commands = [_command(line) for line in lines if line and not line.startswith("# ")]
    return [command.replace("@ROOT@", str(root)) for command in commands]


def _command(line: str) -> str:
    return json.loads(line) if line.startswith('"') and line.endswith('"') else line


def decision(command: str, root: Path, mode: ApprovalMode = "smart", rules: Iterable[Rule] = ()) -> Decision:
    """Return what cinch decides about a shell command in a workspace."""
    return decision_of(BashTool(), {"command": command}, root, mode, rules)


def decision_of(
    tool: Tool, arguments: JsonObject, root: Path, mode: ApprovalMode = "smart", rules: Iterable[Rule] = ()
) -> Decision:
    """Return what cinch decides about a call in a workspace."""
    workspace, store = Workspace(root), RuleStore(rules=rules)
    risk = PathFacts(workspace).check(tool.risk(arguments))
    call = CallFacts(tool, ToolCall("1", tool.name, arguments), arguments, risk, workspace)
    return RulePolicy(store, Permissions(EXECUTE, mode, store)).decide(call, risk)


def attempts(result: Result) -> list[str]:
    """Return what a command tried, except reading secrets in a search that is known to show nothing of them."""
    is_blind = any(access.texts for access in analyze(result.command).risk.accesses)
    return [each for each in result.attempts if not (is_blind and each.startswith("reads a secret"))]


def objection(command: str, root: Path) -> str:
    """Return the reason why a command is not allowed in smart mode without any rule, or an empty string."""
    decided = decision(command, root)
    return "" if decided.kind == "allow" else decided.why
