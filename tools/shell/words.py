"""Words of a shell command after quoting and expansion, as far as they are known before it runs."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

MOST_WORDS = 64
"""Most words of one brace expansion, and most values of one variable."""
FOLDERS = {"HOME": "~", "PWD": "."}
"""Variables that are known at the beginning of a path."""

_MOST_BRACES = 16

_GLOB = re.compile(r"[*?]|\[.+\]", re.DOTALL)
_GLOB_START = re.compile(r"[*?\[]")
_FOLDER_STACK = re.compile(r"~[+\-\d]")
_UNSPLIT = re.compile(r"[\w./:@%+=,~-]+")
_SEQUENCE = re.compile(r"(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?")


class Word(Struct, frozen=True):
    """One argument of a command, or several if it is an expansion that bash splits.

    Brace expansions and variables with known values are replaced before: `a{b,c}` gives two words.
    """

    text: str | None
    """Value after quoting; None if it is only known at run time. A glob is a pattern, and its quoted special characters
    are in brackets: `'*'.py*` is `[*].py*`. A leading `~` stands for the home folder."""
    is_glob: bool = False
    """True if bash replaces it with the matching file names, or with itself if there are none."""
    prefix: str = ""
    """Literal beginning of a word without `text`: `src/` of `"src/$name"`."""
    is_single: bool = True
    """False if it may become any number of words, each of which may be an option (`$files`, `$(ls)`, input of xargs).
    Only the first of them begins with `prefix`. A glob is always True: every name matches the pattern."""
    folder: str | None = None
    """Folder whose listing the word comes from, as in `find src | xargs wc`: it names files below that folder. None if
    it comes from elsewhere."""

    names: tuple[str, ...] = ()
    """Patterns of the names of those files; empty if they may have any name."""
    skips_links: bool = False
    """True if none of those files is a link."""
    rest: str = ""
    """Value of a word without `text` if its expansions turn out to be empty: `/` of `$x/`."""

    @property
    def is_literal(self) -> bool:
        """True if the program gets exactly `text`."""
        return self.text is not None and not self.is_glob


class Part(Struct, frozen=True):
    """Piece of a word: literal text, or an expansion."""

    text: str | None
    """Literal text without its quotes; None for an expansion. `<(…)` and `>(…)` count as standard input and output."""
    is_quoted: bool = False
    """True if bash neither splits it nor takes special characters in it for a glob or a brace expansion."""
    name: str = ""
    """Variable of a plain expansion, such as `$name`."""
    is_list: bool = False
    """True for `"$@"` and the like, which become several words even in quotes."""
    commands: tuple[int, int] = (0, 0)
    """Range of the commands inside a substitution."""


_Token: TypeAlias = "str | Part"


def expand(parts: Sequence[Part], values: Mapping[str, Word]) -> tuple[Word, ...]:
    """Return the words that the parts of one word become.

    Args:
        parts: Pieces of the word as it is written.
        values: Variables with a known value.
    """
    if len(parts) == 1 and parts[0].name in values and (value := values[parts[0].name]).is_glob:
        return (value if parts[0].is_quoted else Word(None, is_single=False),)
    known = _known(parts, values)
    if not any(part.text and not part.is_quoted and "{" in part.text for part in known):
        return (_joined(known),)
    tokens: list[_Token] = []
    for part in known:
        tokens.extend(part.text if part.text is not None and not part.is_quoted else [part])
    variants = _braces(tokens) if tokens.count("{") <= _MOST_BRACES else []
    if not 0 < len(variants) <= MOST_WORDS:
        return (Word(None, is_single=False),)
    return tuple(_joined([Part(each) if isinstance(each, str) else each for each in variant]) for variant in variants)


def as_text(parts: Sequence[Part], values: Mapping[str, Word]) -> Word:
    """Return the word where bash neither splits nor expands file names: an assigned value, text of a here-document."""
    return _joined([replace(part, is_quoted=True, is_list=False) for part in _known(parts, values)])


def begins_with_folder(parts: Sequence[Part]) -> bool:
    """Return True if a word begins with `$HOME` or `$PWD`, which are known as paths but not as text."""
    return bool(parts) and parts[0].name in FOLDERS


def _known(parts: Sequence[Part], values: Mapping[str, Word]) -> list[Part]:
    """Return the parts with variables replaced by their values, as far as they are known.

    A quoted `~` at the beginning becomes `./~`: it is not the home folder.
    """
    known = [_substituted(part, values) if part.name else part for part in parts]
    if parts and parts[0].is_quoted and (parts[0].text or "").startswith("~"):
        known[0] = replace(parts[0], text=f"./{parts[0].text}")
    elif parts and parts[0].name in FOLDERS and (len(parts) == 1 or (parts[1].text or "").startswith("/")):
        known[0] = Part(FOLDERS[parts[0].name], is_quoted=True)
    return known


def _substituted(part: Part, values: Mapping[str, Word]) -> Part:
    value = values.get(part.name)
    if value is None or value.text is None or value.is_glob:
        return part
    return Part(value.text, is_quoted=True) if part.is_quoted or _UNSPLIT.fullmatch(value.text) else part


def _joined(parts: Sequence[Part]) -> Word:
    unknown = next((index for index, part in enumerate(parts) if part.text is None), None)
    if unknown is None:
        shape = "".join(["x" if part.is_quoted else part.text or "" for part in parts])
        is_glob = _GLOB.search(shape) is not None
        texts = [glob.escape(part.text or "") if is_glob and part.is_quoted else part.text or "" for part in parts]
        return _tilde(Word("".join(texts), is_glob))
    prefix = ""
    for part in parts[:unknown]:
        found = None if part.is_quoted else _GLOB_START.search(part.text or "")
        prefix += (part.text or "")[: found.start() if found else None]
        if found:
            break
    is_single = all(part.text is not None or (part.is_quoted and not part.is_list) for part in parts)
    rest = "".join(part.text or "" for part in parts)
    return _tilde(Word(None, prefix=prefix, is_single=is_single, rest=rest))


def _tilde(word: Word) -> Word:
    """Return the word as unknown if it begins like a folder of the shell's stack: `~+`, `~-`, `~2`."""
    is_folder_stack = _FOLDER_STACK.match(word.text or word.prefix)
    return Word(None, is_single=word.is_single) if is_folder_stack else word


