"""Services to check: those that are configured, or those named by the user."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.models.connecting import ModelChoice
from harness.errors import ConfigError
from providers.installed import all_presets, preset_for
from providers.model_catalog.local_servers import LocalServer
from providers.preset import Credentials, Preset, Secret


class Target(Struct, frozen=True):
    """A service to check."""

    preset: Preset
    model_id: str = ""
    """The model to send a request to; empty: list the models of the service."""

    base_url: str = ""
    secret: Secret | None = None
    is_chosen: bool = False
    """True if the user chose this model."""

    problem: str = ""
    """The error if the key could not be looked up."""

    @property
    def name(self) -> str:
        return f"{self.preset.name}/{self.model_id}" if self.model_id else self.preset.name

    @property
    def is_own_default(self) -> bool:
        """True if the model is the default of the preset, which the account may not have."""
        return bool(self.model_id) and not self.is_chosen

    @property
    def address_source(self) -> str:
        """The setting or variable of a custom base URL; empty for the default."""
        if self.base_url:
            return "model.base_url"
        variable = self.preset.base_url_variable
        return variable if variable and os.environ.get(variable, "").strip() else ""

    @property
    def address_from(self) -> str:
        return f" from {self.address_source}" if self.address_source else ""

    def find(self, preset_name: str, variables: Sequence[str]) -> Secret | None:
        """Return the key that was looked up before; implements `Credentials`."""
        del preset_name, variables
        return self.secret


def named_targets(names: Iterable[str], keys: Credentials, chosen: Sequence[ModelChoice]) -> list[Target]:
    """Return the services named as `provider` or `provider/model`.

    Raises:
        ConfigError: a provider is unknown.
    """
    return [_named(name, keys, chosen) for name in names]


def _named(name: str, keys: Credentials, chosen: Sequence[ModelChoice]) -> Target:
    preset = preset_for(name)
    used = next((each for each in chosen if each.name.partition("/")[0] == preset.name), ModelChoice(""))
    model_id = name.partition("/")[2] or used.name.partition("/")[2]
    target = Target(preset, model_id or preset.default_model, used.base_url, is_chosen=bool(model_id))
    return _with_key(target, keys)


def configured_targets(keys: Credentials, chosen: Sequence[ModelChoice], local: Iterable[LocalServer]) -> list[Target]:
    """Return every configured service: one with a chosen model, a key, a base URL or a running local server.

    Presets that share a service and a key count once, unless both were chosen.
    """
    answering = {server.preset for server in local}
    found: list[Target] = [*_chosen_targets(keys, chosen)]
    known = {_account(target.preset) for target in found}
    for preset in all_presets().values():
        if _account(preset) in known:
            continue
        target = _with_key(Target(preset, preset.default_model), keys, preset.own_variables)
        if target.secret or target.address_source or preset.name in answering:
            found.append(target)
            known.add(_account(preset))
    order = list(all_presets())
    return sorted(found, key=lambda target: order.index(target.preset.name))


def _chosen_targets(keys: Credentials, chosen: Iterable[ModelChoice]) -> Iterator[Target]:
    seen: set[str] = set()
    for choice in chosen:
        name, _, model_id = choice.name.partition("/")
        preset = all_presets().get(name)
        if preset is None or choice.name in seen:
            continue
        seen.add(choice.name)
        yield _with_key(Target(preset, model_id or preset.default_model, choice.base_url, is_chosen=True), keys)


def _with_key(target: Target, keys: Credentials, variables: Sequence[str] | None = None) -> Target:
    preset = target.preset
    try:
        # A variable that other programs also use does not mean that this service is configured.
        return replace(target, secret=keys.find(preset.name, preset.variables if variables is None else variables))
    except ConfigError as error:
        return replace(target, problem=str(error))


def _account(preset: Preset) -> tuple[Sequence[str], str]:
    return tuple(preset.key_variables) or (preset.name,), preset.base_url_variable


if TYPE_CHECKING:
    _: type[Credentials] = Target
