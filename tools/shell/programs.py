"""Judgement of simple commands by the tables of their programs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from harness.risk import Coverage, PathAccess
from tools.shell.expressions import judge_find, judge_test
from tools.shell.languages import check_script
from tools.shell.options import Resolved, resolve
from tools.shell.program_paths import option_paths, paths_of
from tools.shell.tables import Judgement, ProgramTable, load_table
from tools.shell.words import Word

_ALIASES = {":": "true"}
_OPTION = re.compile(r"(option \S+)")
_UNKNOWN_OPTION = "unknown option "
_ABOUT = frozenset({"-v", "-V", "-VV", "-version", "--version", "-h", "--help"})
"""Options that only describe a program."""
_SYSTEM_FOLDERS = ("/bin", "/usr/bin")
_WILD = ("*", "?", "[", "+(", "@(", "!(")


def judge(words: Sequence[Word]) -> Judgement:
    """Judge one simple command: its program, options and operands.

    Args:
        words: The command after expansion, without assignments and redirections.

    Returns:
        A judgement with verdict `read` only if a table knows the program, every option and every operand. A command
        that the program runs is in `inner`, and the verdict does not include it.
    """
    name = program_name(words[0]) if words else ""
    if not name:
        return Judgement("other", "the program is only known when the command runs")
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words)
    table = load_table(_ALIASES.get(name, name))
    if table is None:
        return Judgement("other", f"{name} is not known to be read-only")
    return _judge(name, table, words[1:])


def program_name(word: Word) -> str:
    """Return the name of a program without the folders of the system; empty if it is not known."""
    if not word.is_literal or not word.text:
        return ""
    if "/" not in word.text:
        return word.text
    folder, name = posixpath.split(word.text)
    return name if folder in _SYSTEM_FOLDERS else word.text


_SPECIAL: Mapping[str, Callable[[Sequence[Word]], Judgement]] = {
    "find": judge_find,
    "[": judge_test,
    "test": judge_test,
}


def _judge(name: str, table: ProgramTable, words: Sequence[Word]) -> Judgement:
    if table.subcommands:
        return _judge_subcommand(name, table, words)
    found = resolve(table.options, words)
    scripts, operands = _split_script(table, found)
    in_file, in_script = _response_file(name, table, operands), _script_problem(name, table, scripts)
    why = (
        table.why
        or _named(found.problem, name)
        or _missing(name, table, found, operands)
        or in_file
        or _unknown_word(name, table, found, operands)
        or _named(_value_problem(table, found), name)
        or in_script
        or _line_problem(name, table, words)
    )
    runs = table.operands == "command" and not found.has(table.lists)
    inner = tuple(operands[table.skip :]) if runs else None
    is_known = not found.problem.startswith("unknown")
    is_refused = is_known and bool(found.problem or in_script or in_file)
    coverage: Coverage = "exact" if why and runs else "written" if is_refused else "any"
    accesses = tuple(paths_of(table, found, operands, scripts))
    return Judgement("other" if why else "read", why, accesses, inner or None, coverage)


def _judge_subcommand(name: str, table: ProgramTable, words: Sequence[Word]) -> Judgement:
    """Judge `git -C FOLDER log …`: options of the program, then a subcommand with its own table."""
    found = resolve(table.options, words)
    first = found.operands[0] if found.operands else None
    sub = table.subcommands.get(first.text or "") if first is not None and first.is_literal else None
    if found.problem or sub is None or first is None:
        if table.bare and _starts_with_option(words):
            return _judge(f"{name} {table.bare}", table.subcommands[table.bare], words)
        if found.problem or first is None:
            return _judge(name, msgspec.structs.replace(table, subcommands={}), words)
        return Judgement("other", f"{name} {first.text or '…'} is not known to be read-only")
    why = _unknown_word(name, table, found, ())
    if why:
        return Judgement("other", why)
    judged = _judge(f"{name} {first.text}", sub, found.operands[1:])
    return msgspec.structs.replace(judged, accesses=_entered(table, found, judged.accesses))


def _starts_with_option(words: Sequence[Word]) -> bool:
    return not words or (words[0].is_literal and (words[0].text or "").startswith("-"))


def _entered(table: ProgramTable, found: Resolved, accesses: tuple[PathAccess, ...]) -> tuple[PathAccess, ...]:
    """Return the accesses of a subcommand and of its program's own options; `-C` enters a folder first."""
    folder = posixpath.join("", *(word.text or "" for word in found.values(("-C",))))
    entered = (msgspec.structs.replace(each, cwd=folder) for each in accesses) if folder else accesses
    return (*option_paths(table, found), *entered)


