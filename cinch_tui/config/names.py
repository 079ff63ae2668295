"""Settings by dotted name: type, bounds, parsing, which files may set them, and when a change applies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain
from math import isfinite
from operator import attrgetter
from typing import Literal, get_args, get_origin, get_type_hints

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from cinch_tui.config.setting import NEXT_START, EffectTime, Guard, OpenTable, Setting, Value
from cinch_tui.config.settings import Settings


class SettingKey(Struct, frozen=True):
    """One setting."""

    name: str
    """Dotted name, such as `limits.max_turns`."""

    kind: type[str | int | float | bool | tuple[str, ...]]
    default: Value
    doc: str
    guard: Guard
    applies: EffectTime
    """The time when a change applies."""

    choices: tuple[str, ...] = ()
    minimum: float | None = None
    field: str = ""
    """Field of the table's struct; empty in an open table."""
    maximum: float | None = None

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return variable_of(self.name)

    def check(self, value: object) -> Value:
        """Return the value in the type of this key.

        Raises:
            ValueError: the type or the bounds are wrong; the message names valid values.
        """
        checked = self._of_kind(value)
        chosen = checked if isinstance(checked, tuple) else (checked,)
        if self.choices and any(choice not in self.choices for choice in chosen):
            several = "be made of" if isinstance(checked, tuple) else "be one of"
            raise ValueError(f"must {several} {', '.join(self.choices)}")
        if self.minimum is not None and isinstance(checked, int | float) and checked < self.minimum:
            raise ValueError(f"must be {self.minimum:g} or more")
        if self.maximum is not None and isinstance(checked, int | float) and checked > self.maximum:
            raise ValueError(f"must be {self.maximum:g} or less")
        return checked

    def parse(self, text: str) -> Value:
        """Parse a text such as the value of an environment variable; the items of a list are separated by commas.

        Raises:
            ValueError: as `check`.
        """
        return self.check(_parsed(self.kind, text.strip()))

    def allows_untrusted(self, value: Value, below: Value) -> bool:
        """Return True if an untrusted file may set this value.

        Args:
            value: the value to set.
            below: the value that applies without it.
        """
        match self.guard:
            case "open":
                return True
            case "held":
                return False
            case "tighten":
                return is_as_strict(value, below)

    def _of_kind(self, value: object) -> Value:
        # NaN and infinity would defeat comparisons with a limit.
        with suppress(ValidationError):
            checked = convert(value, tuple[str, ...]) if self.kind is tuple else convert(value, self.kind)
            if not isinstance(checked, float) or isfinite(checked):
                return checked
        raise ValueError(f"must be {KIND_NAMES[self.kind]}")


# Strictest first, of approval modes and of headless approval.
STRICTNESS: tuple[Value, ...] = ("on", "smart", "edits", "off", "deny", "allow")
SWITCHES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
KIND_NAMES: dict[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple: "a list of texts",
}

RENAMED = {
    **{f"cache.{key}": f"prompt_cache.{key}" for key in ("strategy", "tools", "system", "messages", "lifetime")},
    **{
        f"agents.{key}": f"subagents.{key}"
        for key in ("max_depth", "max_concurrent", "max_turns", "max_tokens", "result_chars")
    },
    "approval.allow": "permissions.allow",
    "limits.max_seconds": "limits.max_duration_s",
    "tools.cache_ttl_rounds": "tools.cache_ttl_turns",
    "plan.first": "plan.enabled",
    "ui.status_seconds": "ui.status_interval_s",
    "ui.side_by_side": "ui.side_by_side_min_columns",
}
"""Former names of settings with their current ones: accepted with a warning."""


def variable_of(name: str) -> str:
    """Return the environment variable for a dotted name."""
    return "CINCH_" + name.replace(".", "_").upper()


def former_names(name: str) -> tuple[str, ...]:
    """Return the names that a setting had before."""
    return tuple(former for former, current in RENAMED.items() if current == name)


@cache
def keys() -> dict[str, SettingKey]:
    """Return every key, in the order of the example file."""
    tables = {table: get_args(hint) for table, hint in get_type_hints(Settings, include_extras=True).items()}
    settings = (keys_of(table, *args) for table, args in tables.items() if table not in open_tables())
    return {key.name: key for key in chain.from_iterable(settings)}


@cache
def open_tables() -> dict[str, OpenTable]:
    """Return the tables with free keys, with their description and an example."""
    hints = get_type_hints(Settings, include_extras=True)
    return {name: table for name, hint in hints.items() for table in get_args(hint) if isinstance(table, OpenTable)}


def find_key(name: str) -> SettingKey | None:
    """Return the key of that name, also one in an open table; not one of an MCP server, see `server_keys`."""
    if name.startswith("permissions.examples."):
        return SettingKey(name, tuple, (), "examples of a permission rule", "held", NEXT_START)
    table, _, rest = name.partition(".")
    if rest and table in open_tables():
        return SettingKey(name, str, "", open_tables()[table].doc, "held", NEXT_START)
    return keys().get(name)


def build(values: Mapping[str, Value]) -> Settings:
    """Return settings with these values, which were checked before, and defaults for the rest."""
    tables: dict[str, dict[str, Value]] = {}
    for name, value in values.items():
        table, _, rest = name.partition(".")
        key = keys().get(name)
        tables.setdefault(table, {})[key.field if key else rest] = value
    defaults = Settings()
    return replace(
        defaults,
        **{
            table: chosen if table in open_tables() else replace(getattr(defaults, table), **chosen)
            for table, chosen in tables.items()
        },
    )


def value_of(settings: Settings, name: str) -> Value:
    """Return the value of a setting by its dotted name."""
    found: Value = attrgetter(f"{name.partition('.')[0]}.{keys()[name].field}")(settings)
    return found


def changed_names(before: Settings, now: Settings) -> frozenset[str]:
    """Return the names of the settings that differ."""
    return frozenset(name for name in keys() if value_of(before, name) != value_of(now, name))


def keys_of(table: str, group: type, applies: EffectTime) -> Iterator[SettingKey]:
    """Yield the keys of a table, from its struct."""
    defaults = group()
    for name, annotated in get_type_hints(group, include_extras=True).items():
        hint, setting = get_args(annotated)
        assert isinstance(setting, Setting)
        origin = get_origin(hint)
        kind = str if origin is Literal else origin or hint
        yield SettingKey(
            f"{table}.{setting.key or name}",
            kind,
            getattr(defaults, name),
            setting.doc,
            setting.guard,
            setting.applies or applies,
            _choices(hint),
            setting.minimum,
            name,
            setting.maximum,
        )


def _choices(hint: type) -> tuple[str, ...]:
    """Return the values of a Literal, or of the items of a list of Literals."""
    if get_origin(hint) is tuple:
        return _choices(get_args(hint)[0])
    return get_args(hint) if get_origin(hint) is Literal else ()


def is_as_strict(value: Value, below: Value) -> bool:
    """Return True if `value` of a setting that may be tightened is at least as strict as `below`."""
    if isinstance(value, bool):
        return value or not below
    if isinstance(value, int | float) and isinstance(below, int | float):
        # Zero means unlimited.
        return value != 0 and (below == 0 or value <= below)
    return STRICTNESS.index(value) <= STRICTNESS.index(below)


def _parsed(kind: type, text: str) -> object:
    if kind is tuple:
        return [item.strip() for item in text.split(",") if item.strip()]
    if kind is bool:
        return SWITCHES.get(text.lower(), text)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return text
    return text
