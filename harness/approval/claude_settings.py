"""Import of permission rules from the settings of Claude Code.

Source: https://code.claude.com/docs/en/permissions and https://code.claude.com/docs/en/settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field

from harness.approval.claude_tools import CLAUDE_TOOLS
from harness.approval.modes import ApprovalMode
from harness.approval.rules import parse_rule
from harness.errors import ConfigError, NotAFile
from harness.messages import JsonObject, JsonValue
from harness.permissions import Effect, Level, Rule, RuleSource
from harness.workspace.disk import read_small_text

MAX_BYTES = 256 * 1024

_EFFECTS: tuple[Effect, ...] = ("deny", "ask", "allow")
_RULE = re.compile(r"(?P<tool>[A-Za-z0-9_*-]+)(?:\((?P<pattern>.*)\))?", re.DOTALL)
_MODES: dict[str, ApprovalMode] = {"default": "smart", "acceptEdits": "edits", "dontAsk": "on"}


class ImportedSettings(Struct):
    """Permissions from a settings file of Claude Code."""

    rules: list[Rule] = field(default_factory=list[Rule])
    """The rules."""
    approval: ApprovalMode | None = None
    """Approval mode; None if the file sets none that is imported."""
    starts_planning: bool = False
    """True if a session starts in plan mode."""
    forbids_off: bool = False
    """True if approval must not be turned off."""
    notices: list[str] = field(default_factory=list[str])
    """Entries that are not or only partly imported, each with file and line."""


def import_claude_settings(path: Path, level: Level) -> ImportedSettings:
    """Return the permissions of a settings file; none if it does not exist.

    An entry that is not supported is reported. In place of an unsupported rule that denies or asks, every call of
    the tool needs approval, so that an import allows nothing more than the file does.

    Args:
        path: The file.
        level: Level of its rules.
    """
    imported = ImportedSettings()
    try:
        text = read_small_text(path, MAX_BYTES)
        data: JsonValue = json.loads(text)
    except FileNotFoundError:
        return imported
    except (OSError, NotAFile, ValueError, RecursionError) as error:
        imported.notices.append(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")
        return imported
    match data:
        case {"permissions": dict() as permissions}:
            _Import(path, text, level, imported).add(permissions)
        case _:
            pass
    return imported


def rules_of(entry: str, effect: Effect, source: RuleSource) -> tuple[Rule, ...]:
    """Return the rules of cinch for a rule of Claude Code, such as `Bash(git commit:*)`; rules of cinch are kept.

    Args:
        entry: The rule.
        effect: Effect of the rule.
        source: Origin of the rule.

    Raises:
        ConfigError: The text is not a rule, or cinch has none that means the same.
    """
    found = _RULE.fullmatch(entry.strip())
    if found is None:
        raise ConfigError(f"{entry!r} is not a permission rule")
    if problem := _problem(found["tool"], found["pattern"], source.level):
        raise ConfigError(problem)
    pattern = "" if found["pattern"] in (None, "*", "") else f"({found['pattern']})"
    return tuple(parse_rule(f"{tool}{pattern}", effect, source) for tool in _rule_names(found["tool"]))


def _rule_names(name: str) -> tuple[str, ...]:
    found = CLAUDE_TOOLS.get(name)
    return found.rules if found else (name,)


def _problem(tool: str, pattern: str | None, level: Level) -> str:
    """Return the reason a rule has no counterpart; empty if it has one."""
    if pattern is None:
        return ""
    # Names of cinch's own tools are in lower case.
    if tool not in CLAUDE_TOOLS and tool[0].isupper():
        return f"{tool} is not a tool of cinch"
    is_path = tool in ("Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "LS", "Grep")
    if is_path and level == "user" and pattern.startswith("/") and not pattern.startswith("//"):
        return "its path is relative to the settings file"
    if tool == "Bash" and pattern.startswith("="):
        return "a command cannot start with ="
    return ""


class _Import:
    def __init__(self, path: Path, text: str, level: Level, imported: ImportedSettings) -> None:
        self._path = path
        self._text = text
        self._level: Level = level
        self._imported = imported

    def add(self, permissions: JsonObject) -> None:
        for effect in _EFFECTS:
            entries = permissions.get(effect, [])
            if not isinstance(entries, list):
                self._notice(effect, f"permissions.{effect} is not a list and is not imported")
                continue
            for entry in entries:
                self._add_entry(entry, effect)
        self._add_mode(permissions.get("defaultMode"))
        self._imported.forbids_off = permissions.get("disableBypassPermissionsMode") == "disable"
        for folder in _texts(permissions.get("additionalDirectories")):
            self._notice(folder, f"additionalDirectories is not imported; start cinch with --add-dir {folder}")

    def _add_entry(self, entry: JsonValue, effect: Effect) -> None:
        found = _RULE.fullmatch(entry.strip()) if isinstance(entry, str) else None
        if not isinstance(entry, str) or found is None:
            self._notice(str(entry), f"{entry!r} is not a permission rule and is not imported")
            return
        try:
            rules = rules_of(entry, effect, self._source(entry))
        except ConfigError as error:
            self._unsupported(entry, _rule_names(found["tool"]), effect, str(error))
            return
        self._imported.rules += rules
        if found["tool"] not in CLAUDE_TOOLS and not found["tool"].startswith("mcp__"):
            self._notice(entry, f"{entry!r} names no tool of cinch and has no effect")
        elif found["tool"] in ("Write", "NotebookEdit") and rules[0].pattern:
            self._notice(entry, f"{entry!r} is imported as {rules[0]}, which covers every tool that changes files")

    def _unsupported(self, entry: str, tools: tuple[str, ...], effect: Effect, why: str) -> None:
        if effect != "allow":
            source = self._source(entry)
            self._imported.rules += [Rule(tool, effect="ask", source=source) for tool in tools]
            self._notice(entry, f"{entry!r} is not supported ({why}); every call of {', '.join(tools)} needs approval")
        else:
            self._notice(entry, f"{entry!r} is not supported ({why}) and is not imported")

    def _add_mode(self, mode: JsonValue) -> None:
        match mode:
            case None:
                pass
            case "plan":
                self._imported.starts_planning = True
            case "default" | "acceptEdits" | "dontAsk":
                self._imported.approval = _MODES[mode]
                if mode == "dontAsk":
                    self._notice(
                        mode, "defaultMode 'dontAsk' is imported as approval mode on, which denies in print mode only"
                    )
            case _:
                self._notice(str(mode), f"defaultMode {mode!r} is not imported; set approval.mode if you want it")

    def _source(self, entry: str) -> RuleSource:
        return RuleSource(self._level, self._place(entry))

    def _notice(self, entry: str, text: str) -> None:
        self._imported.notices.append(f"{self._place(entry)}: {text}")

    def _place(self, entry: str) -> str:
        """Return the file and, if the entry can be found there, the line."""
        for quoted in (json.dumps(entry), json.dumps(entry, ensure_ascii=False)):
            if (at := self._text.find(quoted)) >= 0:
                return f"{self._path}, line {self._text.count(chr(10), 0, at) + 1}"
        return str(self._path)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, str))
