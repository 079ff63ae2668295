"""The settings as a person sees and changes them: each with where it comes from, written to the person's own file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace

from cinch_tui.config.edit import drop_from_file, set_in_file, toml_of
from cinch_tui.config.file import read_config_file
from cinch_tui.config.layers import Config, Layer, Origin, Sources, expand_variables, load_config, must_be_read
from cinch_tui.config.names import Key, keys, value_of
from cinch_tui.config.settings import Settings, Value
from cinch_tui.config.text import shown_value
from harness.lazy_dataclass import dataclass

_NAMES: dict[Layer, str] = {"file": "yours", "project": "project", "environment": "variable", "flag": "flag"}


@dataclass(frozen=True, slots=True)
class SettingState:
    """How a setting stands: what is in force, as it was written, and what the person's own file says, if it does.

    `here` is what a command or a key put in its place for this session; None where nothing did.
    """

    key: Key
    effective: object
    origin: Origin | None
    user_value: object | None
    is_held_back: bool
    session_value: object | None = None

    @property
    def value(self) -> str:
        """Fit for the screen: what a variable stands for is not shown, nor the password in an address."""
        return shown_value(self.effective)

    @property
    def source(self) -> str:
        """Where it comes from, in a word; empty for a default."""
        return _NAMES[self.origin.layer] if self.origin else ""

    @property
    def override(self) -> Origin | None:
        """What has a later word than the person's file, if anything has."""
        return self.origin if self.origin and self.origin.layer != "file" else None

    @property
    def editable_text(self) -> str:
        """What a field to change it in begins with: the file's own words, else what is in force."""
        value = self.effective if self.user_value is None else self.user_value
        if isinstance(value, list | tuple):
            items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] texts, as was checked
            is_plain = all(isinstance(item, str) and "," not in item for item in items)
            return ", ".join(map(str, items)) if is_plain else toml_of(items)
        return value if isinstance(value, str) else toml_of(value)

    def next_choice(self, by: int) -> str | None:
        """The choice after the one of this session, or in the person's file, or before it; None where it is not one of
        a few."""
        now = self.effective if self.user_value is None or self.override else self.user_value
        now = now if self.session_value is None else self.session_value
        if self.key.kind is bool:
            return toml_of(now is not True)
        if self.key.kind is not str or not self.key.choices:
            return None
        at = self.key.choices.index(now) if now in self.key.choices else -by
        return self.key.choices[(at + by) % len(self.key.choices)]


@dataclass(frozen=True, slots=True)
class Overview:
    """All settings at one moment. `notices` is what was wrong, but harmless."""

    settings: Settings
    states: tuple[SettingState, ...]
    notices: tuple[str, ...]

    def with_session_values(self, live: Mapping[str, object]) -> Overview:
        """The same, beside what is so in this session, by the names of the settings."""

        def here(standing: SettingState) -> object | None:
            now = live.get(standing.key.name)
            return None if now == value_of(self.settings, standing.key.name) else now

        return replace(self, states=tuple(replace(each, session_value=here(each)) for each in self.states))


class SettingStore:
    def __init__(self, sources: Sources) -> None:
        self.sources = sources

    def read(self) -> Overview:
        """Look at all layers anew.

        Raises:
            ConfigError: a file or a value is wrong; nothing is in force from here then.
        """
        config = load_config(self.sources)
        file = self.sources.user_file
        read = read_config_file(file).entries if must_be_read(file) else {}
        own = {name: entry.value for name, entry in read.items()}
        return Overview(
            config.settings,
            tuple(_standing(key, config, own) for key in keys().values()),
            config.notices,
        )

    def set(self, key: Key, text: str) -> None:
        """Write what was typed to the person's file.

        Raises:
            ValueError: it does not fit; the text says what would.
            ConfigError: the file cannot be changed.
        """
        set_in_file(self.sources.user_file, key.name, self._checked(key, text))

    def reset(self, key: Key) -> None:
        """Take it out of the person's file.

        Raises:
            ConfigError: the file cannot be changed.
        """
        if must_be_read(self.sources.user_file):
            drop_from_file(self.sources.user_file, key.name)

    def _checked(self, key: Key, text: str) -> Value:
        typed = _typed(key, text)
        meant = expand_variables(typed, self.sources.environ)
        value = key.parse(meant) if isinstance(meant, str) else key.check(meant)
        if meant == typed:
            return value
        # A variable is written as it was typed, so that it is looked up at each start.
        return text.strip() if isinstance(typed, str) else tuple(map(str, typed))


def _standing(key: Key, config: Config, own: Mapping[str, object]) -> SettingState:
    origin = config.origins.get(key.name)
    in_force: object = value_of(config.settings, key.name)
    if origin is not None and key.kind is not tuple:
        in_force = origin.raw
    return SettingState(key, in_force, origin, own.get(key.name), key.name in config.held_back)


def _typed(key: Key, text: str) -> str | list[object]:
    """A list, where one is wanted: with commas between, or as TOML."""
    if key.kind is not tuple:
        return text
    if not text.lstrip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    try:
        return list(tomllib.loads(f"_ = {text.strip()}")["_"])
    except tomllib.TOMLDecodeError as error:
        raise ValueError("is no list: texts with commas between, or in quotes and brackets") from error


def settings_text(store: SettingStore, live: Mapping[str, object]) -> str:
    """All of them in lines, for where there is no screen; `live` as in `Overview.beside`.

    Raises:
        ConfigError: a file or a value is wrong.
    """
    lines: list[str] = []
    for standing in store.read().with_session_values(live).states:
        source = f"  ({standing.source})" if standing.source else ""
        here = f"; in this session {shown_value(standing.session_value)}" if standing.session_value is not None else ""
        lines.append(f"{standing.key.name} = {standing.value}{source}{here}")
    return "\n".join(
        [*lines, "", f"Your file is {store.sources.user_file}; a change there applies from the next start."]
    )
