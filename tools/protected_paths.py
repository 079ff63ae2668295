"""Files that run code or loosen permissions when they are changed; each change needs the user's approval."""

from __future__ import annotations

from pathlib import Path, PurePath

from harness.errors import WorkspaceError
from harness.risk import Risk
from harness.workspace.disk import is_folder, is_there
from harness.workspace.workspace import Workspace

_FOLDERS = {
    ".git": "git runs what is configured there",
    ".cinch": "it configures cinch itself",
    ".ssh": "it decides who may log in",
}
_GIT_PARTS = {"config", "config.worktree", "hooks", "info", "objects", "refs", "commondir", "packed-refs", "modules"}
_NAMES = {".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv", ".envrc"}


def risk_of_change(path: str) -> Risk:
    """Return the risk of changing a file, by its path alone."""
    pure = PurePath(path)
    for folder, why in _FOLDERS.items():
        if folder in (part.lower() for part in pure.parts):
            return Risk("dangerous", f"it changes a file under {folder}: {why}", paths=(path,))
    if pure.name.lower() == "head":
        return Risk(
            "dangerous",
            f"a file named {pure.name} can turn its folder into a git repository, and git runs what that configures",
            paths=(path,),
        )
    if pure.name.lower() in _NAMES:
        return Risk("dangerous", f"{pure.name} is run when a shell starts", paths=(path,))
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
    folder = _git_folder(workspace.root, real)
    if folder is not None and risk_of_change(path).level != "dangerous":
        raise WorkspaceError(
            f"{shown} is part of a git repository: HEAD, objects and refs are in {workspace.display(folder)}. Git runs "
            "programs that are configured there. Change it with a command, which needs the user's approval."
        )


def _git_folder(root: Path, real: Path) -> Path | None:
    """Return the folder in the workspace that git would use as its directory, if `real` is one of that directory's
    files."""
    for folder in real.parents:
        if folder.is_relative_to(root.resolve()) and real.relative_to(folder).parts[0].lower() in _GIT_PARTS:
            has_objects = is_folder(folder / "objects") and is_folder(folder / "refs")
            # With `commondir`, objects and refs are elsewhere.
            if is_there(folder / "HEAD") and (has_objects or is_there(folder / "commondir")):
                return folder
    return None
