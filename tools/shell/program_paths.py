"""Paths that a simple command reads or writes, from the operands and options that its table describes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from harness.risk import PathAccess, PathKind
from tools.shell.options import Resolved, may_be_option
from tools.shell.search_patterns import Dialect, required_texts
from tools.shell.tables import OperandKind, ProgramTable
from tools.shell.words import Word

_SECRETIVE = re.compile("key|token|secret|passw|pwd|credential|private|auth|api|aws|bearer")
_STREAMS = frozenset({"-", "/dev/stdin"})
_ANY = PathAccess("")
_SIMPLE_PATTERN = re.compile(r"[\w.*?-]+")


def paths_of(
    table: ProgramTable, found: Resolved, operands: Sequence[Word], scripts: Sequence[Word]
) -> Iterator[PathAccess]:
    """Yield the paths of a command.

    Args:
        table: Table of the program.
        found: Its options.
        operands: Its operands, without program texts.
        scripts: Program texts, such as the patterns of `grep`.
    """
    yield from option_paths(table, found)
    if not operands and (table.default or found.has(table.recursive)):
        operands = [Word(text=table.default or ".")]
    if table.expands:
        operands = [replace(word, is_glob=_has_wildcard(word)) for word in operands]
    match _use(table, found):
        case "text" | "none" | "command":
            yield from _prefixed(table, operands)
            # A glob shows the names of files to any program.
            yield from _paths([word for word in operands if word.is_glob], "list", table)
        case "copy":
            is_into = any(kind == "write" and found.has((name,)) for name, kind in table.paths.items())
            sources = operands if is_into else operands[:-1]
            yield from _paths(sources, "read", table)
            yield from _paths(operands[len(sources) :], "write", table)
        case "revision":
            yield from _paths([_file_of_revision(word) for word in operands], "read", table)
        case kind:
            if table.has_pairs and kind == "read":
                operands = [*operands, *_pair(operands)]
            access = _search(table, found, scripts) if kind == "search" else _ANY
            if found.has(table.follows) and not found.has(table.keeps_links):
                access = replace(access, is_listed=True)
            yield from _paths(operands, kind, table, access)


def _use(table: ProgramTable, found: Resolved) -> OperandKind:
    if found.has(table.lists):
        return "list"
    if found.has(table.changes):
        return "write"
    return "search" if table.operands == "read" and found.has(table.recursive) else table.operands


def option_paths(table: ProgramTable, found: Resolved) -> Iterator[PathAccess]:
    """Yield the paths that options name."""
    for option in found.options:
        value, kind = option.value, table.paths.get(option.name)
        if value is None or kind is None:
            continue
        if kind == "range":
            yield from _paths([_file_of_range(value)], "read", table)
        else:
            yield from _paths([value], kind, table)


def _search(table: ProgramTable, found: Resolved, scripts: Sequence[Word]) -> PathAccess:
    """Return an access with what a search leaves out."""
    patterns = [word.text or "*" for word in found.values(("--include",))]
    if found.has(("--exclude", "--exclude-from")):
        patterns = []
    globs = [word.text or "*" for word in found.values(table.globs)]
    patterns += [text for text in globs if not text.startswith("!")]
    names = tuple(patterns) if all(map(_SIMPLE_PATTERN.fullmatch, patterns)) else ()
    # A glob that names files includes hidden ones.
    skips_hidden = bool(table.shows_hidden) and not found.has(table.shows_hidden) and not patterns
    return PathAccess("", names=names, skips_hidden=skips_hidden, texts=_texts(table, found, scripts))


def _texts(table: ProgramTable, found: Resolved, scripts: Sequence[Word]) -> tuple[str, ...]:
    """Return texts of which one is in each line that a search shows; empty if it looks for secrets, or for anything."""
    given: set[Dialect | None] = {dialect for name, dialect in table.dialects.items() if found.has((name,))}
    given = given or {table.dialects.get("default")}
    patterns = [word.text if word.is_literal else None for word in scripts]
    dialect = given.pop()
    if given or dialect is None or found.has(table.any_line) or None in patterns:
        return ()
    texts = required_texts([text or "" for text in patterns], dialect)
    return () if any(map(_SECRETIVE.search, texts)) else texts


def _pair(operands: Sequence[Word]) -> Iterator[Word]:
    """Yield the files that two operands mean if one of them is a folder: `diff a/x b` compares `a/x` with `b/x`."""
    texts = [word.text if word.is_literal else None for word in operands]
    match texts:
        case [str(first), str(second)] if _STREAMS.isdisjoint(texts):
            yield Word(posixpath.join(second, posixpath.basename(first)))
            yield Word(posixpath.join(first, posixpath.basename(second)))
        case _:
            return


def _has_wildcard(word: Word) -> bool:
    return word.is_glob or not {"*", "?", "["}.isdisjoint(word.text or "")


def _prefixed(table: ProgramTable, operands: Sequence[Word]) -> Iterator[PathAccess]:
    for word in operands:
        for prefix, kind in table.prefixes.items():
            if word.text is not None and word.text.startswith(prefix):
                yield from _paths([Word(word.text.removeprefix(prefix))], kind, table)


def _paths(
    words: Sequence[Word], kind: PathKind, table: ProgramTable, access: PathAccess = _ANY
) -> Iterator[PathAccess]:
    """Yield the paths that words name.

    Args:
        words: Words of the command.
        kind: Use of the paths.
        table: Table of the program.
        access: Access without its path: what a search leaves out.
    """
    for word in words:
        if word.text is not None and word.text != "-":
            is_checked = word.is_glob and may_be_option(word) and not table.any_operand
            yield replace(access, path=word.text, kind=kind, is_pattern=word.is_glob, refuses_dashes=is_checked)
        elif word.folder is not None and (kind == "write" or not word.is_single):
            # A single word is a file that `find` gives to its command: find itself searches the folder.
            yield _listed(word, kind, access, is_recursive=kind == "search" or table.has_pairs)


def _listed(word: Word, kind: PathKind, access: PathAccess, *, is_recursive: bool) -> PathAccess:
    """Return the access to the files of a listing. In a folder of it, a search reads files with any name."""
    folder = word.folder or "."
    if is_recursive and not word.skips_links:
        return replace(access, path=folder, kind="search", names=(), is_listed=True)
    is_read = kind in ("read", "search")
    names, skips_links = word.names, word.skips_links
    return PathAccess(
        folder,
        "search" if is_read else kind,
        names=names,
        is_listed=is_read,
        skips_links=skips_links,
        texts=access.texts,
    )


def _file_of_range(word: Word) -> Word:
    text = word.text or ""
    return Word(text.rpartition(":")[2] or "-", is_glob=word.is_glob) if ":" in text else Word("-")


def _file_of_revision(word: Word) -> Word:
    revision, separator, path = (word.text or "").partition(":")
    if not revision:
        # `:/x` is a message to look for, or a path from the root of the repository.
        path = path.lstrip("/")
    return Word(text=path, is_glob=word.is_glob) if separator and path else word
