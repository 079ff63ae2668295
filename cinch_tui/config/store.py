"""Settings as shown and changed: each with its origin, as TOML text, and written to the user's file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.config.config import Config, Layer, Origin
from cinch_tui.config.edit import drop_from_file, set_in_file, toml_of
from cinch_tui.config.file import read_config_file
from cinch_tui.config.layers import Sources, load_config, must_be_read
from cinch_tui.config.names import RENAMED, SettingKey, keys, open_tables, value_of
from cinch_tui.config.setting import Value
from cinch_tui.config.settings import Settings
from extensions.variables import expand_variables

USER_INFO = re.compile(r"://[^/@\s]*@")

HEADER = """\
# Settings of cinch: every key with its default.
# User settings: the file named by `cinch config path`. Project settings: .cinch/config.toml in the project root.
# Environment variables such as CINCH_UI_THEME and command-line flags override both. ${VAR} and ${VAR:-default} in
# strings are replaced by environment variables.
"""
_NAMES: dict[Layer, str] = {
    "file": "yours",
    "project": "project",
    "local": "local",
    "environment": "variable",
    "agent": "agent",
    "flag": "flag",
}


class SettingState(Struct, frozen=True):
    """Values of one setting in the different layers."""

    key: SettingKey
    effective: object
    """The value in effect, as written."""

    origin: Origin | None
    """Origin of the effective value; None for the default."""

    user_value: object | None
    """The value in the user's file, as written; None if the file does not set it."""

    is_held_back: bool
    """True if an untrusted project file tried to set it."""

    session_value: object | None = None
    """The value that a command or a key set for this session; None if it is the effective one."""

    @property
    def value(self) -> str:
        """The effective value for display, without expanded variables and passwords."""
        return shown_value(self.effective)

    @property
    def source(self) -> str:
        """The layer that sets it, in one word; empty for a default."""
        return _NAMES[self.origin.layer] if self.origin else ""

    @property
    def override(self) -> Origin | None:
        """The layer that overrides the user's file, if any."""
        return self.origin if self.origin and self.origin.layer != "file" else None

    @property
    def editable_text(self) -> str:
        """Initial text of an input field: the value in the user's file, else the effective one."""
        value = self.effective if self.user_value is None else self.user_value
        if isinstance(value, list | tuple):
            items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] checked before
            is_plain = all(isinstance(item, str) and "," not in item for item in items)
            return ", ".join(map(str, items)) if is_plain else toml_of(items)
        return value if isinstance(value, str) else toml_of(value)

    def next_choice(self, by: int) -> str | None:
        """Return the next choice, or the previous one for `by=-1`; None if the setting has no fixed choices."""
        now = self.effective if self.user_value is None or self.override else self.user_value
        now = now if self.session_value is None else self.session_value
        if self.key.kind is bool:
            return toml_of(now is not True)
        if self.key.kind is not str or not self.key.choices:
            return None
        at = self.key.choices.index(now) if now in self.key.choices else -by
        return self.key.choices[(at + by) % len(self.key.choices)]


class Overview(Struct, frozen=True):
    """All settings at one moment."""

    settings: Settings
    states: tuple[SettingState, ...]
    notices: tuple[str, ...]
    """Warnings for the user."""

    def with_session_values(self, live: Mapping[str, object]) -> Overview:
        """Return a copy with the values of this session, given by the names of the settings."""

        def session_value(state: SettingState) -> object | None:
            now = live.get(state.key.name)
            return None if now == value_of(self.settings, state.key.name) else now

        return replace(self, states=tuple(replace(each, session_value=session_value(each)) for each in self.states))


class SettingStore:
    def __init__(self, sources: Sources) -> None:
        self.sources = sources

    def read(self) -> Overview:
        """Read all layers.

        Raises:
            ConfigError: a file or a value is invalid.
        """
        config = load_config(self.sources)
        file = self.sources.user_file
        read = read_config_file(file).entries if must_be_read(file) else {}
        user_values = {RENAMED[name]: entry.value for name, entry in read.items() if name in RENAMED}
        user_values |= {name: entry.value for name, entry in read.items() if name not in RENAMED}
        return Overview(
            config.settings, tuple(_state(key, config, user_values) for key in keys().values()), config.notices
        )

    def set(self, key: SettingKey, text: str) -> None:
        """Write a typed value to the user's file.

        Raises:
            ValueError: the value is invalid; the message names valid ones.
            ConfigError: the file cannot be changed.
        """
        set_in_file(self.sources.user_file, key.name, self._checked(key, text))

    def reset(self, key: SettingKey) -> None:
        """Remove a setting from the user's file.

        Raises:
            ConfigError: the file cannot be changed.
        """
        if must_be_read(self.sources.user_file):
            drop_from_file(self.sources.user_file, key.name)

    def _checked(self, key: SettingKey, text: str) -> Value:
        typed = _typed(key, text)
        expanded = expand_variables(typed, self.sources.environ)
        value = key.parse(expanded) if isinstance(expanded, str) else key.check(expanded)
        if expanded == typed:
            return value
        # Variables are written unexpanded and are looked up at each start.
        return text.strip() if isinstance(typed, str) else tuple(map(str, typed))


def _state(key: SettingKey, config: Config, user_values: Mapping[str, object]) -> SettingState:
    origin = config.origins.get(key.name)
    effective: object = value_of(config.settings, key.name)
    if origin is not None and key.kind is not tuple:
        effective = origin.raw
    return SettingState(key, effective, origin, user_values.get(key.name), key.name in config.held_back)