def _named(problem: str, name: str) -> str:
    """Return the problem with an option with the name of the program: "option -o of sort writes a file"."""
    if not problem:
        return ""
    if problem.startswith(_UNKNOWN_OPTION):
        return f"{name} {problem.removeprefix(_UNKNOWN_OPTION)} is not known to be read-only"
    return _OPTION.sub(rf"\1 of {name}", problem)


def _split_script(table: ProgramTable, found: Resolved) -> tuple[list[Word], list[Word]]:
    """Return the program texts of a command, such as a pattern or a sed script, and its other operands."""
    if not table.language:
        return [], found.operands
    scripts = list(found.values(table.script_options))
    if scripts or found.has(table.replaces_script):
        return scripts, found.operands
    return found.operands[:1], found.operands[1:]


def _response_file(name: str, table: ProgramTable, operands: Sequence[Word]) -> str:
    if not table.has_response_files or not any(map(_may_begin_with_at, operands)):
        return ""
    return f"an argument of {name} may name a file with options"


def _may_begin_with_at(word: Word) -> bool:
    start = word.prefix if word.text is None else word.text
    return not start or start.startswith(("@", *_WILD) if word.is_glob else "@")


def _missing(name: str, table: ProgramTable, found: Resolved, operands: Sequence[Word]) -> str:
    if table.requires and not found.has(table.requires):
        others = sorted(set(table.requires) - _ABOUT)
        return (
            f"{name} only reads with one of {', '.join(others)}" if others else f"{name} is not known to be read-only"
        )
    if operands and table.operand_options and not found.has(table.operand_options):
        return f"{name} with an operand may change something"
    if operands and table.operands == "none":
        return f"{name} with an operand is not known to be read-only"
    if len(operands) < table.least:
        return f"{name} without an operand is not known to be read-only"
    count = sum(1 if _is_one(word) else 2 for word in operands)
    return f"{name} {table.too_many}" if 0 <= table.most < count else ""


def _is_one(word: Word) -> bool:
    """Return True if a word stays one; `{}` of `find` may become many."""
    return word.is_literal or (word.is_single and not word.is_glob and word.folder is None)


def _unknown_word(name: str, table: ProgramTable, found: Resolved, operands: Sequence[Word]) -> str:
    if not all(_is_harmless_option(table, word) for word in found.uncertain):
        return f"an argument of {name} may be an option when the command runs"
    is_path = table.operands not in ("text", "none", "command")
    paths = [*found.values(table.paths), *(operands if is_path else ())]
    if any(word.text is None and word.folder is None for word in paths):
        return f"a file of {name} is only known when the command runs"
    return ""


def _is_harmless_option(table: ProgramTable, word: Word) -> bool:
    if table.operands == "command":
        return True
    if not table.any_operand:
        return False
    if word.is_glob:
        # A file may have the name of an option with a path, unless the end of the glob rules that out.
        return not table.paths or (word.text or "")[-1:] not in ("*", "?", "]")
    if word.folder is not None:
        return True
    return table.operands == "text" and not table.paths


def _script_problem(name: str, table: ProgramTable, scripts: Sequence[Word]) -> str:
    if not table.language or table.language == "pattern":
        return ""
    for script in scripts:
        why = check_script(table.language, script.text) if script.is_literal and script.text is not None else _UNKNOWN
        if why:
            return f"the program text of {name} {why}"
    return ""


def _value_problem(table: ProgramTable, found: Resolved) -> str:
    for option in found.options:
        refused = table.refused_values.get(option.name)
        if refused and option.value is not None and (option.value.text is None or refused in option.value.text):
            return f"the value of option {option.name} may contain {refused}"
    return ""


def _line_problem(name: str, table: ProgramTable, words: Sequence[Word]) -> str:
    if not table.pattern:
        return ""
    if not all(word.is_literal for word in words):
        return f"an argument of {name} {_UNKNOWN}"
    line = " ".join(word.text or "" for word in words)
    return "" if re.fullmatch(table.pattern, line) else f"unknown arguments of {name}: {line}"


_UNKNOWN = "is only known when the command runs"
