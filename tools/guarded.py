"""Files that run code or loosen rules when they are changed: a person is asked about each, whatever they trusted."""

from __future__ import annotations

from pathlib import PurePath

from harness.errors import WorkspaceError
from harness.tool import Risk
from harness.workspace import Workspace

_FOLDERS = {
    ".git": "git runs what is configured there",
    ".cinch": "it configures cinch itself",
    ".ssh": "it decides who may log in",
}
_NAMES = {".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv", ".envrc"}


def risk_of_change(path: str) -> Risk:
    """The risk of changing a file, judged by its path alone."""
    pure = PurePath(path)
    for folder, why in _FOLDERS.items():
        if folder in (part.lower() for part in pure.parts):
            return Risk("dangerous", f"it changes a file under {folder}: {why}", paths=(path,))
    if pure.name.lower() in _NAMES:
        return Risk("dangerous", f"{pure.name} is run when a shell starts", paths=(path,))
    return Risk("edit", paths=(path,))


def check_leads(workspace: Workspace, path: str) -> None:
    """That a path is as harmless as it reads: the person was asked, or not, about what is written.

    Raises:
        WorkspaceError: its links hide that it leads to a file whose change is dangerous.
    """
    shown = workspace.display(workspace.resolve(path, writing=True))
    hidden = risk_of_change(shown)
    if hidden.level == "dangerous" and risk_of_change(path).level != "dangerous":
        raise WorkspaceError(f"{path} leads to {shown}, and {hidden.reason}. Name that path itself.")
