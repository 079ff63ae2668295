"""Variables that a command may set without a change of what programs do."""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST_SEARCHED = 4_000
"""Maximum length of a command line that is searched for mentions of a variable."""

_LOCALE = re.compile(r"LC_[A-Z]+|LANG|LANGUAGE")
_SETTINGS = re.compile(r"NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLUMNS|LINES|CI|GIT_OPTIONAL_LOCKS")
_PAGERS = frozenset({"PAGER", "GIT_PAGER", "MANPAGER"})
_PLAIN = re.compile(r"[\w.@:,+-]*", re.ASCII)
_TIME_ZONE = re.compile(r"[A-Za-z][A-Za-z_+-]*[0-9]*(/[A-Za-z_+0-9-]+){0,2}|", re.ASCII)

_SHELL_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
# Proxies are read by programs; the rest is special in zsh or csh, where a command may end up.
_SPECIAL = re.compile(r".*_proxy|path|cdpath|fpath|manpath|module_path|status|argv|histchars|prompt|_")


def is_harmless_assignment(name: str, value: str | None) -> bool:
    """Return True if a variable in front of a command does not change what programs do.

    Args:
        name: Name of the variable.
        value: Its value; None if it is only known at run time.
    """
    if value is None:
        return False
    if name in _PAGERS:
        return value in ("cat", "")
    if name == "TZ":
        return _TIME_ZONE.fullmatch(value) is not None
    is_known = _LOCALE.fullmatch(name) or _SETTINGS.fullmatch(name) or (name == "TERM" and value == "dumb")
    return bool(is_known and _PLAIN.fullmatch(value))


_ARITHMETIC = re.compile(r"\(\([^()]*\)\)")
_END = r"(?=[\s;)}&|]|$)"
_NUMBERS = r"(?:[\d \t]+|\{\d+\.\.\d+\}|\$\(seq [\d ]+\))"


@lru_cache(maxsize=64)
def is_number(name: str, text: str) -> bool:
    """Return True if a variable holds a number wherever a command line uses it.

    Arithmetic evaluates the value of a variable, which may contain a command: `a[$(command)]`. The line must begin with
    an assignment of a number, and every other mention must be of a form that keeps it one.
    """
    if not is_shell_variable(name) or len(text) > LONGEST_SEARCHED:
        return False
    first = re.search(rf"(?<!\w){name}(?!\w)", text, re.ASCII)
    before = text[: first.start()] if first else "'"
    loop = rf"(?<=for ){name} in {_NUMBERS}[ \t]*(?=[;\n])"
    is_loop = first is not None and re.compile(loop).match(text, first.start()) is not None
    is_set = re.compile(rf"{name}=\d+[ \t]*(;|\n|&&)").match(text, len(before)) is not None
    is_start = before.removesuffix("for ").rstrip(" \t")[-1:] in ("", ";", "\n") and not {"'", '"'} & set(before)
    if not (is_start and (is_set or is_loop)):
        return False
    harmless = rf"(?<!\w){name}=(\d+|\$\(\([^()]*\)\)){_END}|\${name}(?!\w)|\$\{{{name}\}}|{loop}"
    rest = re.sub(harmless, " ", _ARITHMETIC.sub("((", text), flags=re.ASCII)
    rest = re.sub(rf"(?<!\w){name}=\$\(\({_END}", " ", rest, flags=re.ASCII)
    return re.search(rf"(?<!\w){name}(?!\w)", rest, re.ASCII) is None


def is_shell_variable(name: str) -> bool:
    """Return True if programs do not look at a variable: its name is in lower case and not special."""
    return bool(_SHELL_NAME.fullmatch(name)) and not _SPECIAL.fullmatch(name)
