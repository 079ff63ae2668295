"""Reader of instruction files and of the files that they include."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from harness.errors import NotAFile
from harness.instructions.includes import candidates, is_certain, references
from harness.terminal_text import escape_controls
from harness.workspace.disk import is_folder, read_beginning

LIMIT_BYTES = 40_000
"""Maximum size of all instruction files at the start of a conversation, in bytes."""
LATER_BYTES = 20_000
"""Maximum size of the instruction files that are added at a time during a conversation, in bytes."""
DEEPEST = 5
"""Maximum depth of includes."""
MOST_INCLUDES = 200
"""Maximum number of references that are followed, since a project may be hostile."""
_OPEN = (".agents", ".cinch", ".claude", ".github")
_OPEN_NAMES = ", ".join(_OPEN)


class Instruction(Struct, frozen=True):
    """An instruction file."""

    path: Path
    """Path of the file."""
    text: str
    """Its text, truncated to the size limit."""


class InstructionReader:
    """Reads instruction files with what they include, each file and each text once, up to the size limit in bytes."""

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self.instructions: list[Instruction] = []
        self.problems: list[str] = []
        self._limit = limit
        self._room = limit
        self._taken: set[Path] = set()
        self._references = MOST_INCLUDES

    def take(
        self, path: Path, within: Sequence[Path], *, is_own: bool = True, body: Callable[[str], str] = str.strip
    ) -> None:
        """Read the file at `path`, if it exists, and then the files that it includes.

        Args:
            path: The file.
            within: Folders that included files are in.
            is_own: True for a file of the user, which may be a link to any file. Others have to be in `within`.
            body: Returns the instructions in the text of the file, such as without metadata.
        """
        try:
            real = path.resolve(strict=True)
        except FileNotFoundError:
            return
        except (OSError, RuntimeError) as error:
            self._skip(path, error)
            return
        if not is_own and not _is_within(real, within):
            self.problems.append(f"{path} was not read: it is a link that leaves the project")
            return
        found = self._text(path, real)
        if found is not None:
            text, size = found
            self._include(path, self._add(path, body(text), size), within, 1)

    def _read(self, path: Path, real: Path, within: Sequence[Path], depth: int) -> None:
        """Read an included file, and those that it includes."""
        found = self._text(path, real)
        if found is not None:
            self._include(path, self._add(path, *found), within, depth + 1)

    def _text(self, path: Path, real: Path) -> tuple[str, int] | None:
        """Return the text of a file, up to the limit, and the size of the file; None if it is read or unusable."""
        if real in self._taken:
            return None
        self._taken.add(real)
        try:
            data, size = read_beginning(real, self._limit + 1)
            if b"\0" in data:
                raise NotAFile("a binary file")
            return _decoded(data, is_whole=size <= len(data)).strip(), size
        except (OSError, UnicodeDecodeError, NotAFile) as error:
            self._skip(path, error)
            return None

    def _include(self, path: Path, text: str, within: Sequence[Path], depth: int) -> None:
        """Read the files that the text of the file at `path` includes."""
        for reference in references(text):
            if self._references == 0:
                self.problems.append(f"{path} includes too many files: only {MOST_INCLUDES} references are followed")
            self._references -= 1
            if self._references < 0:
                return
            self._follow(path, reference, within, depth)

    def _follow(self, path: Path, reference: str, within: Sequence[Path], depth: int) -> None:
        for name, target in candidates(reference, path.parent):
            try:
                # Whether a file outside exists is not looked up.
                real = target.resolve()
                is_within = _is_within(real, within)
                if is_within and not real.is_file():
                    continue
            except (OSError, RuntimeError, ValueError):
                continue
            refusal = self._refusal(real, within, depth)
            if not refusal:
                self._read(target, real, within, depth)
            elif (is_within and real not in self._taken) or (not is_within and is_certain(name)):
                self.problems.append(f"{_shown(name, path)}: {refusal}")
            return
        name, target = candidates(reference, path.parent)[-1]
        if is_certain(name):
            reason = "it is a folder" if is_folder(target) else "the file does not exist"
            self.problems.append(f"{_shown(name, path)}: {reason}")

    def _refusal(self, real: Path, within: Sequence[Path], depth: int) -> str:
        """Return the reason that a file is not included; empty if it is."""
        if not _is_within(real, within):
            return f"the file is not in {' or '.join(map(str, within))}"
        if _is_hidden(real, within):
            return f"hidden files can hold secrets; only those in {_OPEN_NAMES} are included"
        return f"includes are nested more than {DEEPEST} levels deep" if depth > DEEPEST else ""

    def _add(self, path: Path, text: str, size: int) -> str:
        """Add a text as far as there is room for it, and return that part."""
        if not text or any(text == each.text for each in self.instructions):
            return text
        kept = _decoded(text.encode()[: self._room], is_whole=False)
        self._room -= len(kept.encode())
        if kept == text and size <= self._limit:
            self.instructions.append(Instruction(path, text))
            return text
        dropped = max(size - len(kept.encode()), 1)
        note = f"{dropped:,} bytes of {path} were left out: the limit for instruction files is {self._limit:,} bytes"
        self.problems.append(note)
        self.instructions.append(Instruction(path, f"{kept}\n[{note}]".strip()))
        return kept

    def _skip(self, path: Path, error: Exception) -> None:
        match error:
            case UnicodeDecodeError():
                reason = "it is not UTF-8 text"
            case NotAFile():
                reason = f"it is {error}"
            case _:
                reason = str(getattr(error, "strerror", None) or error)
        self.problems.append(f"{path} was not read: {reason}")


def _shown(reference: str, path: Path) -> str:
    return f"@{escape_controls(reference)} in {path} was not read"


def _is_hidden(real: Path, folders: Sequence[Path]) -> bool:
    """Return True for a file such as `.env`, or one in a hidden folder, below each folder that contains it."""
    inner = [real.relative_to(root) for each in folders if real.is_relative_to(root := each.resolve())]
    return all(any(part.startswith(".") and part not in _OPEN for part in path.parts) for path in inner)


def _is_within(real: Path, folders: Sequence[Path]) -> bool:
    return any(real.is_relative_to(folder.resolve()) for folder in folders)


def _decoded(data: bytes, *, is_whole: bool) -> str:
    """Decode a text; unless `is_whole`, an incomplete character at the end is dropped.

    Raises:
        UnicodeDecodeError: The data is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if is_whole or error.start < len(data) - 3:
            raise
        return data[: error.start].decode("utf-8-sig")
