"""Uses of git that lose work which git cannot restore."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.risk import Risk
from tools.git_environment import GitUse
from tools.shell_syntax import has_option, parse

_VALUED = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"}
_UNCOMMITTED = "it discards uncommitted changes"


def git_risks(arguments: list[str]) -> Iterator[Risk]:
    """Yield the risks of `git <arguments>` that need approval."""
    rest = _after_global_options(arguments)
    if not rest:
        return
    verb, options = rest[0], rest[1:]
    rule = _RULES.get(verb)
    if rule and rule[0](options):
        yield Risk("dangerous", rule[1])


def _after_global_options(arguments: list[str]) -> list[str]:
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        if rest.pop(0) in _VALUED:
            del rest[:1]
    return rest


def _always(options: list[str]) -> bool:
    del options
    return True


def _forces_push(options: list[str]) -> bool:
    rewrites = has_option(options, "fd", "--force", "--force-with-lease", "--delete", "--mirror", "--prune")
    return rewrites or any(word.startswith(("+", ":")) for word in options)


def _resets_files(options: list[str]) -> bool:
    return has_option(options, "", "--hard", "--merge")


def _cleans(options: list[str]) -> bool:
    return not has_option(options, "n", "--dry-run")


def _checks_out_files(options: list[str]) -> bool:
    return has_option(options, "f", "--force") or bool({"--", "."} & set(options))


def _restores_files(options: list[str]) -> bool:
    return not has_option(options, "S", "--staged") or has_option(options, "W", "--worktree")


def _switches_by_force(options: list[str]) -> bool:
    return has_option(options, "f", "--force", "--discard-changes")


def _deletes_branch(options: list[str]) -> bool:
    return has_option(options, "D", "--delete") and has_option(options, "Df", "--force")


def _drops_stash(options: list[str]) -> bool:
    return bool({"drop", "clear"} & set(options[:1]))


def _expires_reflog(options: list[str]) -> bool:
    return bool({"expire", "delete"} & set(options[:1]))


_RULES: dict[str, tuple[Callable[[list[str]], bool], str]] = {
    "push": (_forces_push, "it overwrites or deletes commits that others have"),
    "reset": (_resets_files, _UNCOMMITTED),
    "clean": (_cleans, "it deletes untracked files"),
    "checkout": (_checks_out_files, _UNCOMMITTED),
    "restore": (_restores_files, _UNCOMMITTED),
    "switch": (_switches_by_force, _UNCOMMITTED),
    "branch": (_deletes_branch, "it deletes a branch that may not be merged"),
    "stash": (_drops_stash, "it deletes stashed changes"),
    "reflog": (_expires_reflog, "it deletes the references to lost commits"),
    "filter-branch": (_always, "it rewrites the history"),
    "filter-repo": (_always, "it rewrites the history"),
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
