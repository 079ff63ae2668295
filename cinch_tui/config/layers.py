"""Settings in layers: defaults, the person's file, the project's file, the environment, the command line.

A later layer wins; lists add up. A file with an unknown key or a bad value stops the start: a setting that is silently
not in force is worse than none. What a stranger's project may not set is held back, see `cinch_tui.config.trust`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from cinch_tui.config.names import Key, build, find_key, keys
from cinch_tui.config.settings import Settings, Value
from harness.errors import ConfigError
from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cinch_tui.config.file import ConfigFile, Entry

Layer: TypeAlias = Literal["file", "project", "environment", "flag"]

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
SHORT_VARIABLES = {"CINCH_MODEL": "model.name"}
# These are ours too, but say how cinch runs and not what is set.
OTHER_VARIABLES = frozenset(
    {
        "CINCH_CLIENT_CERT",
        "CINCH_CLIENT_KEY",
        "CINCH_FIRST_FRAME",
        "CINCH_HOME",
        "CINCH_KEYRING",
        "CINCH_LOCAL_CONTEXT",
        "CINCH_RECORD",
    }
)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where settings come from. `user_file` need not exist unless it was `named` by the person."""

    user_file: Path
    project_file: Path | None
    environ: Mapping[str, str]
    trust_file: Path
    flags: Mapping[str, Value] = field(default_factory=dict[str, Value])
    named: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """A value as it was written, and where: raw, so that what `${VAR}` stands for is never shown."""

    raw: object
    place: str
    layer: Layer


@dataclass(frozen=True, slots=True)
class Config:
    """Settings, where each that is no default came from, and what was kept from taking effect.

    `held_back` are the keys an untrusted project file must not set; `cinch config trust` lets them through.
    """

    settings: Settings
    origins: dict[str, Origin]
    held_back: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    project_file: Path | None = None

    @property
    def notices(self) -> tuple[str, ...]:
        """What to tell the person: what was wrong but harmless, and which keys were held back."""
        if not self.held_back:
            return self.warnings
        names = ", ".join(self.held_back)
        held = (
            f"{self.project_file} is not trusted, so {names} did not take effect; "
            "if you agree with what it sets, run: cinch config trust"
        )
        return (*self.warnings, held)


def load_config(sources: Sources) -> Config:
    """Read all layers.

    Raises:
        ConfigError: a file cannot be read, or a key or value is wrong; with file, line and the nearest key.
    """
    layers = _Layers(sources.environ)
    _add_files(layers, sources)
    layers.add_environment()
    for name, value in sources.flags.items():
        layers.put(keys()[name], value, Origin(value, "the command line", "flag"))
    settings = build(layers.values)
    if settings.keys:
        settings = layers.with_own_keys(settings)
    return Config(
        settings=settings,
        origins=layers.origins,
        held_back=tuple(layers.held_back),
        warnings=tuple(layers.warnings),
        project_file=sources.project_file,
    )


def _add_files(layers: _Layers, sources: Sources) -> None:
    own, project = sources.user_file, sources.project_file
    if sources.named or must_be_read(own):
        layers.add_file(_read(own), "file")
    # Path.resolve() fails for a link that leads to itself, before Python 3.13.
    if project and os.path.realpath(project) != os.path.realpath(own):
        from cinch_tui.config.trust import TrustStore  # as below

        file = _read(project)
        layers.add_file(file, "project", trusted=TrustStore(sources.trust_file).trusts(file))


def must_be_read(path: Path) -> bool:
    """Whether a file has to be read: also one that nobody may look for, since what it sets would not be in force."""
    try:
        return path.exists()
    except PermissionError:
        return True


def _read(path: Path) -> ConfigFile:
    # Who has no file does not wait for the parser.
    from cinch_tui.config.file import read_config_file

    return read_config_file(path)


