"""Files that a call changed, as the details of its result list them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from harness.context.call_description import CHANGED_FILES, paths_in
from harness.messages import JsonObject
from harness.ports.tool import ToolOutput
from harness.risk import Risk
from harness.workspace.workspace import Workspace


def with_changed_files(output: ToolOutput, risk: Risk, workspace: Workspace) -> ToolOutput:
    """Return the output of a call with the files and folders that it changed: those it declared, and its details."""
    if output.is_error or not risk.changes:
        return output
    details: JsonObject = output.details or {}
    declared = (workspace.display(_located(path, workspace.root)) for path in _declared(risk))
    changed = tuple(dict.fromkeys((*paths_in(details), *declared)))
    return replace(output, details={**details, CHANGED_FILES: list(changed)}) if changed else output


def _declared(risk: Risk) -> Iterator[str]:
    # The paths of a command are those that it reads or changes.
    if risk.level != "execute":
        yield from risk.paths
    for access in (*risk.accesses, *risk.removals):
        if access.kind == "write" and not access.is_pattern:
            yield os.path.join(access.cwd, access.path)  # noqa: PTH118  either may be absolute or begin with ~


def _located(path: str, root: Path) -> Path:
    """Return an absolute path without `..`; links stay, because what is behind one may be gone."""
    return Path(os.path.normpath(root / os.path.expanduser(path)))  # noqa: PTH111  pathlib raises without a home folder
