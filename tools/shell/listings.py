"""Commands that list files, whose output other commands take as arguments: `find src | xargs wc -l`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from harness.risk import PathAccess
from tools.shell.find_results import FoundFiles, found_files
from tools.shell.words import Word
from tools.shell.wrappers import Judged

_SHORT_NAMES = re.compile(r"-[A-Za-z]*[lL][A-Za-z]*")
_LONG_NAMES = frozenset({"--files-with-matches", "--files-without-match", "--files"})
# Programs, and their options, that pass on whole lines if they read no file themselves.
_FILTERS = {
    "grep": re.compile(r"-[aEFGiPvwxz]+|-e|-v|--invert-match|--ignore-case"),
    "head": re.compile(r"-\d+|-n\d*|-z"),
    "tail": re.compile(r"-\d+|-n\d*|-z"),
    "sort": re.compile(r"-[bdfnruVz]+"),
    "uniq": re.compile(r"-[diuz]+"),
    "cat": re.compile("-"),
}


def listed_files(judged: Judged) -> Word | None:
    """Return the files that a command lists, one path each line, as words of unknown number; None if it prints
    anything else."""
    if judged.verdict != "read":
        return None
    texts = [word.text or "" for word in judged.words]
    name = posixpath.basename(texts[0])
    match name:
        case "find":
            is_plain = not any(text.startswith(("-print", "-exec", "-ls")) and text not in _PRINTS for text in texts)
        case "fd" | "fdfind":
            is_plain = "--format" not in texts
        case "git":
            is_plain = texts[1:2] == ["ls-files"] and all(text in _LS_FILES for text in texts if text.startswith("-"))
        case "grep" | "rg" | "egrep" | "fgrep":
            is_plain = any(_SHORT_NAMES.fullmatch(text) or text in _LONG_NAMES for text in texts[1:])
        case "ls":
            is_plain = not any(text.startswith("-") and text not in ("-1", "-a", "-t", "-d") for text in texts[1:])
            is_plain = is_plain and all(each.is_pattern or each.path == "." for each in judged.accesses)
        case _:
            is_plain = False
    # `git ls-files` takes patterns, too.
    has_patterns = name == "git" and not all(map(_PLAIN_PATH.fullmatch, texts[2:]))
    folder = _common_folder(() if has_patterns else judged.accesses) if is_plain else None
    if folder is None:
        return None
    found = found_files(judged.words) if name == "find" else FoundFiles(_patterns(texts) if name == "git" else ())
    return Word(None, is_single=False, folder=folder, names=found.names, skips_links=found.only_files)


_SIMPLE_PATTERN = re.compile(r"\*[\w.-]+")
_PLAIN_PATH = re.compile(r"[\w./-]+")
_PRINTS = frozenset({"-print", "-print0"})
_LS_FILES = frozenset({"-z", "-c", "--cached", "-m", "--modified", "-o", "--others", "--exclude-standard", "--"})


def _patterns(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns of `git ls-files`; empty if one of them may stand for a folder."""
    patterns = [text for text in texts[2:] if not text.startswith("-")]
    return tuple(patterns) if all(map(_SIMPLE_PATTERN.fullmatch, patterns)) else ()


def is_filter(judged: Judged) -> bool:
    """Return True if a command passes on some of the lines that it gets, as they are."""
    allowed = _FILTERS.get(posixpath.basename(judged.words[0].text or ""))
    if allowed is None or judged.verdict != "read" or judged.accesses:
        return False
    texts = [word.text if word.is_literal else None for word in judged.words[1:]]
    return all(text is not None and (not text.startswith("-") or allowed.fullmatch(text)) for text in texts)


def _common_folder(accesses: Sequence[PathAccess]) -> str | None:
    folders = {each.path for each in accesses} or {"."}
    if len(folders) == 1 and not any(each.is_pattern for each in accesses):
        return folders.pop()
    is_below = not any(posixpath.normpath(each).startswith(("/", "~", "..")) for each in folders)
    return "." if is_below else None
