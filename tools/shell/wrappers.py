"""Judgement of a command through the programs that run it, such as `timeout`, `env` and `xargs`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from harness.risk import Coverage, PathAccess, Verdict
from tools.shell.builtins import BUILTINS
from tools.shell.programs import judge, program_name
from tools.shell.variables import is_harmless_assignment
from tools.shell.words import Word

_MOST_WRAPPERS = 8
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
_REPLACEMENT = re.compile(r"-[0rtx]*[Ii](.*)|--replace(?:=(.*))?", re.DOTALL)


class Judged(Struct, frozen=True):
    """Judgement of a command and of what it runs."""

    words: tuple[Word, ...]
    """Words without those of the wrappers."""
    wrappers: tuple[str, ...] = ()
    """Wrappers, outermost first."""
    verdict: Verdict = "other"
    """`read` if the command and its wrappers are known to change nothing."""
    why: str = ""
    """Reason for the verdict `other`."""
    accesses: tuple[PathAccess, ...] = ()
    """Paths of the command and its wrappers."""
    programs: tuple[str, ...] = ()
    """Programs that are looked up on PATH."""
    coverage: Coverage = "any"
    """Rules for its first words that may cover it."""


def judge_through(words: Sequence[Word], listing: Word | None) -> Judged:
    """Judge a command and what its wrappers run.

    Args:
        words: A command with at least one word.
        listing: Files that are listed on standard input; None if the input is something else.
    """
    wrappers: list[str] = []
    accesses: list[PathAccess] = []
    programs: list[str] = []
    while True:
        name = program_name(words[0])
        found = judge(words)
        accesses += found.accesses
        # A wrapper runs a program even where the shell has a builtin of that name.
        programs += [words[0].text or ""] if name and (wrappers or name not in BUILTINS) else []
        inner, why = _inner(name, words, found.inner, listing) if found.inner else ((), "")
        why = found.why or why
        if why or not inner or len(wrappers) >= _MOST_WRAPPERS:
            verdict = "other" if why or inner else "read"
            why = why or ("it is wrapped too often" if inner else "")
            coverage = "exact" if inner else found.coverage
            return Judged(tuple(words), tuple(wrappers), verdict, why, tuple(accesses), tuple(programs), coverage)
        wrappers.append(name)
        words = inner


def _inner(name: str, words: Sequence[Word], inner: Sequence[Word], listing: Word | None) -> tuple[Sequence[Word], str]:
    """Return the command that a wrapper runs, and the reason why it is not known to be harmless."""
    if name == "env":
        return _without_assignments(inner)
    if name == "xargs":
        return _with_input(words[1 : len(words) - len(inner)], inner, listing), ""
    return inner, ""


def _without_assignments(inner: Sequence[Word]) -> tuple[Sequence[Word], str]:
    for index, word in enumerate(inner):
        found = _ASSIGNMENT.fullmatch(word.text or word.prefix)
        if not found:
            return inner[index:], ""
        if not is_harmless_assignment(found[1], found[2] if word.is_literal else None):
            return inner, f"it sets {found[1]}, which may change what programs do"
    return inner, "it shows the environment, which may hold keys"


def _with_input(options: Sequence[Word], inner: Sequence[Word], listing: Word | None) -> Sequence[Word]:
    """Return the command with the words that xargs adds or replaces, which come from its standard input."""
    fed = listing or Word(None, is_single=False)
    for index, option in enumerate(options):
        if found := _REPLACEMENT.fullmatch(option.text or ""):
            following = options[index + 1 : index + 2]
            is_next = option.text == "-I" or (option.text or "").endswith("I")
            marker = (following[0].text if is_next and following else found[1] or found[2]) or "{}"
            return [
                word if marker not in (word.text or word.prefix) else fed if word.text == marker else Word(None)
                for word in inner
            ]
    return [*inner, fed]
