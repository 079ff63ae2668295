"""Check of files that run code or loosen permissions when they are changed; each change needs the user's approval."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

from harness.approval.path_lists import protection_of
from harness.approval.paths import git_folder
from harness.errors import WorkspaceError
from harness.risk import Risk
from harness.workspace.workspace import Workspace


def risk_of_change(path: str) -> Risk:
    """Return the risk of changing a file, by its path alone."""
    if why := protection_of(os.path.normpath(path)):
        return Risk("dangerous", f"it changes {path}: {why}", paths=(path,))
    if PurePath(path).name.lower() == "head":
        return Risk(
            "dangerous",
            f"a file named {PurePath(path).name} can turn its folder into a git repository, and git runs what that "
            "configures",
            paths=(path,),
        )
    return Risk("edit", paths=(path,))


def check_resolved_path(workspace: Workspace, path: str) -> None:
    """Check that a path leads to no more dangerous file than it appears to: the user approved the path as written.

    Raises:
        WorkspaceError: Links lead to a file whose change is dangerous, or it is in a folder that git would use as its
            directory.
    """
    real = workspace.resolve(path, writing=True)
    shown = workspace.display(real)
    hidden = risk_of_change(shown)
    if hidden.level == "dangerous" and risk_of_change(path).level != "dangerous":
        raise WorkspaceError(f"{path} leads to {shown}, and {hidden.reason}. Use that path instead.")
    folder = git_folder(os.path.realpath(workspace.root), str(real))
    if folder and risk_of_change(path).level != "dangerous":
        raise WorkspaceError(
            f"{shown} is part of a git repository: HEAD, objects and refs are in {workspace.display(Path(folder))}. "
            "Git runs programs that are configured there. Change it with a command, which needs the user's approval."
        )
