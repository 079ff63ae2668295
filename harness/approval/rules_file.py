"""Rules file of a project: reading, migration of versions 1 and 2, and atomic changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.approval.patterns import PREFIX, literal_path
from harness.approval.rules import parse_rule
from harness.errors import ConfigError, NotAFile
from harness.messages import JsonObject, JsonValue
from harness.permissions import SHELL, Rule, RuleKey, RuleSource, RuleUsage
from harness.workspace.disk import read_small_text, write_atomically

_LOCK_SECONDS = 5.0
_MAX_BYTES = 10 * 1024 * 1024
_VERSION = 3

NewUses: TypeAlias = Mapping[RuleKey, tuple[int, RuleUsage]]
"""Uses to add to each rule, and its usage."""


class StoredRules(Struct, frozen=True):
    """Content of a rules file."""

    rules: tuple[Rule, ...] = ()
    """The rules."""
    usage: dict[RuleKey, RuleUsage] = {}
    """RuleUsage of the rules."""
    problem: str = ""
    """Reason the file cannot be used; nothing is allowed then, but its other rules apply."""
    version: int = _VERSION
    """Version of the file."""


def read_rules(path: Path) -> StoredRules:
    """Return the content of a rules file; no rules if it does not exist. An invalid file allows nothing."""
    try:
        data: JsonValue = json.loads(read_small_text(path, _MAX_BYTES))
    except FileNotFoundError:
        return StoredRules()
    except (OSError, NotAFile, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        return StoredRules(problem=f"{path}: cannot be read, so nothing in it is allowed: {why}")
    match data:
        case {"version": 1 | 2 | 3 as version, "rules": list() as entries}:
            return _decoded(path, int(version), entries)
        case _:
            return StoredRules(problem=_invalid(path))


def change_rules(path: Path, change: Callable[[tuple[Rule, ...]], tuple[Rule, ...]], uses: NewUses) -> str:
    """Change a rules file atomically, also against other processes. An invalid file is left unchanged.

    Args:
        path: The file.
        change: Returns the new rules for those in the file.
        uses: Uses to add to the counts in the file.

    Returns:
        The reason if the file could not be changed, else an empty string.
    """
    # Imported late: only storing a rule needs it.
    import filelock

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with filelock.FileLock(path.with_name(path.name + ".lock"), timeout=_LOCK_SECONDS):
            stored = read_rules(path)
            if stored.problem:
                return stored.problem
            if stored.version < _VERSION:
                shutil.copyfile(path, path.with_name(f"{path.stem}.v2{path.suffix}"))
            _write(path, change(stored.rules), stored.usage, uses)
            return ""
    except (OSError, filelock.Timeout) as error:
        return f"{path}: the rule could not be stored: {getattr(error, 'strerror', None) or error}"


def _write(path: Path, rules: tuple[Rule, ...], usage: Mapping[RuleKey, RuleUsage], uses: NewUses) -> None:
    today = date.today().isoformat()
    entries: list[JsonObject] = []
    for rule in rules:
        before = usage.get(rule.key, RuleUsage(added=today))
        count, latest = uses.get(rule.key, (0, before))
        entry: JsonObject = {"rule": str(rule), "effect": rule.effect, "added": before.added}
        entry["offered"] = rule.is_offered
        entries.append({**entry, "uses": before.uses + count, "last_used": latest.last_used or before.last_used})
    data = {"version": _VERSION, "rules": entries}
    write_atomically(path, f"{json.dumps(data, indent=2, ensure_ascii=False)}\n".encode())


def _decoded(path: Path, version: int, entries: list[JsonValue]) -> StoredRules:
    rules: list[Rule] = []
    usage: dict[RuleKey, RuleUsage] = {}
    is_valid = True
    for entry in entries:
        decoded = _decode_earlier(entry, path) if version < _VERSION else _decode(entry, path)
        if decoded is None:
            is_valid = False
            continue
        rule, used = decoded
        rules.append(rule)
        usage[rule.key] = used
    if is_valid:
        # A rule for the whole shell never covered a command in these versions.
        kept = rules if version == _VERSION else [rule for rule in rules if rule.pattern or rule.tool != SHELL]
        return StoredRules(tuple(kept), usage, version=version)
    strict = tuple(rule for rule in rules if rule.effect != "allow")
    return StoredRules(strict, usage, _invalid(path), version)


def _decode(entry: JsonValue, path: Path) -> tuple[Rule, RuleUsage] | None:
    match entry:
        case {"rule": str() as text, "effect": "allow" | "ask" | "deny" as effect}:
            used = RuleUsage(_number(entry.get("uses")), _text(entry.get("last_used")), _text(entry.get("added")))
            place = f"{path}, added {used.added}" if used.added else str(path)
            try:
                rule = parse_rule(text, effect, RuleSource("local", place))
                return replace(rule, is_offered=entry.get("offered") is not False), used
            except ConfigError:
                return None
        case _:
            return None


def _decode_earlier(entry: JsonValue, path: Path) -> tuple[Rule, RuleUsage] | None:
    source = RuleSource("local", str(path))
    match entry:
        case {"tool": str() as tool, "scope": "", "exact": str() as exact} if tool and exact:
            if tool == SHELL:
                return Rule(tool, exact, source=source, is_exact=True), RuleUsage()
            return Rule(tool, literal_path(exact), source=source), RuleUsage()
        case {"tool": str() as tool, "scope": str() as scope} if tool and "exact" not in entry:
            return Rule(tool, f"{scope}{PREFIX}" if scope else "", source=source, is_offered=True), RuleUsage()
        case _:
            return None


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _invalid(path: Path) -> str:
    return f"{path}: not a list of rules, so nothing in it is allowed; repair or delete it"
