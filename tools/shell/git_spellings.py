"""Other command lines of git that do the same, so that ask and deny rules for one of them apply to all."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from harness.risk import SimpleCommand

_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
_SWITCH_OF_CHECKOUT = {"-b": "-c", "-B": "-C"}
_CHECKOUT_OF_SWITCH = {"-c": "-b", "--create": "-b", "-C": "-B", "--force-create": "-B", "-d": "--detach"}
_OF_FILES = frozenset({"-p", "--patch", "--ours", "--theirs", "-2", "-3", "--pathspec-from-file"})
_LOOKS_LIKE_FILES = re.compile(r":.*|\.{1,2}(/.*)?|.*[*?\[].*|.*\.[A-Za-z]\w*")


def other_spellings(command: SimpleCommand) -> Iterator[SimpleCommand]:
    """Yield what does the same as a command of git, or may do so: `git switch x` for `git checkout x`."""
    words = command.words
    if not words or posixpath.basename(words[0]) != "git":
        return
    start = 1
    while start < len(words) and words[start].startswith("-"):
        start += 1 + (words[start] in _WITH_VALUE)
    if start < len(words):
        for name, rest in _spellings(words[start], words[start + 1 :]):
            yield SimpleCommand(("git", name, *rest))


def _spellings(name: str, rest: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    match name:
        case "checkout":
            yield from _of_checkout(rest)
        case "switch":
            yield "checkout", _translated(rest, _CHECKOUT_OF_SWITCH)
        case "restore":
            paths = [word for word in rest if not word.startswith("-")]
            yield "checkout", ("--", *paths)
            if "--staged" in rest or "-S" in rest:
                yield "reset", ("--", *paths)
        case _:
            return


def _of_checkout(rest: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    place = list(rest).index("--") if "--" in rest else len(rest)
    before, paths = rest[:place], rest[place + 1 :]
    operands = [word for word in before if not word.startswith("-")]
    is_new = not _SWITCH_OF_CHECKOUT.keys().isdisjoint(before) or "--orphan" in before
    if not paths:
        switched = _translated(before, _SWITCH_OF_CHECKOUT)
        yield "switch", switched
        if not is_new and "--detach" not in before:
            yield "switch", ("--detach", *switched)
    # Without `--`, git takes a word that is no branch for a file.
    may_be_files = not is_new and (len(operands) > 1 or any(map(_LOOKS_LIKE_FILES.fullmatch, operands)))
    if paths or may_be_files or not _OF_FILES.isdisjoint(before):
        yield "restore", tuple(paths or operands)


def _translated(words: Sequence[str], options: Mapping[str, str]) -> Sequence[str]:
    return tuple(options.get(word, word) for word in words)
