"""Uses of git that lose work which git cannot restore."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.risk import Risk
from tools.environment import GitUse
from tools.shell_syntax import has_option, parse

_GLOBAL_OPTIONS_WITH_VALUE = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"}
_UNCOMMITTED = "it discards uncommitted changes"


def git_risks(arguments: list[str]) -> Iterator[Risk]:
    """Yield the risks of `git <arguments>` that need approval."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        if rest.pop(0) in _GLOBAL_OPTIONS_WITH_VALUE:
            del rest[:1]
    verb, *options = rest or [""]
    applies, reason = _RULES.get(verb, (None, ""))
    if applies and applies(options):
        yield Risk("dangerous", reason)


_RULES: dict[str, tuple[Callable[[list[str]], bool], str]] = {
    "push": (
        lambda options: (
            has_option(options, "fd", "--force", "--force-with-lease", "--delete", "--mirror", "--prune")
            or any(word.startswith(("+", ":")) for word in options)
        ),
        "it overwrites or deletes commits that others have",
    ),
    "reset": (lambda options: has_option(options, "", "--hard", "--merge"), _UNCOMMITTED),
    "clean": (lambda options: not has_option(options, "n", "--dry-run"), "it deletes untracked files"),
    "checkout": (
        lambda options: has_option(options, "f", "--force") or not {"--", "."}.isdisjoint(options),
        _UNCOMMITTED,
    ),
    "restore": (
        lambda options: not has_option(options, "S", "--staged") or has_option(options, "W", "--worktree"),
        _UNCOMMITTED,
    ),
    "switch": (lambda options: has_option(options, "f", "--force", "--discard-changes"), _UNCOMMITTED),
    "branch": (
        lambda options: has_option(options, "D", "--delete") and has_option(options, "Df", "--force"),
        "it deletes a branch that may not be merged",
    ),
    "stash": (lambda options: options[:1] in (["drop"], ["clear"]), "it deletes stashed changes"),
    "reflog": (lambda options: options[:1] in (["expire"], ["delete"]), "it deletes the references to lost commits"),
    "filter-branch": (lambda _: True, "it rewrites the history"),
    "filter-repo": (lambda _: True, "it rewrites the history"),
}


# Programs used with git commands that never run git themselves.
_FILTERS = re.compile(r"cd|echo|printf|pwd|true|head|tail|grep|rg|wc|sort|uniq|cut|tr|cat|ls|nl|column")
_NAMES_GIT = re.compile(r"\bgit\b")
_READERS = re.compile(
    r"status|diff|log|show|blame|annotate|grep|ls-files|ls-tree|cat-file|rev-parse|rev-list|describe|shortlog|name-rev"
    r"|for-each-ref|show-ref|merge-base|count-objects|whatchanged|cherry|range-diff|diff-tree|diff-index|diff-files"
)


def use_of_git(command: str) -> GitUse:
    """Return how a command line uses git."""
    if not _NAMES_GIT.search(command):
        return "none"
    commands = parse(command).commands
    reads = any(each.words[:1] == ("git",) for each in commands) and all(_is_reader(each.words) for each in commands)
    return "read" if reads else "any"


def folders_of_git(command: str, root: Path) -> list[Path]:
    """Return the folders in which a command line may use git: `root`, and those it enters with `cd`."""
    folders = [root]
    for each in parse(command).commands if "cd" in command and _NAMES_GIT.search(command) else ():
        if len(each.words) == 2 and each.words[0] == "cd" and "\0" not in each.words[1]:
            folders.append(Path(posixpath.normpath(folders[-1] / each.words[1])))
    return folders


def _is_reader(words: tuple[str, ...]) -> bool:
    if words[:1] != ("git",):
        return bool(words) and _FILTERS.fullmatch(words[0]) is not None
    rest = [word for word in words[1:] if word not in ("--no-pager", "-P", "--no-optional-locks")]
    return bool(rest) and _READERS.fullmatch(rest[0]) is not None