def _typed(key: SettingKey, text: str) -> str | list[object]:
    """Parse the items of a list, separated by commas or written as TOML; return other text unchanged."""
    if key.kind is not tuple:
        return text
    if not text.lstrip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    try:
        return list(tomllib.loads(f"_ = {text.strip()}")["_"])
    except tomllib.TOMLDecodeError as error:
        raise ValueError("must be a list: items separated by commas, or a TOML array") from error


def settings_text(store: SettingStore, live: Mapping[str, object]) -> str:
    """Return all settings as lines, for plain mode; `live` as in `Overview.with_session_values`.

    Raises:
        ConfigError: a file or a value is invalid.
    """
    lines: list[str] = []
    for state in store.read().with_session_values(live).states:
        source = f"  ({state.source})" if state.source else ""
        now = f"; in this session {shown_value(state.session_value)}" if state.session_value is not None else ""
        lines.append(f"{state.key.name} = {state.value}{source}{now}")
    return "\n".join([*lines, "", f"Your file is {store.sources.user_file}; changes apply from the next start."])


def example_text(*, commented: bool = False) -> str:
    """Return every key with its default and description; `commented`: commented out, as a new user file."""
    mark = "# " if commented else ""

    def lines(key: SettingKey) -> tuple[str, ...]:
        return (f"# {key.doc}", mark + _assignment(key, key.default))

    opened = "".join(f"\n[{name}]\n# {doc}\n# {example}\n" for name, (doc, example) in open_tables().items())
    return (
        HEADER
        + _in_tables(lines)
        + opened
        + _server_example()
        + _api_example()
        + _language_server_example()
        + _HOOK_EXAMPLE
    )


_HOOK_EXAMPLE = """
# Hooks: commands that run when something happens; see docs/extending.md.
# [[hooks.PreToolUse]]
# matcher = "edit_file|write_file"
# command = "./check-edit.sh"
# timeout = 10
"""


def _server_example() -> str:
    """Return the keys of an MCP server, commented out: the example file configures none."""
    from cinch_tui.config.server_keys import server_keys  # rarely needed

    lines = "".join(f"# {key.doc}\n# {name} = {shown_value(key.default)}\n" for name, key in server_keys().items())
    return (
        "\n# MCP servers, each in a table of its own; see docs/mcp.md.\n# [mcp.servers.NAME]\n"
        f"{lines}"
        "# environment variables of the program, in addition to a few harmless ones\n"
        '# env = { API_KEY = "${API_KEY}" }\n'
        "# headers of every request to a remote server\n"
        '# headers = { "X-Team" = "docs" }\n'
    )


def _api_example() -> str:
    """Return the keys of an API, commented out."""
    from cinch_tui.config.api_tables import API_TABLE  # rarely needed

    lines = "".join(f"# {key.doc}\n# {name} = {shown_value(key.default)}\n" for name, key in API_TABLE.keys.items())
    return (
        "\n# APIs with an OpenAPI document, each in a table of its own; see docs/openapi.md.\n# [openapi.apis.NAME]\n"
        f"{lines}"
        "# values of variables in the URL of the server\n"
        '# variables = { region = "eu" }\n'
        "# further headers of each request\n"
        '# headers = { "X-Team" = "docs" }\n'
        "# secrets by the name of a security scheme, if the API has several of one kind\n"
        '# credentials = { adminKey = "${ADMIN_KEY}" }\n'
    )


def _language_server_example() -> str:
    """Return the keys of a language server, commented out."""
    from cinch_tui.config.lsp_tables import LSP_TABLE  # rarely needed

    lines = "".join(f"# {key.doc}\n# {name} = {shown_value(key.default)}\n" for name, key in LSP_TABLE.keys.items())
    return (
        "\n# Language servers that cinch does not know, or with other settings, each in a table of its own; see "
        "docs/tools.md.\n# [lsp.servers.NAME]\n"
        f"{lines}"
        "# patterns of file names, with the language id of each\n"
        '# files = { "*.py" = "python" }\n'
    )


def effective_text(origins: Mapping[str, Origin]) -> str:
    """Return every key with its effective value as written, and its origin if it is not a default."""

    def lines(key: SettingKey) -> tuple[str, ...]:
        origin = origins.get(key.name)
        if origin is None:
            return (_assignment(key, key.default),)
        return (f"{_assignment(key, origin.raw)}  # {origin.place}",)

    return (_in_tables(lines) + _in_open_tables(origins)).lstrip()


def _in_open_tables(origins: Mapping[str, Origin]) -> str:
    text = ""
    for table in open_tables():
        inside = {name: origin for name, origin in origins.items() if name.startswith(f"{table}.")}
        text += f"\n[{table}]\n" if inside else ""
        for name, origin in inside.items():
            text += f"{toml_of(name.removeprefix(f'{table}.'))} = {shown_value(origin.raw)}  # {origin.place}\n"
    return text


def _in_tables(lines_of: Callable[[SettingKey], tuple[str, ...]]) -> str:
    tables = groupby(keys().values(), lambda key: key.name.rpartition(".")[0])
    return "".join(
        f"\n[{table}]\n" + "".join(f"{line}\n" for key in group for line in lines_of(key)) for table, group in tables
    )


def _assignment(key: SettingKey, value: object) -> str:
    return f"{key.name.rpartition('.')[2]} = {shown_value(value)}"


def shown_value(value: object) -> str:
    """Return a value as TOML for display, without passwords in URLs."""
    if isinstance(value, list | tuple):
        items: tuple[object, ...] = tuple(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] written by the recursion
        return f"[{', '.join(map(shown_value, items))}]"
    shown = USER_INFO.sub("://…@", value) if isinstance(value, str) else value
    return toml_of(shown)
