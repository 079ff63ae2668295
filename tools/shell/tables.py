"""Tables of programs: the options and operands with which a program only reads.

A table is positive: what it does not list is not known to be read-only. One TOML file per program in `programs/`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from harness.risk import Coverage, PathAccess, PathKind, Verdict
from tools.shell.options import Arity, OptionTable, Style, parse_options
from tools.shell.search_patterns import Dialect
from tools.shell.words import Word

ValueKind: TypeAlias = Literal["read", "search", "list", "write", "range"]
"""Value of an option: a path, as in `PathAccess`, or lines of a file that is read (`range`): `1,9:notes.txt`."""

OperandKind: TypeAlias = Literal["read", "search", "list", "write", "text", "none", "copy", "revision", "command"]
"""Operands of a program.

- `read`, `search`, `list`, `write`: paths, as in `PathAccess`
- `text`: no paths
- `none`: no operand is allowed
- `copy`: paths that are read, the last of which is written
- `revision`: revisions, files of a revision (`HEAD~2:notes.txt`) or paths
- `command`: a command that the program runs
"""

FOLDER = Path(__file__).parent / "programs"
"""Folder of the tables, one file per program."""
_NAME = re.compile(r"[a-z0-9_\[][a-z0-9_.+-]*")


class Judgement(Struct, frozen=True):
    """Judgement of one simple command."""

    verdict: Verdict
    """`read` if the command is known to change nothing, apart from `inner`."""
    why: str = ""
    """Reason for the verdict `other`, such as "option --output writes a file"."""
    accesses: tuple[PathAccess, ...] = ()
    """Paths that the command reads or writes, as far as they are known."""
    inner: tuple[Word, ...] | None = None
    """Command that the program runs, which must be judged too; None if it runs none."""
    coverage: Coverage = "any"
    """Rules for its first words that may cover it."""


Expression: TypeAlias = re.Pattern[str]
"""Regular expression in a file."""


class Names(frozenset[str]):
    """Names separated by blanks in a file."""


class _Behaviour(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keys that mean the same in a file and in a table."""

    verdict: Verdict = "read"
    """`other` for programs that change something whatever their options are."""
    why: str = ""
    """Reason for the verdict `other`."""
    operands: OperandKind = "none"
    """Kind of the operands."""
    expands: bool = False
    """True if the program itself expands wildcards in operands."""
    default: str = ""
    """Path that is used if there is no operand."""
    most: int = -1
    """Largest number of operands with which the program only reads; -1 = unlimited."""
    too_many: str = "has too many operands"
    """Effect of more operands than `most`."""
    least: int = 0
    """Smallest number of operands with which the program only reads."""
    any_operand: bool = False
    """True if no option does more than read, so that an operand that turns out to be an option is harmless."""
    has_response_files: bool = False
    """True if an operand such as `@file` names a file with more options."""
    has_pairs: bool = False
    """True if of two operands, one may be the folder of a file with the name of the other."""
    skip: int = 0
    """Number of operands before a command, such as the duration of `timeout`."""
    requires: Names = Names()
    """Options of which one must be given."""
    operand_options: Names = Names()
    """Options of which one must be given if there are operands."""
    recursive: Names = Names()
    """Options that make `read` operands folders to search."""
    follows: Names = Names()
    """Options with which a search reads the targets of links."""
    keeps_links: Names = Names()
    """Options with which it does not, whatever else is given."""
    globs: Names = Names()
    """Options of a search that name the files it reads; after `!`, those it does not read."""
    shows_hidden: Names = Names()
    """Options with which a search reads hidden files; empty: it reads them anyway."""
    dialects: Mapping[str, Dialect] = field(default_factory=dict[str, Dialect])
    """Dialects of the patterns of a search: with an option, and without one (`default`)."""
    any_line: Names = Names()
    """Options with which a search shows lines without a match of its patterns."""
    lists: Names = Names()
    """Options with which operands are only listed, or a command only named."""
    changes: Names = Names()
    """Options with which operands are written."""
    prefixes: Mapping[str, PathKind] = field(default_factory=dict[str, PathKind])
    """Beginnings of operands that are followed by a path, such as `of=` of dd."""
    pattern: str = ""
    """Regular expression that the words, joined by blanks, must match; empty: anything."""
    language: str = ""
    """Language of a program text: `sed`, `awk`, `jq`, `date`, `git-key`; `pattern` if any text is harmless."""
    script_options: Names = Names()
    """Options whose value is the program text; without one of them it is the first operand."""
    replaces_script: Names = Names()
    """Other options without which the first operand is the program text."""
    bare: str = ""
    """Subcommand that runs if none is given; may be empty."""


