"""Real edits from the history of repositories, and the mistakes that models make when they repeat them.

An edit is one hunk of a commit: the file before, the hunk as old and new text with as many unchanged lines as make it
unique, and the file with only that hunk applied. Everything follows from the seed.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from harness.workspace.hunks import Hunk, Sides, changed_lines, lines_of

LARGEST = 200_000
LONGEST_HUNK = 60
MOST_CONTEXT = 30
_SUFFIXES = re.compile(r"\.(?:py|pyi|tsx?|jsx?|go|rs|c|h|cc|cpp|md|ya?ml|toml|json|css|html|sh|rst|txt|java|rb)$")


class RealEdit(Struct, frozen=True):
    """One hunk of a commit."""

    name: str
    """Commit and path."""
    before: str
    """File before."""
    after: str
    """File with this hunk applied."""
    lines: tuple[str, ...]
    """Lines of the file before, without line feeds."""
    hunk: Hunk
    """Replaced lines of the file."""
    added: tuple[str, ...]
    """New lines of the hunk."""
    first: int
    """First line of the old text, which contains the hunk."""
    last: int
    """End of the old text, exclusive."""

    @property
    def above(self) -> list[str]:
        """Unchanged lines before the hunk."""
        return list(self.lines[self.first : self.hunk.old_from])

    @property
    def removed(self) -> list[str]:
        return list(self.lines[self.hunk.old_from : self.hunk.old_to])

    @property
    def below(self) -> list[str]:
        """Unchanged lines after the hunk."""
        return list(self.lines[self.hunk.old_to : self.last])

    def texts(self) -> tuple[list[str], list[str]]:
        """Return the lines of the old and of the new text."""
        return [*self.above, *self.removed, *self.below], [*self.above, *self.added, *self.below]

    def widened(self, lines: int) -> RealEdit:
        """Return the edit with more unchanged lines in both texts."""
        return RealEdit(
            self.name,
            self.before,
            self.after,
            self.lines,
            self.hunk,
            self.added,
            max(0, self.first - lines),
            min(len(self.lines), self.last + lines),
        )


def edits_of(repository: Path, count: int, seed: int) -> list[RealEdit]:
    """Return up to `count` edits from the history of a repository, each from another commit."""
    listed = _git(repository, "log", "--no-merges", "--format=%H", "--diff-filter=M", "HEAD").decode().split()
    rng = random.Random(f"{seed} {len(listed)}")
    rng.shuffle(listed)
    edits: list[RealEdit] = []
    for commit in listed:
        edit = _edit_of(repository, commit, rng)
        if edit is not None:
            edits.append(edit)
        if len(edits) == count:
            break
    return edits


def _edit_of(repository: Path, commit: str, rng: random.Random) -> RealEdit | None:
    raw = _git(repository, "diff-tree", "--no-commit-id", "-r", "--diff-filter=M", "-z", "--root", commit).decode(
        errors="replace"
    )
    fields = raw.split("\0")
    entries = [(meta.split(), path) for meta, path in zip(fields[::2], fields[1::2], strict=False)]
    files = [(meta, path) for meta, path in entries if _SUFFIXES.search(path) and meta[0][1:3] == meta[1][:2] == "10"]
    if not files:
        return None
    meta, path = rng.choice(files)
    texts = [_text(repository, blob) for blob in meta[2:4]]
    before, after = texts
    if before is None or after is None or before == after:
        return None
    return _one_hunk(f"{commit[:10]} {path}", (before, after), rng)


def _one_hunk(name: str, texts: tuple[str, str], rng: random.Random) -> RealEdit | None:
    old, new = (lines_of(text) for text in texts)
    hunks = [
        hunk
        for hunk in changed_lines(Sides(old, new))
        if hunk.old_to - hunk.old_from + hunk.new_to - hunk.new_from <= LONGEST_HUNK and hunk.old_to < len(old)
    ]
    if not hunks:
        return None
    hunk = rng.choice(hunks)
    added = new[hunk.new_from : hunk.new_to]
    after = "".join([*old[: hunk.old_from], *added, *old[hunk.old_to :]])
    lines = texts[0].split("\n")
    context = rng.randint(1, 3)
    for more in range(context, MOST_CONTEXT):
        first, last = max(0, hunk.old_from - more), min(len(old) - 1, hunk.old_to + more)
        while first > 0 and not lines[first].strip():
            first -= 1
        while last < len(old) - 1 and not lines[last - 1].strip():
            last += 1
        wanted = "\n".join(lines[first:last])
        if last > first and wanted.strip() and texts[0].count(wanted) == 1:
            added_lines = tuple(line.removesuffix("\n") for line in added)
            return RealEdit(name, texts[0], after, tuple(lines), hunk, added_lines, first, last)
    return None


def _text(repository: Path, blob: str) -> str | None:
    data = _git(repository, "cat-file", "blob", blob)
    if len(data) > LARGEST or b"\r" in data or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout


def languages(edits: Sequence[RealEdit]) -> Iterator[tuple[str, int]]:
    """Return the number of edits by file suffix, the most frequent first."""
    suffixes = [Path(edit.name).suffix for edit in edits]
    yield from sorted(((suffix, suffixes.count(suffix)) for suffix in set(suffixes)), key=lambda each: -each[1])
