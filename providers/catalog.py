"""Who offers models at which address with which key. The offers are data, in `presets.toml`."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject, JsonValue
from harness.thinking_level import THINKING_LEVELS, ThinkingLevel


@dataclass(frozen=True, slots=True)
class Secret:
    """A key and where it came from, for people: `environment variable X`, `keyring`, the path of a file.

    `variable` is set when it came from the environment: some variables say how a key is sent.
    """

    value: str = field(repr=False)
    source: str
    variable: str = ""


class Credentials(Protocol):
    def find(self, preset_name: str, variables: Sequence[str]) -> Secret | None:
        """The key for a preset: from the first of `variables` that is set and not empty, else from elsewhere."""
        ...


@dataclass(frozen=True, slots=True)
class EnvironmentCredentials:
    """Keys from environment variables only. What they are named is data; an empty one counts as unset."""

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def find(self, preset_name: str, variables: Sequence[str]) -> Secret | None:
        del preset_name
        for variable in variables:
            if value := self.environment.get(variable, "").strip():
                return Secret(value, f"environment variable {variable}", variable)
        return None


@dataclass(frozen=True, slots=True)
class GivenKey:
    """A key passed as an argument."""

    value: str = field(repr=False)

    def find(self, preset_name: str, variables: Sequence[str]) -> Secret | None:
        del preset_name, variables
        return Secret(self.value, "api_key=")


@dataclass(frozen=True, slots=True)
class ThinkingRule:
    """How the models that match are told to think: fields that switch it, and a word for each level from off on.

    An empty word is not said.
    """

    models: str
    efforts: Sequence[str] = ()
    on: JsonObject = field(default_factory=dict[str, "JsonValue"])
    off: JsonObject = field(default_factory=dict[str, "JsonValue"])

    def applies_to(self, model_id: str) -> bool:
        return re.search(self.models, model_id, re.IGNORECASE) is not None

    def fields(self, level: ThinkingLevel) -> JsonObject:
        """What a request says of it."""
        effort = self.efforts[THINKING_LEVELS.index(level)] if self.efforts else ""
        said: JsonObject = {"reasoning_effort": effort} if effort else {}
        return said | (self.off if level == "off" else self.on)


@dataclass(frozen=True, slots=True)
class CacheRule:
    """How a service is told what it may keep of prompts; the fields are explained in `presets.toml`."""

    key: str = ""
    header: str = ""
    marked: str = ""
    lasting: str = ""
    optional: str = ""

    def wants_marks(self, model_id: str) -> bool:
        return _is_of(self.marked, model_id)

    def keeps_longer(self, model_id: str) -> bool:
        """Whether the model's prompts are kept longer, if that is asked for."""
        return _is_of(self.lasting, model_id)

    def can_be_off(self, model_id: str) -> bool:
        """Whether the service keeps nothing of the model's prompts, if that is asked for."""
        return _is_of(self.optional, model_id)


@dataclass(frozen=True, slots=True)
class Preset:
    """One offer of models; the fields are explained in `presets.toml`."""

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
    families: Sequence[str] = ()
    prices: str = ""
    local_port: int | None = None
    window_path: str = ""
    native_schema: str = ""
    text_only: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
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
    with_tools: JsonObject = field(default_factory=dict[str, "JsonValue"])
    cache: CacheRule = CacheRule()
    remedies: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def own_variables(self) -> Sequence[str]:
        """The environment variables that hold keys for models and nothing else."""
        return (*self.key_variables, *self.bearer_variables)

    @property
    def variables(self) -> Sequence[str]:
        """Every environment variable that may hold the key."""
        return (*self.own_variables, *self.shared_variables)

    def enforces_schema(self, model_id: str) -> bool:
        """Whether the service can make this model answer in a form."""
        return bool(self.native_schema) and re.match(self.native_schema, model_id) is not None

    def is_text_only(self, model_id: str) -> bool:
        """Whether the model is known to see no images."""
        return _is_of(self.text_only, model_id)

    @property
    def is_local(self) -> bool:
        return self.local_port is not None


@cache
def presets() -> Mapping[str, Preset]:
    """Our presets by name, in the order in which people are shown them."""
    with (Path(__file__).parent / "presets.toml").open("rb") as file:
        tables = tomllib.load(file)
    return {name: _preset(name, table) for name, table in tables.items()}


def _preset(name: str, table: dict[str, Any]) -> Preset:
    rules = tuple(ThinkingRule(**rule) for rule in table.pop("thinking", ()))
    return Preset(name, thinking=rules, cache=CacheRule(**table.pop("cache", {})), **table)


def _is_of(models: str, model_id: str) -> bool:
    return bool(models) and re.search(models, model_id, re.IGNORECASE) is not None


def nearest(name: str, known: Sequence[str], count: int = 3) -> list[str]:
    """The known names that look most like this one."""
    # Only those who err need it.
    from difflib import get_close_matches

    return get_close_matches(name, known, count, cutoff=0.5)


if TYPE_CHECKING:
    _: tuple[type[Credentials], ...] = (EnvironmentCredentials, GivenKey)
