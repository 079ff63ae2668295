"""Inventory of a folder: the files in it that change how cinch works.

Nothing is executed or parsed as code: files are read, hashed and summarized. Only regular files of bounded size and
number are considered, since the folder may be hostile.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from cinch_tui.config.paths import PROJECT_FOLDER, local_config_file, project_config_file
from cinch_tui.trust.kinds import CLAUDE, Kind, is_pinned, summarize
from extensions.locations import files_below, files_of, roots_in
from harness.errors import NotAFile
from harness.instructions.loading import instruction_files, project_files, project_root
from harness.terminal_text import escape_controls
from harness.workspace.disk import read_beginning

LARGEST = 256 * 1024
"""Maximum size of a file that can be trusted, in bytes."""
MOST_FILES = 500
"""Maximum number of files in an inventory, and of files in a skill."""
MOST_BYTES = 16 * 1024 * 1024
"""Maximum size of all files of an inventory, in bytes."""
SERVER_FILES = (".mcp.json", f"{PROJECT_FOLDER}/mcp.json")
"""Files with MCP servers, relative to a folder; a later one wins."""


class Found(Struct, frozen=True):
    """A file that changes how cinch works."""

    kind: Kind
    """Kind of the file."""
    path: Path
    """Path of the file."""
    size: int
    """Size in bytes; of a skill, with its other files."""
    sha256: str
    """Hash of the content; of a skill, with its other files."""
    is_pinned: bool
    """True if trust applies to this content only: the file can run code or loosen permissions."""
    summary: str = ""
    """Effect of the file, for the user."""


class Inventory(Struct, frozen=True):
    """Files of a folder that change how cinch works."""

    root: Path
    """The folder that trust is given to: the root of the repository, else the folder itself."""
    found: tuple[Found, ...] = ()
    """The files, in the order in which they are shown."""
    problems: tuple[str, ...] = ()
    """Files that cannot be trusted, with the reason; they have no effect."""
    can_be_stored: bool = True
    """False if trust lasts only for this session: the folder is the home folder or `/`."""

    def relative(self, path: Path) -> str:
        """Return a path relative to the root."""
        return os.path.relpath(path, self.root)

    def label(self, path: Path) -> str:
        """Return the relative path as it is displayed: on one line, with control characters made visible."""
        return one_line_name(self.relative(path))


def one_line_name(text: str) -> str:
    """Return a name on one line, with control characters made visible."""
    return escape_controls(text).replace("\n", "⟨U+000A⟩").replace("\t", "⟨U+0009⟩")


def trust_root(cwd: Path) -> Path:
    """Return the folder that trust is given to when cinch works in `cwd`.

    A repository in the home folder is not used as the root, since everything the user downloads would be part of it.
    """
    root = project_root(cwd)
    return Path(os.path.realpath(cwd if _is_too_wide(root) else root))


def _is_too_wide(folder: Path) -> bool:
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111  pathlib raises without a home folder
    return os.path.realpath(folder) in ("/", home)


def inventory(cwd: Path, user_file: Path | None = None) -> Inventory:
    """Return the inventory of the folder that cinch works in. Reads files only.

    Args:
        cwd: the folder.
        user_file: the user's configuration file, which is not part of the folder.
    """
    scan = _Scan(cwd)
    scan.run(user_file)
    root = trust_root(cwd)
    return Inventory(root, tuple(scan.found), tuple(scan.problems), can_be_stored=not _is_too_wide(root))


class _Scan:
    """Search for files, bounded in number and size."""

    def __init__(self, cwd: Path) -> None:
        self.found: list[Found] = []
        self.problems: list[str] = []
        self._cwd = Path(os.path.realpath(cwd))
        self._root = trust_root(cwd)
        self._left = MOST_FILES
        self._room = MOST_BYTES

    def run(self, user_file: Path | None) -> None:
        for folder in _folders(self._cwd):
            for path in instruction_files(folder):
                self._add("instructions", path)
        for path in (project_config_file(self._cwd), local_config_file(self._cwd)):
            if path is not None and (user_file is None or os.path.realpath(path) != os.path.realpath(user_file)):
                self._add("configuration", path)
        for folder in extension_folders(self._cwd):
            for kind, path in _extensions(folder):
                self._add(kind, path)
        self._add_included()

    def _add_included(self) -> None:
        """Add the files that instruction files and rules include."""
        texts = [each.path for each in self.found if each.kind in ("instructions", "rules")]
        if not texts:
            return
        known = set(map(os.path.realpath, texts))
        for path in project_files(self._cwd, [each.path for each in self.found if each.kind == "rules"]):
            if os.path.realpath(path) not in known:
                self._add("instructions", Path(os.path.normpath(path)))

    def _add(self, kind: Kind, path: Path) -> None:
        if not os.path.lexists(path):
            return
        shown = one_line_name(os.path.relpath(path, self._root))
        try:
            if self._left == 0 or self._room < 0:
                raise NotAFile(f"beyond the limit of {MOST_FILES} files or {MOST_BYTES // 2**20} MB")
            data = _content(path)
            others = _files_of_skill(path.parent) if kind == "skill" else {}
        except (NotAFile, OSError) as error:
            self.problems.append(f"{shown} is ignored: {_reason(error)}")
            return
        if not data and not others:
            return
        size = len(data) + sum(map(len, others.values()))
        self._left -= 1
        self._room -= size
        text = data.decode("utf-8", "replace")
        summary = summarize(kind, text, len(others))
        self.found.append(Found(kind, path, size, _hash(data, others), is_pinned(kind, text, len(others)), summary))


def _folders(cwd: Path) -> list[Path]:
    """Return the folders that are searched, from the root of the repository down to `cwd`."""
    root = project_root(cwd)
    return [folder for folder in (*reversed(cwd.parents), cwd) if folder.is_relative_to(root)]


def extension_folders(cwd: Path) -> list[Path]:
    """Return the folders that can extend cinch in `cwd`, the nearest last."""
    # In the home folder, extensions are the user's own.
    return [folder for folder in _folders(Path(os.path.realpath(cwd))) if not _is_too_wide(folder)]


def _extensions(folder: Path) -> Iterator[tuple[Kind, Path]]:
    """Yield the files of a folder that extend cinch, whether they exist or not."""
    for kind, name in _FILES:
        yield kind, folder / name
    for path in (*files_below(folder / PROJECT_FOLDER / "hooks"), *_named_scripts(folder)):
        yield "hooks", path
    for root in roots_in(folder, "project"):
        for kind in sorted(root.kinds):
            for path in files_of(kind, root.path):
                yield kind, path


def _named_scripts(folder: Path) -> Iterator[Path]:
    """Yield the files in `.claude/hooks` that files with hooks name; others may be what hooks write."""
    scripts = list(files_below(folder / ".claude" / "hooks"))
    if not scripts:
        return
    settings = [folder / name for kind, name in _FILES if kind == CLAUDE]
    written = b""
    for path in (*settings, *_with_hooks(folder)):
        with suppress(OSError, NotAFile):
            written += _content(path)
    yield from (path for path in scripts if os.fsencode(path.name) in written)


def _with_hooks(folder: Path) -> Iterator[Path]:
    """Yield the files whose metadata may have hooks."""
    for kind in ("command", "skill", "subagent"):
        yield from files_of(kind, folder / ".claude")


def _content(path: Path) -> bytes:
    data, size = read_beginning(path, LARGEST + 1)
    if len(data) > LARGEST:
        raise NotAFile(f"a file of {size:,} bytes; the limit is {LARGEST:,}")
    return data


def content_hash(data: bytes) -> str:
    """Return the hash under which a file is trusted."""
    return _hash(data, {})


def _hash(data: bytes, others: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256(data)
    for name, content in others.items():
        # With its length, so that no other set of files has the same hash.
        digest.update(b"\0%s\0%d\0%s" % (os.fsencode(name), len(content), content))
    return digest.hexdigest()


def _reason(error: NotAFile | OSError) -> str:
    return f"it is {error}" if isinstance(error, NotAFile) else f"{error.strerror}".lower()


def _files_of_skill(folder: Path) -> dict[str, bytes]:
    """Return the content of the other files of a skill by their names.

    Raises:
        NotAFile: there are too many, or one is too large or not a regular file.
        OSError: one cannot be read.
    """
    files: dict[str, bytes] = {}
    for path in files_below(folder):
        name = os.path.relpath(path, folder)
        if name != "SKILL.md":
            files[name] = _content(path)
        if len(files) > MOST_FILES:
            raise NotAFile(f"a skill of more than {MOST_FILES} files")
    return files


_FILES: tuple[tuple[Kind, str], ...] = (
    (CLAUDE, ".claude/settings.json"),
    (CLAUDE, ".claude/settings.local.json"),
    *(("MCP servers", name) for name in SERVER_FILES),
)
