"""Parser of unified diffs, with the headers of git or without.

The counts in hunk headers are not trusted, since models get them wrong; the lines themselves are checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from tools.patch.codex_format import old_and_new
from tools.patch.patch import FilePatch, NumberedLine, PatchError, PatchHunk

_RANGES = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_GIT = re.compile(r'diff --git (?:"?a/(.+?)"? "?b/(.+?)"?)')
_NO_NEWLINE = "\\ No newline"
_NOTHING = "/dev/null"
_SIGNATURE = "-- "


def is_unified(lines: Sequence[NumberedLine]) -> bool:
    return any(line.text.startswith(("diff --git ", "--- ", "@@ -")) for line in lines)


def parse_unified(lines: Sequence[NumberedLine]) -> list[FilePatch]:
    """Return the changes of a patch.

    Raises:
        PatchError: The patch is malformed; the message names the line.
    """
    starts = [place for place in range(len(lines)) if _begins_file(lines, place)]
    if not starts:
        raise PatchError("the patch names no file: give --- and +++ lines before the @@ lines")
    patches = [_file_patch(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]
    return [patch for patch in patches if patch is not None]


def _begins_file(lines: Sequence[NumberedLine], place: int) -> bool:
    if lines[place].text.startswith("diff --git "):
        return True
    # A removed line that begins with two dashes looks like a header.
    if not lines[place].text.startswith("--- ") or place + 1 == len(lines):
        return False
    is_header = lines[place + 1].text.startswith("+++ ")
    follows_git = any(
        lines[before].text.startswith("diff --git ")
        and not any(line.text.startswith("@@") for line in lines[before:place])
        for before in range(place)
    )
    return is_header and not follows_git


def _file_patch(lines: Sequence[NumberedLine]) -> FilePatch | None:
    first = next((place for place, line in enumerate(lines) if line.text.startswith("@@")), len(lines))
    headers = {line.text.split(" ")[0]: line for line in lines[:first]}
    before, after = _paths(lines[:first])
    hunks = tuple(_hunks(lines[first:]))
    if "GIT" in headers or "Binary" in headers:
        raise PatchError(f"line {lines[0].number} of the patch: binary files cannot be patched")
    number = lines[0].number
    if before == _NOTHING or any(line.text.startswith("new file mode") for line in lines[:first]):
        open_end = bool(hunks) and hunks[-1].new_is_open
        text = "".join(f"{line}\n" for hunk in hunks for line in hunk.new)
        return FilePatch("add", after, number, text=text.removesuffix("\n") if open_end else text)
    if after == _NOTHING or any(line.text.startswith("deleted file mode") for line in lines[:first]):
        return FilePatch("delete", before, number)
    is_renamed = any(line.text.startswith("rename to ") for line in lines[:first])
    kind: Literal["update"] = "update"
    if is_renamed:
        return FilePatch(kind, before, number, target=after, hunks=hunks)
    if not hunks:
        return None
    return FilePatch(kind, after, number, hunks=hunks)


def _paths(headers: Sequence[NumberedLine]) -> tuple[str, str]:
    """Return the paths before and after."""
    found: dict[str, str] = {}
    for line in headers:
        for name in ("--- ", "+++ ", "rename from ", "rename to "):
            if line.text.startswith(name):
                found[name] = _unquoted(line.text.removeprefix(name).split("\t")[0].strip())
    if "rename from " in found and "rename to " in found:
        return found["rename from "], found["rename to "]
    git = _GIT.fullmatch(headers[0].text)
    before = found.get("--- ", f"a/{git[1]}" if git else "")
    after = found.get("+++ ", f"b/{git[2]}" if git else "")
    if not before or not after:
        raise PatchError(f"line {headers[0].number} of the patch: --- and +++ lines have to name the file")
    has_prefixes = before.startswith(("a/", _NOTHING)) and after.startswith(("b/", _NOTHING))
    return (before.removeprefix("a/"), after.removeprefix("b/")) if has_prefixes else (before, after)


def _unquoted(path: str) -> str:
    """Return a path that git has quoted as a C string."""
    if len(path) < 2 or path[0] != '"' or path[-1] != '"':
        return path
    return path[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1").decode()


def _hunks(lines: Sequence[NumberedLine]) -> list[PatchHunk]:
    starts = [place for place, line in enumerate(lines) if line.text.startswith("@@")]
    ends = [*starts[1:], len(lines)]
    return [_hunk(lines[start], list(lines[start + 1 : end])) for start, end in zip(starts, ends, strict=False)]


def _hunk(header: NumberedLine, lines: list[NumberedLine]) -> PatchHunk:
    ranges = _RANGES.match(header.text)
    count = int(ranges[2] or 1) if ranges else -1
    while lines and _is_surplus(lines, count):
        lines.pop()
    body: list[NumberedLine] = []
    open_marks = ""
    for line in lines:
        if line.text.startswith(_NO_NEWLINE):
            open_marks += body[-1].text[:1] if body else ""
        elif line.text[:1] in ("", " ", "+", "-", "\t"):
            body.append(line)
        else:
            raise PatchError(
                f"line {line.number} of the patch: a line of a hunk begins with a space, + or -; got {line.text[:80]!r}"
            )
    if not body:
        raise PatchError(f"line {header.number} of the patch: the hunk has no lines")
    is_both = " " in open_marks
    anchor = (ranges[5] if ranges else header.text.strip("@ ")).strip()
    return PatchHunk(
        header.number,
        *old_and_new(body),
        anchors=(anchor,) if anchor else (),
        start=int(ranges[1]) if ranges else 0,
        is_at_end=bool(open_marks),
        old_is_open=is_both or "-" in open_marks,
        new_is_open=is_both or "+" in open_marks,
    )


def _is_surplus(lines: Sequence[NumberedLine], count: int) -> bool:
    """Return True if the last line belongs to no hunk: a blank line, or the signature of a mail."""
    old = sum(line.text[:1] != "+" and not line.text.startswith(_NO_NEWLINE) for line in lines)
    is_signed = any(line.text == _SIGNATURE for line in lines[-3:])
    return (not lines[-1].text or is_signed) and (count < 0 or old > count)