def _braces(tokens: Sequence[_Token]) -> list[list[_Token]]:
    """Return the variants of a word with braces; more than `MOST_WORDS` if there are too many to list."""
    for start, token in enumerate(tokens):
        if token == "{" and (group := _group(tokens, start)):
            end, options = group
            inside = [each for option in options for each in _braces(option)]
            after = _braces(tokens[end + 1 :])
            if len(inside) * len(after) > MOST_WORDS:
                return [[]] * (MOST_WORDS + 1)
            return [[*tokens[:start], *middle, *rest] for middle in inside for rest in after]
    return [list(tokens)]


def _group(tokens: Sequence[_Token], start: int) -> tuple[int, list[Sequence[_Token]]] | None:
    """Return the end and the options of the brace expansion that begins at `start`; None if it is not one."""
    depth, commas = 0, [start]
    for index in range(start, len(tokens)):
        token = tokens[index]
        depth += (token == "{") - (token == "}")
        if token == "," and depth == 1:
            commas.append(index)
        elif depth == 0:
            bounds = [*commas, index]
            if len(commas) > 1:
                return index, [tokens[first + 1 : last] for first, last in pairwise(bounds)]
            values = _sequence(tokens[start + 1 : index])
            return (index, values) if values else None
    return None


def _sequence(tokens: Sequence[_Token]) -> list[Sequence[_Token]]:
    found = _SEQUENCE.fullmatch("".join(each if isinstance(each, str) else "\0" for each in tokens))
    if not found:
        return []
    first, last, step = found.groups()
    if first.isalpha() != last.isalpha():
        return []
    width = max(len(first), len(last)) if re.match(r"-?0\d", first) or re.match(r"-?0\d", last) else 0
    start, end = (ord(first), ord(last)) if first.isalpha() else (int(first), int(last))
    size = abs(int(step or 1)) or 1
    numbers = range(start, end + 1, size) if start <= end else range(start, end - 1, -size)
    shown = (chr(number) if first.isalpha() else f"{number:0{width}d}" for number in numbers[: MOST_WORDS + 1])
    return [list(text) for text in shown]


_ESCAPES = dict(zip("ntrabfveE\\'\"?", "\n\t\r\a\b\f\v\x1b\x1b\\'\"?", strict=True))
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|.)", re.DOTALL)


def ansi_c(text: str) -> str | None:
    r"""Return the value of `$'…'`; None if it has an escape that is not known, or one for part of a character.

    Source: "ANSI-C Quoting" in the manual of bash.
    """
    characters = list(_ansi_c(text))
    return None if None in characters else "".join(each or "" for each in characters)


def _ansi_c(text: str) -> Iterator[str | None]:
    end = 0
    for found in _ESCAPE.finditer(text):
        yield text[end : found.start()]
        end, code = found.end(), found[1]
        if (code[0] in "xuU" and len(code) > 1) or code[0] in "01234567":
            number = int(code[1:], 16) if code[0] in "xuU" else int(code, 8)
            yield chr(number) if 0 < number < (0x80 if code[0] not in "uU" else 0xD800) else None
        else:
            yield _ESCAPES.get(code)
    yield text[end:]
