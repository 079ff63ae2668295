"""What an Ollama server tells of a model, and how large a window to ask for.

A server that is told nothing gives many machines a window of 4,096 tokens and drops what does not fit without a word,
which is too little for an agent. So a window is asked for, large enough to work in and small enough for most machines;
unless the person chose one: in `OLLAMA_CONTEXT_LENGTH`, in the model's own Modelfile, or by having it loaded with a
larger one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from harness.lazy_dataclass import dataclass
from harness.messages import JsonValue
from providers.model_catalog.metadata import ModelMetadata

ASKED_WINDOW = 32_768
EVERYTHING = frozenset(("completion", "tools", "vision", "thinking"))


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known of a model. `trained` and `chosen` are windows: what it was made for, and what its Modelfile sets.

    `abilities` is None where the server does not tell them; `is_remote`: the server hands requests on to a cloud, which
    gives the whole window.
    """

    trained: int | None = None
    chosen: int | None = None
    capabilities: frozenset[str] | None = None
    is_remote: bool = False
    num_ctx: int | None = None
    """The window to ask for; None leaves it to the server."""

    @property
    def window(self) -> int | None:
        return self.num_ctx or self.chosen or self.trained

    def can(self, ability: str) -> bool:
        """Whether the model has the ability, as far as is known."""
        return self.capabilities is None or ability in self.capabilities

    @property
    def metadata(self) -> ModelMetadata:
        images, tools, thinking = (
            None if self.capabilities is None else ability in self.capabilities
            for ability in ("vision", "tools", "thinking")
        )
        return ModelMetadata(self.window, images=images, tools=tools, thinking=thinking)

    def without(self, ability: str) -> ModelCard:
        return replace(self, capabilities=(self.capabilities or EVERYTHING) - {ability})

    def with_window(self, wanted: int | None, loaded: int | None) -> ModelCard:
        """The same card with the window to ask for: `wanted` by the person; `loaded` is the one in use now."""
        if self.is_remote or (self.chosen and not wanted):
            return replace(self, num_ctx=None)
        room = wanted or max(loaded or 0, ASKED_WINDOW)
        return replace(self, num_ctx=min(room, self.trained or room))


def card_of(answer: JsonValue) -> ModelCard:
    """The card in an answer of `/api/show`, whatever of it is there."""
    match answer:
        case {"model_info": dict() as info}:
            windows = (value for name, value in info.items() if name.endswith(".context_length"))
            trained = next((value for value in windows if isinstance(value, int) and value > 0), None)
        case _:
            trained = None
    fields: Mapping[str, JsonValue] = answer if isinstance(answer, dict) else {}
    abilities = fields.get("capabilities")
    return ModelCard(
        trained,
        _chosen(str(fields.get("parameters") or "")),
        frozenset(str(ability) for ability in abilities) if isinstance(abilities, list) else None,
        bool(fields.get("remote_host")),
    )


def _chosen(parameters: str) -> int | None:
    found = re.search(r"^num_ctx\s+(\d+)\s*$", parameters, re.MULTILINE)
    return int(found[1]) or None if found else None
