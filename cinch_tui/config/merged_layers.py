"""Merging of settings from several layers.

A later layer wins; lists are concatenated. What the managed file sets can only be made stricter. An unknown key or an
invalid value in a file is an error: a setting that silently has no effect is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from cinch_tui.config.config import HookTable, Layer, Origin, RuleEffect, RuleText
from cinch_tui.config.named_tables import NAMED_TABLES
from cinch_tui.config.names import RENAMED, SettingKey, find_key, is_as_strict, keys, variable_of
from cinch_tui.config.setting import Value
from cinch_tui.config.settings import Settings
from cinch_tui.fuzzy_match import did_you_mean
from extensions.variables import expand_variables, names_variable
from harness.errors import ConfigError

if TYPE_CHECKING:
    from cinch_tui.config.api_tables import ApiTable
    from cinch_tui.config.file import ConfigEntry, ConfigFile
    from cinch_tui.config.lsp_tables import LspTable
    from cinch_tui.config.server_keys import ServerTable
    from cinch_tui.trust.claude_settings import ClaudeFile


SHORT_VARIABLES = {"CINCH_MODEL": "model.name"}
LIMIT = "approval.loosest_mode"
EXAMPLES = "permissions.examples."
"""Prefix of the names in the table with examples of permission rules."""
HOOKS = "hooks."
"""Prefix of the names of hooks."""
RULE_FORMS: dict[str, tuple[RuleEffect, str]] = {
    "permissions.allow": ("allow", "{}"),
    "permissions.ask": ("ask", "{}"),
    "permissions.deny": ("deny", "{}"),
    "tools.bash.deny": ("deny", "bash({})"),
}
"""Settings that are permission rules: their effect, and the form of a rule."""
# Variables of cinch that are not settings.
OTHER_VARIABLES = re.compile(r"CINCH_(CLIENT_CERT|CLIENT_KEY|FIRST_FRAME|HOME|KEYRING|LOCAL_CONTEXT|MCP_TOKEN|RECORD)")


class MergedLayers:
    """The layers read so far, merged."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.values: dict[str, Value] = {}
        self.origins: dict[str, Origin] = {}
        self.held_back: list[str] = []
        self.warnings: list[str] = []
        self.untrusted_files: list[Path] = []
        self.rules: list[RuleText] = []
        self.examples: dict[str, tuple[str, ...]] = {}
        self.servers: dict[tuple[Path, str], ServerTable] = {}
        self.apis: dict[tuple[Path, str], ApiTable] = {}
        self.language_servers: dict[tuple[Path, str], LspTable] = {}
        self.hooks: list[HookTable] = []
        self._environ = environ

    def put(self, key: SettingKey, value: Value, origin: Origin) -> None:
        below = self.values.get(key.name, key.default)
        is_managed = origin.layer == "managed"
        replaces_lists = is_managed or origin.layer == "agent"
        if is_managed and key.guard == "tighten" and key.name in self.values and key.allows_untrusted(below, value):
            # The user's value is at least as strict.
            return
        if isinstance(value, tuple):
            if key.name.startswith(EXAMPLES):
                self.examples[key.name.removeprefix(EXAMPLES)] = value
                return
            self._add_rules(key.name, value, origin)
            # An `allow` entry of the user's file stays when a flag adds another; what is enabled is not extended.
            is_merged = not replaces_lists or key.name in RULE_FORMS or key.name == "tools.disabled"
            value = (*below, *value) if is_merged and isinstance(below, tuple) else value
        self.values[key.name] = value
        self.origins[key.name] = origin

    def _add_rules(self, name: str, texts: Sequence[str], origin: Origin) -> None:
        if name in RULE_FORMS:
            effect, form = RULE_FORMS[name]
            self.rules += [RuleText(effect, form.format(text), origin.layer, origin.place) for text in texts]

    def with_limited_mode(self, settings: Settings) -> Settings:
        """Return the settings with an approval mode that is not looser than the loosest one allowed."""
        approval = settings.approval
        if is_as_strict(approval.mode, approval.loosest_mode):
            return settings
        limit = self.origins[LIMIT].place
        self.warnings.append(f"approval mode {approval.mode} is not allowed by {limit}; using {approval.loosest_mode}")
        self.values["approval.mode"] = approval.loosest_mode
        self.origins["approval.mode"] = self.origins[LIMIT]
        return replace(settings, approval=replace(approval, mode=approval.loosest_mode))

    def add_file(self, file: ConfigFile, layer: Layer, *, trusted: bool = True) -> None:
        before = len(self.held_back)
        self._add_entries(file, layer, trusted=trusted)
        if len(self.held_back) > before:
            self.untrusted_files.append(file.path)

    def _add_entries(self, file: ConfigFile, layer: Layer, *, trusted: bool) -> None:
        for written, entry in file.entries.items():
            place = f"{file.path}, line {entry.line}" if entry.line else str(file.path)
            if written.startswith(NAMED_TABLES):
                self._add_to_table(written, entry, (file.path, layer), trusted=trusted)
                continue
            name = RENAMED.get(written, written)
            key = find_key(name)
            if key is None:
                raise ConfigError(f"{place}: unknown key {name!r}{_nearest(name)}")
            if name != written:
                is_ignored = name in file.entries
                self.warnings.append(_renamed(f"{place}: {written}", name, is_ignored=is_ignored))
                if is_ignored:
                    continue
            # An untrusted file must not read the environment: it may hold secrets.
            if not trusted and names_variable(entry.value):
                self.held_back.append(name)
                continue
            value = self._admitted(key, self._checked(key, entry, place), layer, trusted=trusted)
            if value is None:
                self.held_back.append(name)
            else:
                self.put(key, value, Origin(entry.value, place, layer))

    def _admitted(self, key: SettingKey, value: Value, layer: Layer, *, trusted: bool) -> Value | None:
        """Return the value that a file may set; None if it must not."""
        below = self.values.get(key.name, key.default)
        if layer == "agent" and key.name == "tools.enabled" and not trusted:
            # Fewer tools need no trust.
            return _narrowed(value, below)
        return value if trusted or key.allows_untrusted(value, below) else None

    def _add_hooks(self, name: str, entry: ConfigEntry, origin: tuple[Path, Layer], *, trusted: bool) -> None:
        path, layer = origin
        if not trusted:
            self.held_back.append(name)
        self.hooks.append(HookTable(name.removeprefix(HOOKS), entry.value, path, layer, trusted))

    def _add_to_table(self, name: str, entry: ConfigEntry, origin: tuple[Path, Layer], *, trusted: bool) -> None:
        if name.startswith(HOOKS):
            self._add_hooks(name, entry, origin, trusted=trusted)
            return
        # Imported here because few users have such tables.
        from cinch_tui.config.api_tables import API_TABLE, ApiTable
        from cinch_tui.config.lsp_tables import LSP_TABLE, LspTable
        from cinch_tui.config.server_keys import SERVER_TABLE, ServerTable

        path, layer = origin
        kind = next(each for each in (SERVER_TABLE, API_TABLE, LSP_TABLE) if name.startswith(each.prefix))
        own, _, key = name.removeprefix(kind.prefix).partition(".")
        if not trusted:
            self.held_back.append(f"{kind.prefix}{own}")
        values: dict[str, Value] = {}
        about = (own, values, str(path), entry.line, layer)
        if kind is SERVER_TABLE:
            table = self.servers.setdefault((path, own), ServerTable(*about, is_trusted=trusted))
        elif kind is API_TABLE:
            table = self.apis.setdefault((path, own), ApiTable(*about, is_trusted=trusted))
        else:
            table = self.language_servers.setdefault((path, own), LspTable(*about, is_trusted=trusted))
        try:
            # Variables are expanded when the table is used: a missing one must not affect others.
            table.values[key] = kind.checked(name, entry.value)
        except ValueError as error:
            raise ConfigError(f"{path}, line {entry.line}: {error}" if entry.line else f"{path}: {error}") from error

    def add_claude_files(self, files: Iterable[ClaudeFile]) -> None:
        """Add modes in the settings of Claude Code: limits, and defaults for what no layer sets."""
        own = frozenset(self.origins)
        for file in sorted(files, key=lambda each: each.level == "managed"):
            layer = file.level if file.level in ("project", "local") else "file"
            for name, value in file.settings.items():
                below = self.values.get(name, keys()[name].default)
                is_limit = name == LIMIT
                may_loosen = file.is_trusted and not is_limit
                if (is_limit or name not in own) and (may_loosen or is_as_strict(value, below)):
                    self.put(keys()[name], value, Origin(value, str(file.path), layer))

    def with_own_keys(self, settings: Settings) -> Settings:
        """Return the settings with the valid part of [keys].

        Invalid keys are only warned about: a key without effect is noticed at once.
        """
        # Without keys of the user's own, the table is not needed.
        from cinch_tui.keybindings.user_keys import KeySetting, resolve_user_keys

        written = {name: KeySetting(text, self.origins[f"keys.{name}"].place) for name, text in settings.keys.items()}
        own = resolve_user_keys(written)
        self.warnings.extend(own.problems)
        return replace(settings, keys=own.keys)

    def add_environment(self) -> None:
        known = {key.variable: key for key in keys().values()} | {
            variable: keys()[name] for variable, name in SHORT_VARIABLES.items()
        }
        former = {variable_of(old): keys()[name] for old, name in RENAMED.items()}
        for variable, text in self._environ.items():
            if not variable.startswith("CINCH_") or OTHER_VARIABLES.fullmatch(variable) or not text:
                continue
            if variable in known:
                self._add_variable(variable, known[variable])
            elif variable in former:
                key = former[variable]
                is_ignored = bool(self._environ.get(key.variable))
                self.warnings.append(_renamed(f"environment variable {variable}", key.variable, is_ignored=is_ignored))
                if not is_ignored:
                    self._add_variable(variable, key)
            else:
                self.warnings.append(f"unknown environment variable {variable}{did_you_mean(variable, known)}")

    def _add_variable(self, variable: str, key: SettingKey) -> None:
        text = self._environ[variable]
        try:
            value = key.parse(text)
        except ValueError as error:
            raise ConfigError(f"environment variable {variable} {error}, not {text!r}") from error
        self.put(key, value, Origin(text, variable, "environment"))

    def _checked(self, key: SettingKey, entry: ConfigEntry, place: str) -> Value:
        try:
            value = expand_variables(entry.value, self._environ)
            # `${TURNS}` can only be written as a string, whatever the type of the key.
            is_text = isinstance(value, str) and names_variable(entry.value) and key.kind is not str
            return key.parse(str(value)) if is_text else key.check(value)
        except ValueError as error:
            raise ConfigError(f"{place}: {key.name} {error}, not {entry.value!r}") from error


def _renamed(former: str, current: str, *, is_ignored: bool) -> str:
    consequence = "it is ignored, since both are set" if is_ignored else "please update the name"
    return f"{former} was renamed to {current}; {consequence}"


def _nearest(name: str) -> str:
    last = name.rpartition(".")[2]
    same_end = next((known for known in keys() if known.rpartition(".")[2] == last), "")
    return f"; did you mean {same_end!r}?" if same_end else did_you_mean(name, keys())


def _narrowed(names: Value, patterns: Value) -> Value:
    """Return those of the names of tools that the patterns enable; no patterns enable all."""
    if not isinstance(names, tuple) or not isinstance(patterns, tuple) or not patterns:
        return names
    # An empty list would enable all tools.
    return tuple(name for name in names if any(fnmatchcase(name, each) for each in patterns)) or ("none",)
