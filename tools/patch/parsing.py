"""Parsing of a patch in any of its formats."""

from __future__ import annotations

import posixpath

from msgspec.structs import replace

from tools.patch.codex_format import is_codex, parse_codex
from tools.patch.patch import FilePatch, PatchError, unwrapped
from tools.patch.unified_format import is_unified, parse_unified


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """Return the changes of a patch, one for each file.

    Raises:
        PatchError: The text is not a patch; the message names the line.
    """
    lines = unwrapped(text)
    if is_codex(lines):
        patches = parse_codex(lines)
    elif is_unified(lines):
        patches = parse_unified(lines)
    else:
        raise PatchError(
            "this is not a patch: begin with *** Begin Patch and *** Update File: with a path, or give a unified diff "
            "with --- and +++ lines"
        )
    merged: dict[str, FilePatch] = {}
    for patch in patches:
        path = posixpath.normpath(patch.path)
        earlier = merged.get(path)
        if earlier is None:
            merged[path] = patch
        elif earlier.kind == patch.kind == "update" and not (earlier.target and patch.target):
            target = earlier.target or patch.target
            merged[path] = replace(earlier, hunks=(*earlier.hunks, *patch.hunks), target=target)
        else:
            raise PatchError(
                f"line {patch.line} of the patch: {patch.path} has a section already, at line {earlier.line}"
            )
    if not merged:
        raise PatchError("the patch changes nothing")
    return tuple(merged.values())
