"""Judgement of what the shell itself does: redirections, builtins that steer a script, and `[[ … ]]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from harness.risk import PathAccess
from tools.shell.programs import judge
from tools.shell.syntax import Redirect
from tools.shell.tables import Judgement
from tools.shell.variables import is_shell_variable
from tools.shell.words import Word

_NAMES = """
    : . [ [[ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo
    enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf
    pushd pwd read readarray readonly return set shift shopt source suspend test time times trap true type typeset
    ulimit umask unalias unset wait
"""
BUILTINS = frozenset(_NAMES.split())
"""Names that bash runs itself, so that PATH does not matter."""

_READ = Judgement("read")
_NUMBER = re.compile(r"\d{1,9}")
_DECIMAL = re.compile(r"-?(0|[1-9]\d{0,17})")
_OPTIONS = re.compile(r"[-+][eux]+|[-+][eux]*o")
_OPTION_NAMES = frozenset({"errexit", "nounset", "pipefail", "xtrace"})
_COMPARISONS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_OUTPUT = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
_DESCRIPTOR = re.compile(r"\d{1,2}-?|-")
_STANDARD_FILES = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"})
_SOCKET = re.compile(r"/dev/(tcp|udp)(/.*)?")
_JOINTS = frozenset({"&&", "||", "(", ")"})


def judge_redirect(redirect: Redirect) -> Judgement:
    """Judge a redirection by its file."""
    path, is_output = redirect.target.text, redirect.operator in _OUTPUT
    if redirect.operator.startswith("<<") or path in _STANDARD_FILES:
        return _READ
    if redirect.operator in (">&", "<&") and path is not None and _DESCRIPTOR.fullmatch(path):
        return _READ
    if path is None:
        return Judgement("other", f"the file that it {'writes' if is_output else 'reads'} is only known when it runs")
    if _SOCKET.fullmatch(path):
        return Judgement("other", "it opens a network connection")
    accesses = (PathAccess(path, "write" if is_output else "read", is_pattern=redirect.target.is_glob),)
    return Judgement("other", f"it writes to {path}", accesses) if is_output else Judgement("read", "", accesses)


def judge_builtin(words: Sequence[Word]) -> Judgement | None:
    """Return the judgement of a builtin, or None if the tables of programs know more about it."""
    check = _CHECKS.get(words[0].text or "")
    if check is None:
        return None
    return check(words) if all(word.is_literal for word in words) or check is _test else _other(words)


def _other(words: Sequence[Word]) -> Judgement:
    return Judgement("other", f"{words[0].text} may change how the shell works")


def _number(words: Sequence[Word]) -> Judgement:
    is_plain = len(words) == 1 or (len(words) == 2 and _NUMBER.fullmatch(words[1].text or ""))
    return _READ if is_plain else _other(words)


def _set(words: Sequence[Word]) -> Judgement:
    texts = [word.text or "" for word in words[1:]]
    while texts and _OPTIONS.fullmatch(texts[0]):
        if texts.pop(0).endswith("o") and (not texts or texts.pop(0) not in _OPTION_NAMES):
            return _other(words)
    return _other(words) if texts or len(words) == 1 else _READ


def _read(words: Sequence[Word]) -> Judgement:
    texts = [word.text or "" for word in words[1:]]
    while texts and texts[0].startswith("-"):
        option = texts.pop(0)
        if re.fullmatch(r"-[rs]*[dnNtp]", option) and texts:
            texts.pop(0)
        elif not re.fullmatch(r"-[rs]+|-[rs]*[nNt]\d+(\.\d+)?", option):
            return _other(words)
    return _READ if all(map(is_shell_variable, texts)) and texts else _other(words)


def _test(words: Sequence[Word]) -> Judgement:
    """Judge `[[ … ]]`. Comparisons of numbers evaluate arithmetic, which may run a command in a subscript."""
    accesses = ()
    for test in _tests(words[1:-1]):
        texts = [word.text for word in test]
        for index, text in enumerate(texts):
            sides = (*texts[max(index - 1, 0) : index], *texts[index + 1 : index + 2])
            if text in _COMPARISONS and not all(side is not None and _DECIMAL.fullmatch(side) for side in sides):
                return Judgement("other", f"{text} of [[ evaluates values that are only known at run time")
        plain = [Word("=") if text in ("=~", "==") else word for word, text in zip(test, texts, strict=True)]
        found = judge([Word("["), *plain, Word("]")])
        accesses += found.accesses
        if found.verdict != "read":
            return Judgement("other", found.why.replace(" test ", " [[ "), accesses)
    return Judgement("read", accesses=accesses)


def _tests(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yield the parts of `[[ … ]]` between its operators."""
    part: list[Word] = []
    for word in words:
        if word.text in _JOINTS:
            if part:
                yield part
            part = []
        else:
            part.append(word)
    if part:
        yield part


_CHECKS: Mapping[str, Callable[[Sequence[Word]], Judgement]] = {
    **dict.fromkeys(("exit", "return", "break", "continue", "shift"), _number),
    "wait": _number,
    "set": _set,
    "read": _read,
    "[[": _test,
}
