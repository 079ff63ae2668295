"""Parser of the patch format of Codex: `*** Begin Patch`, files to add, delete or update, `*** End Patch`.

Source: https://github.com/openai/codex/blob/main/codex-rs/apply-patch/apply_patch_tool_instructions.md.

Accepted although the format does not allow it: a missing end, blank context lines without their space, a new file
without `+`, several sections for one file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tools.patch.patch import FilePatch, NumberedLine, PatchError, PatchHunk

_HEADER = re.compile(r"\s*\*\*\* *(Add|Delete|Update) File: *(\S.*?)\s*", re.IGNORECASE)
_MOVE = re.compile(r"\s*\*\*\* *(?:Move|Rename) to: *(\S.*?)\s*", re.IGNORECASE)
_BEGIN = re.compile(r"\s*\*\*\* *Begin Patch\s*", re.IGNORECASE)
_END = re.compile(r"\s*\*\*\* *End Patch\s*", re.IGNORECASE)
_END_OF_FILE = re.compile(r"\s*\*\*\* *End of File\s*", re.IGNORECASE)
_RANGES = re.compile(r"-(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


def is_codex(lines: Sequence[NumberedLine]) -> bool:
    return any(_BEGIN.fullmatch(line.text) or _HEADER.fullmatch(line.text) for line in lines)


def parse_codex(lines: Sequence[NumberedLine]) -> list[FilePatch]:
    """Return the changes of a patch.

    Raises:
        PatchError: The patch is malformed; the message names the line.
    """
    sections: list[tuple[NumberedLine, list[NumberedLine]]] = []
    is_open = not any(_BEGIN.fullmatch(line.text) for line in lines)
    for line in lines:
        if _BEGIN.fullmatch(line.text):
            is_open = True
        elif _END.fullmatch(line.text):
            is_open = False
        elif is_open and _HEADER.fullmatch(line.text):
            sections.append((line, []))
        elif is_open and sections:
            sections[-1][1].append(line)
        elif is_open and line.text.strip():
            raise PatchError(
                f"line {line.number} of the patch: expected *** Add File:, *** Delete File: or *** Update File: with a "
                f"path, got {line.text[:80]!r}"
            )
    if not sections:
        raise PatchError("the patch names no file: give *** Add File:, *** Delete File: or *** Update File: lines")
    return [_section(header, body) for header, body in sections]


def _section(header: NumberedLine, body: list[NumberedLine]) -> FilePatch:
    found = _HEADER.fullmatch(header.text)
    assert found is not None
    kind, path = found[1].lower(), found[2]
    while body and not body[-1].text.strip():
        body.pop()
    if kind == "add":
        return FilePatch("add", path, header.number, text=_content(body))
    if kind == "delete":
        if body:
            raise PatchError(f"line {body[0].number} of the patch: a *** Delete File section has no further lines")
        return FilePatch("delete", path, header.number)
    moved = _MOVE.fullmatch(body[0].text) if body else None
    hunks = tuple(_hunks(body[1:] if moved else body))
    if not hunks and not moved:
        raise PatchError(f"line {header.number} of the patch: the section for {path} changes nothing")
    return FilePatch("update", path, header.number, target=moved[1] if moved else "", hunks=hunks)


def _content(body: Sequence[NumberedLine]) -> str:
    """Return the content of a new file."""
    if any(line.text.startswith("+") for line in body):
        for line in body:
            if line.text.strip() and not line.text.startswith("+"):
                raise PatchError(f"line {line.number} of the patch: each line of a new file begins with +")
    return "".join(f"{line.text.removeprefix('+')}\n" for line in body)


def _hunks(body: Sequence[NumberedLine]) -> Iterator[PatchHunk]:
    chunk = _Chunk()
    for line in body:
        if _END_OF_FILE.fullmatch(line.text):
            chunk.is_at_end = True
        elif line.text.startswith("@@"):
            if chunk.lines:
                yield chunk.hunk()
                chunk = _Chunk()
            chunk.add_header(line.text)
        elif line.text[:1] in ("", " ", "+", "-", "\t"):
            chunk.lines.append(line)
        else:
            raise PatchError(
                f"line {line.number} of the patch: a line begins with a space, + or -, or is an @@ line; got "
                f"{line.text[:80]!r}"
            )
    if chunk.lines:
        yield chunk.hunk()


class _Chunk:
    """Lines of one hunk, collected from the patch."""

    def __init__(self) -> None:
        self.lines: list[NumberedLine] = []
        self.is_at_end = False
        self._anchors: list[str] = []
        self._start = 0

    def add_header(self, text: str) -> None:
        anchor = text.removeprefix("@@").strip()
        if ranges := _RANGES.match(anchor):
            self._start, anchor = int(ranges[1]), anchor[ranges.end() :]
        anchor = anchor.removesuffix("@@").strip()
        self._anchors += [anchor] if anchor else []

    def hunk(self) -> PatchHunk:
        while not self.lines[-1].text:
            self.lines.pop()
        old, new = old_and_new(self.lines)
        anchors = tuple(self._anchors)
        return PatchHunk(self.lines[0].number, old, new, anchors=anchors, start=self._start, is_at_end=self.is_at_end)


def old_and_new(lines: Sequence[NumberedLine]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the old and the new lines of a hunk; a context line may have lost the space before it if it is blank."""
    bare = [(line.text[:1], line.text if line.text.startswith("\t") else line.text[1:]) for line in lines]
    return tuple(text for mark, text in bare if mark != "+"), tuple(text for mark, text in bare if mark != "-")