class ProgramTable(_Behaviour, frozen=True, kw_only=True):
    """A program, or one of its subcommands."""

    options: OptionTable
    """Known options."""
    paths: Mapping[str, ValueKind] = field(default_factory=dict[str, ValueKind])
    """Options whose value is a path, and how it is used."""
    refused_values: Mapping[str, str] = field(default_factory=dict[str, str])
    """Options whose value must not contain a text."""
    subcommands: Mapping[str, ProgramTable] = field(default_factory=dict[str, "ProgramTable"])
    """Tables of the subcommands; if there are any, the first operand names one."""


class _Group(Struct, frozen=True, forbid_unknown_fields=True):
    """Options that several subcommands share."""

    options: str = ""
    refuse: dict[str, str] = field(default_factory=dict[str, str])
    paths: dict[str, ValueKind] = field(default_factory=dict[str, ValueKind])
    refused_values: dict[str, str] = field(default_factory=dict[str, str])


class _Source(_Behaviour, frozen=True, kw_only=True):
    """A table as it is written in a file."""

    same_as: str = ""
    style: Style = "gnu"
    abbreviates: bool = True
    number: bool = False
    options: str = ""
    uses: tuple[str, ...] = ()
    refuse: dict[str, str] = field(default_factory=dict[str, str])
    paths: dict[str, ValueKind] = field(default_factory=dict[str, ValueKind])
    refused_values: dict[str, str] = field(default_factory=dict[str, str])
    sub: dict[str, _Source] = field(default_factory=dict[str, "_Source"])
    groups: dict[str, _Group] = field(default_factory=dict[str, _Group])


@lru_cache(maxsize=512)
def load_table(name: str) -> ProgramTable | None:
    """Return the table of a program, or None."""
    if not _NAME.fullmatch(name):
        return None
    try:
        text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    except OSError:
        return None
    source = msgspec.convert(tomllib.loads(text), _Source, dec_hook=decoded)
    if not source.same_as:
        return _table(source, source.groups)
    table = load_table(source.same_as)
    return replace(table, dialects=source.dialects) if table and source.dialects else table


def _table(source: _Source, groups: Mapping[str, _Group]) -> ProgramTable:
    own = _Group(source.options, source.refuse, source.paths, source.refused_values)
    parts = [*(groups[name] for name in source.uses), own]
    arities: dict[str, Arity] = {}
    refused: dict[str, str] = {}
    refused_values: dict[str, str] = {}
    paths: dict[str, ValueKind] = {}
    for part in parts:
        arities |= parse_options(part.options)
        for names, why in part.refuse.items():
            known = parse_options(names)
            arities |= known
            refused |= dict.fromkeys(known, why)
        for names, kind in part.paths.items():
            paths |= dict.fromkeys(names.split(), kind)
        for names, text in part.refused_values.items():
            refused_values |= dict.fromkeys(names.split(), text)
    shared = {name: getattr(source, name) for name in _Behaviour.__struct_fields__}
    return ProgramTable(
        options=OptionTable(
            arities, refused, "posix" if source.sub else source.style, source.abbreviates, source.number
        ),
        paths=paths,
        refused_values=refused_values,
        subcommands={name: _table(each, groups) for name, each in source.sub.items()},
        **shared,
    )


def decoded(kind: type, value: object) -> object:
    """Return the names or the regular expression that a file gives as text; a hook for `msgspec.convert`."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return Names(value.split()) if kind is Names else re.compile(value)
