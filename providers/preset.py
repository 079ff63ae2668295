"""Presets: services with their address, key and protocol. The data is in `presets.toml`."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from harness.messages import JsonObject
from harness.structs import Redacted
from harness.thinking_level import THINKING_LEVELS, ThinkingLevel


class Secret(Redacted, frozen=True):
    """A key and its source for display: `environment variable X`, `keyring`, the path of a file."""

    _hidden = ("value",)

    value: str
    source: str
    variable: str = ""
    """Set if it came from the environment: some variables determine how a key is sent."""


class Credentials(Protocol):
    def find(self, preset_name: str, variables: Sequence[str]) -> Secret | None:
        """Return the key for a preset: from the first of `variables` that is set and not empty, otherwise from
        elsewhere."""
        ...


class EnvironmentCredentials(Redacted, frozen=True):
    """Keys from environment variables only; an empty variable counts as unset."""

    _hidden = ("environment",)

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def find(self, preset_name: str, variables: Sequence[str]) -> Secret | None:
        for variable in variables:
            if value := self.environment.get(variable, "").strip():
                return Secret(value, f"environment variable {variable}", variable)
        return None


class ThinkingRule(Struct, frozen=True):
    """Thinking parameters for the models that match."""

    models: str
    """Regular expression, found in the model's name."""

    efforts: Sequence[str] = ()
    """`reasoning_effort` for each level from "off" on; an empty one is not sent."""

    on: JsonObject = {}
    """Fields that enable thinking."""

    off: JsonObject = {}
    """Fields that disable thinking."""

    def applies_to(self, model_id: str) -> bool:
        return re.search(self.models, model_id, re.IGNORECASE) is not None

    def fields(self, level: ThinkingLevel) -> JsonObject:
        """Return the request fields for a level."""
        effort = self.efforts[THINKING_LEVELS.index(level)] if self.efforts else ""
        effort_field: JsonObject = {"reasoning_effort": effort} if effort else {}
        return effort_field | (self.off if level == "off" else self.on)


class CacheRule(Struct, frozen=True):
    """Prompt caching parameters of a service; the fields are explained in `presets.toml`."""

    key: str = ""
    header: str = ""
    marked: str = ""
    lasting: str = ""
    optional: str = ""

    def wants_marks(self, model_id: str) -> bool:
        return _matches(self.marked, model_id)

    def keeps_longer(self, model_id: str) -> bool:
        """Return True if a longer lifetime can be requested for the model's prompts."""
        return _matches(self.lasting, model_id)

    def can_be_off(self, model_id: str) -> bool:
        """Return True if caching can be disabled for the model."""
        return _matches(self.optional, model_id)


class Preset(Struct, frozen=True):
    """One service; the fields are explained in `presets.toml`."""

    name: str
    label: str
    protocol: str
    base_url: str
    base_url_variable: str = ""
    key_variables: Sequence[str] = ()
    bearer_variables: Sequence[str] = ()
    shared_variables: Sequence[str] = ()
    key_header: str = ""
    key_required: bool = True
    own_urls: str = ""
    base_path: str = ""
    models_path: str = "/models"
    lists: Sequence[str] = ()
    default_model: str = ""
    small_model: str = ""
    families: Sequence[str] = ()
    prices: str = ""
    local_port: int | None = None
    window_path: str = ""
    native_schema: str = ""
    native_search: str = ""
    text_only: str = ""
    headers: Mapping[str, str] = {}
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system_role: Literal["system", "developer"] = "system"
    reasoning: Literal["none", "openai", "openrouter"] = "none"
    tool_call_content: Literal["null", "empty"] = "null"
    stream_usage: bool = True
    thinking: Sequence[ThinkingRule] = ()
    keeps_thinking: bool = False
    thinking_in_text: bool = False
    tool_ids: Literal["any", "nine"] = "any"
    reply_after_results: bool = False
    takes_temperature: bool = True
    without: Sequence[str] = ()
    with_tools: JsonObject = {}
    cache: CacheRule = CacheRule()
    remedies: Mapping[str, str] = {}

    @property
    def own_variables(self) -> Sequence[str]:
        """Return the environment variables that hold keys for models and nothing else."""
        return (*self.key_variables, *self.bearer_variables)

    @property
    def variables(self) -> Sequence[str]:
        """Return every environment variable that may hold the key."""
        return (*self.own_variables, *self.shared_variables)

    @property
    def key_remedy(self) -> str:
        """Return instructions for supplying the key."""
        return f"set {' or '.join(self.variables)}, or pass api_key= to connect() for {self.name}"

    @property
    def missing_key(self) -> str:
        """Return the error text for a key that was not found."""
        return f"no key for {self.label}: {self.key_remedy}"

    def missing_login(self, login: str, extra: str) -> str:
        """Return the error text for a key that was not found where a login could replace it."""
        return (
            f"no key for {self.label}: nothing in {' or '.join(self.variables)}; to use your {login} instead, "
            f"install the extra: pip install 'cinch-tui[{extra}]'"
        )

    def enforces_schema(self, model_id: str) -> bool:
        """Return True if the service can enforce an output schema for this model."""
        return bool(self.native_schema) and re.match(self.native_schema, model_id) is not None

    def searches(self, model_id: str) -> bool:
        """Return True if the service can search the web for this model."""
        return bool(self.native_search) and re.match(self.native_search, model_id) is not None

    def is_text_only(self, model_id: str) -> bool:
        """Return True if the model is known not to support images."""
        return _matches(self.text_only, model_id)

    @property
    def is_local(self) -> bool:
        return self.local_port is not None


@cache
def presets() -> Mapping[str, Preset]:
    """Return the built-in presets by name, in display order."""
    with (Path(__file__).parent / "presets.toml").open("rb") as file:
        tables = tomllib.load(file)
    return {name: _preset(name, table) for name, table in tables.items()}


def _preset(name: str, table: dict[str, Any]) -> Preset:
    rules = tuple(ThinkingRule(**rule) for rule in table.pop("thinking", ()))
    return Preset(name, thinking=rules, cache=CacheRule(**table.pop("cache", {})), **table)


def _matches(models: str, model_id: str) -> bool:
    return bool(models) and re.search(models, model_id, re.IGNORECASE) is not None


def nearest(name: str, known: Sequence[str], count: int = 3) -> list[str]:
    """Return the known names most similar to this one."""
    # Imported here: only needed for wrong names.
    from difflib import get_close_matches

    return get_close_matches(name, known, count, cutoff=0.5)
