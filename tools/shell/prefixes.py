"""First words of a command that identify what it does, for permission rules such as `bash(npm run build:*)`.

They are empty where a rule would allow more than the user could intend.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from tools.shell.tables import Names, decoded, load_table
from tools.shell.words import Word

_DATA = Path(__file__).parent / "prefixes.toml"
_WORD = re.compile(r"[A-Za-z0-9_./@:][A-Za-z0-9_./@:+=,-]*")


class _Data(Struct, forbid_unknown_fields=True):
    with_verb: Names
    with_two_verbs: frozenset[str]
    runners: list[str]
    alone: Names
    never: Names
    escapes: dict[str, Names]


@cache
def _data() -> _Data:
    return msgspec.convert(tomllib.loads(_DATA.read_text(encoding="utf-8")), _Data, dec_hook=decoded)


def prefix_of(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the first words of a command for a rule; empty if there should be no such rule."""
    literal: list[str] = []
    for word in words:
        if not word.is_literal or word.text is None:
            break
        literal.append(word.text)
    return () if is_escape(words) else _prefix(tuple(literal))


def is_escape(words: Sequence[Word]) -> bool:
    """Return True if an option makes a command do more than its first words tell."""
    refused = _data().escapes.get(posixpath.basename(words[0].text or words[0].prefix)) if words else None
    if not refused:
        return False
    texts = _before_end([word.text or word.prefix for word in words[1:]])
    options = [text for text in texts if text.startswith("-")]
    return any(_means(text, each) for each in refused for text in (texts if each.endswith("*") else options))


def _before_end(texts: list[str]) -> list[str]:
    return texts[: texts.index("--")] if "--" in texts else texts


def _means(text: str, option: str) -> bool:
    """Return True if a word may be an option, abbreviated, joined with other letters or with its value attached."""
    if option.endswith("*"):
        return fnmatchcase(text, option)
    if option.startswith("--"):
        given = text.partition("=")[0]
        return len(given) > 2 and option.startswith(given)
    if len(option) > 2:
        return text.partition("=")[0] in (option, f"-{option}")
    return re.match(r"-[A-Za-z0-9]", text) is not None and option[1] in text[1:].partition("=")[0]


def _prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    data = _data()
    for runner in data.runners:
        first = tuple(runner.split())
        if words[: len(first)] == first:
            rest = words[len(first) :]
            inner = () if is_escape([Word(text) for text in rest]) else _prefix(rest) or rest[:1]
            return (*first, *inner) if inner and _WORD.fullmatch(inner[0]) else ()
    count = _count(words, data)
    prefix = words[:count]
    return prefix if count and len(prefix) == count and all(map(_WORD.fullmatch, prefix)) else ()


def _count(words: tuple[str, ...], data: _Data) -> int:
    """Return the number of words that identify a command; 0 if they are not known."""
    if not words:
        return 0
    if " ".join(words[:2]) in data.with_two_verbs:
        return 3
    if words[0] in data.with_verb:
        return 2
    table = load_table(words[0])
    is_precise = table is not None and table.operands != "command" and words[0] not in data.never
    is_alone = words[0] in data.alone or is_precise
    return 1 if is_alone else 0