class _Layers:
    """The layers read so far, one over the other."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.values: dict[str, Value] = {}
        self.origins: dict[str, Origin] = {}
        self.held_back: list[str] = []
        self.warnings: list[str] = []
        self._environ = environ

    def put(self, key: Key, value: Value, origin: Origin) -> None:
        below = self.values.get(key.name, key.default)
        # An allowance of the person's file stays in force when a flag adds one.
        self.values[key.name] = below + value if isinstance(value, tuple) and isinstance(below, tuple) else value
        self.origins[key.name] = origin

    def add_file(self, file: ConfigFile, layer: Layer, *, trusted: bool = True) -> None:
        for name, entry in file.entries.items():
            place = f"{file.path}, line {entry.line}"
            key = find_key(name)
            if key is None:
                raise ConfigError(f"{place}: unknown key {name!r}{_nearest(name)}")
            # A stranger's file must not read our environment either: it may hold secrets.
            if not trusted and _names_variable(entry.value):
                self.held_back.append(name)
                continue
            value = self._checked(key, entry, place)
            if trusted or key.allows_untrusted(value, self.values.get(name, key.default)):
                self.put(key, value, Origin(entry.value, place, layer))
            else:
                self.held_back.append(name)

    def with_own_keys(self, settings: Settings) -> Settings:
        """What cannot be of the person's keys stops no start: a key that does nothing is seen at once."""
        # Who has the keys of the table does not wait for it.
        from cinch_tui.keys.own import KeySetting, resolve_user_keys

        wishes = {name: KeySetting(text, self.origins[f"keys.{name}"].place) for name, text in settings.keys.items()}
        own = resolve_user_keys(wishes)
        self.warnings.extend(own.problems)
        return replace(settings, keys=own.keys)

    def add_environment(self) -> None:
        known = {key.variable: key for key in keys().values()} | {
            variable: keys()[name] for variable, name in SHORT_VARIABLES.items()
        }
        for variable, text in self._environ.items():
            if not variable.startswith("CINCH_") or variable in OTHER_VARIABLES or not text:
                continue
            if variable not in known:
                self.warnings.append(f"the environment variable {variable} sets nothing{_nearest_of(variable, known)}")
                continue
            try:
                value = known[variable].parse(text)
            except ValueError as error:
                raise ConfigError(f"the environment variable {variable} {error}, not {text!r}") from error
            self.put(known[variable], value, Origin(text, variable, "environment"))

    def _checked(self, key: Key, entry: Entry, place: str) -> Value:
        try:
            value = expand_variables(entry.value, self._environ)
            # `${TURNS}` can only be written as a text, whatever the key holds.
            is_text = isinstance(value, str) and _names_variable(entry.value) and key.kind is not str
            return key.parse(str(value)) if is_text else key.check(value)
        except ValueError as error:
            raise ConfigError(f"{place}: {key.name} {error}, not {entry.value!r}") from error


def expand_variables(value: object, environ: Mapping[str, str]) -> object:
    """A value as it was written, with what its variables stand for.

    Raises:
        ValueError: one of them is not set.
    """

    def looked_up(match: re.Match[str]) -> str:
        found = environ.get(match[1]) or match[2]
        if found is None:
            raise ValueError(f"needs the environment variable {match[1]}, which is not set")
        return found

    if isinstance(value, str):
        return VARIABLE.sub(looked_up, value)
    if isinstance(value, list):
        items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] checked by the recursion
        return [expand_variables(item, environ) for item in items]
    return value


def _names_variable(value: object) -> bool:
    return any(VARIABLE.search(text) for text in _texts_in(value))


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] only texts are looked at
        for item in items:
            yield from _texts_in(item)


def _nearest(name: str) -> str:
    last = name.rpartition(".")[2]
    same_end = next((known for known in keys() if known.rpartition(".")[2] == last), "")
    return f"; did you mean {same_end!r}?" if same_end else _nearest_of(name, keys())


def _nearest_of(name: str, known: Mapping[str, object]) -> str:
    from difflib import get_close_matches  # only an error needs it

    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
