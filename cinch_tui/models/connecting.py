"""Choosing and connecting a model, with error hints for users of the app."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, Unpack

from msgspec import Struct

import providers
from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.config.paths import load_json
from cinch_tui.config.settings import Settings
from cinch_tui.reports.formatting import app_hints
from harness.errors import ConfigError
from harness.messages import ModelSpec
from harness.ports.provider import Model
from harness.thinking_level import ThinkingLevel
from providers import ConnectOptions, Credentials
from providers.endpoint import Endpoint
from providers.installed import BUILTIN, each_preset, find_preset
from providers.preset import Preset

if TYPE_CHECKING:
    from harness.session.resume import LoadedSession


class NoModel(ConfigError):
    """No model was named and no provider has a key: the user must choose.

    Args:
        message: The message.
        is_mistake: True if something was set up, but not enough.
    """

    def __init__(self, message: str, *, is_mistake: bool = False) -> None:
        super().__init__(message)
        self.is_mistake = is_mistake


def connect_spec(spec: ModelSpec, keys: KeyStore) -> Model:
    """Connect the model of a session.

    Raises:
        ConfigError: the model is not available.
    """
    return connect(spec.name, base_url=spec.base_url or None, credentials=keys, thinking=spec.thinking)


def choose_model(settings: Settings, keys: KeyStore, loaded: LoadedSession | None = None) -> Model:
    """Connect the model to use.

    In order: the named model, that of the session, the one chosen on the welcome screen, that of the first provider
    with a key. Local servers and the demo must be chosen; with a configured LLM proxy a key alone selects nothing.

    Raises:
        NoModel: there is no model to use.
        ConfigError: the named model is not available.
    """
    wanted = settings.model
    if wanted.name:
        name = wanted.name if wanted.base_url else full_name(wanted.name, keys)
        return connect(name, base_url=wanted.base_url or None, credentials=keys, thinking=wanted.thinking)
    if loaded is not None and loaded.spec is not None:
        with suppress(ConfigError):
            return connect_spec(loaded.spec, keys)
    chosen = load_json(keys.paths.choice_file, ModelChoice)
    if chosen is not None:
        with suppress(ConfigError):
            return connect(chosen.name, base_url=chosen.base_url or None, credentials=keys, thinking=wanted.thinking)
    # Variables that set the URL of an LLM proxy.
    named = (preset.base_url_variable for preset in each_preset() if not preset.base_url)
    if proxies := [variable for variable in named if keys.environ.get(variable, "").strip()]:
        message = f"no model selected: {proxies[0]} sets a proxy; select one of its models with -m proxy/MODEL"
        raise NoModel(message, is_mistake=True)
    for preset in each_preset():
        if preset.key_required and preset.default_model and keys.find(preset.name, preset.own_variables):
            with suppress(ConfigError):
                return connect(preset.name, credentials=keys, thinking=wanted.thinking)
    raise NoModel(
        "no model selected and no API key found: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or the key of "
        "another provider (list: cinch models --providers), select a model with -m provider/model, or try -m demo"
    )


def optional_models(setting: str, names: Sequence[str], keys: KeyStore, thinking: ThinkingLevel) -> OptionalModels:
    """Connect the models that a setting names; those that are not available are no error."""
    models: list[Model] = []
    problems: list[str] = []
    for name in names:
        try:
            models.append(connect(full_name(name, keys), credentials=keys, thinking=thinking))
        except ConfigError as error:
            problems.append(f"{setting}: {error}")
    return OptionalModels(models, problems)


class OptionalModels(NamedTuple):
    """Models that a setting names."""

    models: Sequence[Model]
    """The connected models."""
    problems: Sequence[str]
    """Errors of the others."""


def full_name(name: str, keys: KeyStore) -> str:
    """Return the name of a model with its provider, which `name` may omit: `claude-sonnet-5-5`.

    Raises:
        ConfigError: the name is ambiguous.
    """
    if name in BUILTIN or find_preset(name.partition("/")[0]) or name.startswith(tuple(f"{each}/" for each in BUILTIN)):
        return name
    # Only needed for names without a provider.
    from cinch_tui.models.offers import resolve_model

    return resolve_model(name, keys)


def connect(name: str, **options: Unpack[ConnectOptions]) -> Model:
    """Connect a model as `providers.connect` does.

    Raises:
        ConfigError: as there, with hints for users of the app.
    """
    with with_app_hints():
        return providers.connect(name, **options)


def endpoint_of(preset: Preset, base_url: str | None, credentials: Credentials | None) -> Endpoint:
    """Return the endpoint of a preset as `providers.endpoint_of` does.

    Raises:
        ConfigError: as there, with hints for users of the app.
    """
    with with_app_hints():
        return providers.endpoint_of(preset, base_url, credentials)


def small_model(spec: ModelSpec, keys: KeyStore) -> str:
    """Return the cheap model of the provider in use; empty at another address, where it may not exist."""
    preset = find_preset(spec.provider)
    if preset is None or not preset.small_model:
        return ""
    if not endpoint_of(preset, spec.base_url or None, keys).is_vendors_own:
        return ""
    return f"{preset.name}/{preset.small_model}"


@contextmanager
def with_app_hints() -> Generator[None]:
    """Add hints for users of the app to a ConfigError of the library."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(app_hints(str(error))) from error


class ModelChoice(Struct, frozen=True):
    """A model, and the base URL of its service if it is not the default."""

    name: str
    base_url: str = ""
