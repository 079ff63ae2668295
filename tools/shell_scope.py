"""Scope of "always allow" for a command: its first words, as many as identify what it does.

Empty where a rule would allow more than the user could intend: anything but one plain command, programs that run their
arguments, and options that turn a reader into a writer.
"""

from __future__ import annotations

import posixpath
import re
from itertools import product

from tools.shell_syntax import ParsedCommand, Script, has_option, words_of

INTERPRETERS = re.compile(r"(python|pypy|perl|ruby|node|php|lua)[\d.]*")
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "ash"})

_WORD = re.compile(r"[A-Za-z0-9_./@:][A-Za-z0-9_./@:+=,-]*")


_WITH_VERB = words_of("""
    git npm pnpm yarn bun deno cargo go make just docker podman kubectl helm terraform pip pip3 uv poetry pipx conda
    brew apt apt-get systemctl gh mvn gradle gradlew dotnet rake bundle composer mix tox nox hatch pdm invoke ninja
    cmake cd pushd
""")
_WITH_TWO_VERBS = {
    *product(("npm", "pnpm", "yarn", "bun"), ("run",)),
    *product(("git",), ("stash", "remote", "worktree", "config", "submodule", "bisect")),
    *product(("gh",), ("pr", "issue")),
    *(("deno", "task"), ("docker", "compose"), ("uv", "pip"), ("kubectl", "get")),
}
# The words after these are another command with its own scope.
_RUNNERS = (
    *product(("uv", "poetry", "pdm", "hatch", "pipx"), ("run",)),
    *product(("npm", "pnpm", "bundle"), ("exec",)),
    *product(("python", "python3"), ("-m",)),
    *(("npx",), ("bunx",), ("git", "bisect", "run"), ("git", "submodule", "foreach")),
)
_RUN_ANYTHING = words_of("""
    sudo doas su pkexec env nice ionice nohup time timeout stdbuf xargs parallel watch setsid command builtin exec
    eval source . ssh awk gawk mawk sed trap alias busybox script screen tmux strace gdb
    less more man vi vim nvim view ed ex emacs
""")
# Builtins that change how the commands after them are found or read.
_CHANGE_THE_SHELL = words_of("""
    hash enable set shopt read mapfile readarray getopts let bind complete unset umask ulimit export declare typeset
    local readonly return exit break continue shift
""")
# Options that make a reading program write files or run another program.
_WRITING_OPTIONS = {
    "git": ("xO", "--output --ext-diff --extcmd --config --upload-pack --receive-pack --exec --open-files-in-pager"),
    "rg": ("", "--pre --hostname-bin"),
    "sort": ("o", "--output --compress-program"),
    "tree": ("o", ""),
    "printf": ("v", ""),
    "test": ("v", ""),
    "wait": ("p", ""),
    "tar": ("I", "--to-command --checkpoint-action --use-compress-program"),
}
_FIND_ACTION = re.compile(r"-(exec|ok|delete|fprint|fls)")


def prefix_of(command: ParsedCommand) -> tuple[str, ...]:
    """Return the words of a rule for this command; empty if it needs approval each time."""
    return _scope(command.words)


def scopes_of(script: Script) -> tuple[str, ...]:
    """Return the scope of each command of a compound line; empty unless every one of them has a scope."""
    scopes = [" ".join(_scope(command.words)) for command in script.joined]
    changes_shell = any(command.words[0] in _CHANGE_THE_SHELL for command in script.joined)
    return () if "" in scopes or changes_shell else tuple(dict.fromkeys(scopes))


def _scope(words: tuple[str, ...]) -> tuple[str, ...]:
    for runner in _RUNNERS:
        if words[: len(runner)] == runner:
            inner = _scope(words[len(runner) :])
            return (*runner, *inner) if inner else ()
    if not words or _is_too_broad(words[0], list(words[1:])):
        return ()
    count = _count(words)
    scope = words[:count]
    return scope if len(scope) == count and all(_WORD.fullmatch(word) for word in scope) else ()


def _count(words: tuple[str, ...]) -> int:
    if words[:2] in _WITH_TWO_VERBS:
        return 3
    name = posixpath.basename(words[0])
    return 2 if name in _WITH_VERB or name in SHELLS or INTERPRETERS.fullmatch(name) else 1


def _is_too_broad(name: str, arguments: list[str]) -> bool:
    name = posixpath.basename(name)
    if name in _RUN_ANYTHING:
        return True
    if name == "find":
        return any(_FIND_ACTION.match(word) for word in arguments)
    letters, names = _WRITING_OPTIONS.get(name, ("", ""))
    return has_option(arguments, letters, *names.split())
