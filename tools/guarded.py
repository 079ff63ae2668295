"""Files that run code or loosen rules when they are changed: a person is asked about each, whatever they trusted."""

from __future__ import annotations

from pathlib import PurePath

from harness.tool import Risk

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
            return Risk("dangerous", f"it changes a file under {folder}: {why}")
    if pure.name in _NAMES:
        return Risk("dangerous", f"{pure.name} is run when a shell starts")
    return Risk("edit")
