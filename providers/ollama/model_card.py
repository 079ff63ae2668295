"""Description of a model by an Ollama server, and the context window to request.

By default many servers use a window of 4,096 tokens and silently drop what does not fit, which is too little for an
agent. So a window is requested, large enough to work in and small enough for most machines, unless the user chose one:
in `OLLAMA_CONTEXT_LENGTH`, in the Modelfile, or by loading the model with a larger one.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import JsonValue
from providers.model_catalog.metadata import ModelMetadata
from providers.wire.citations import as_object, items

REQUESTED_WINDOW = 32_768
ALL_CAPABILITIES = frozenset(("completion", "tools", "vision", "thinking"))


class ModelCard(Struct, frozen=True):
    """Description of a model."""

    trained: int | None = None
    """Context window of training, in tokens."""

    chosen: int | None = None
    """Context window set in the Modelfile."""

    capabilities: frozenset[str] | None = None
    """None if the server does not report them."""

    is_remote: bool = False
    """True if the server forwards requests to a cloud, which uses the full window."""

    num_ctx: int | None = None
    """Window to request; None leaves it to the server."""

    @property
    def window(self) -> int | None:
        return self.num_ctx or self.chosen or self.trained

    def can(self, capability: str) -> bool:
        """Return True unless the model is known to lack the capability."""
        return self.capabilities is None or capability in self.capabilities

    @property
    def metadata(self) -> ModelMetadata:
        images, tools, thinking = (
            None if self.capabilities is None else capability in self.capabilities
            for capability in ("vision", "tools", "thinking")
        )
        return ModelMetadata(self.window, images=images, tools=tools, thinking=thinking)

    def without(self, capability: str) -> ModelCard:
        return replace(self, capabilities=(self.capabilities or ALL_CAPABILITIES) - {capability})

    def with_window(self, wanted: int | None, loaded: int | None) -> ModelCard:
        """Return the card with the window to request.

        Args:
            wanted: Window configured by the user.
            loaded: Window of the loaded model.
        """
        if self.is_remote or (self.chosen and not wanted):
            return replace(self, num_ctx=None)
        room = wanted or max(loaded or 0, REQUESTED_WINDOW)
        return replace(self, num_ctx=min(room, self.trained or room))


def card_of(answer: JsonValue) -> ModelCard:
    """Return the card in a response of `/api/show`."""
    fields = as_object(answer)
    info, capabilities = as_object(fields.get("model_info")), items(fields.get("capabilities"))
    windows = (value for name, value in info.items() if name.endswith(".context_length"))
    found = re.search(r"^num_ctx\s+(\d+)\s*$", str(fields.get("parameters") or ""), re.MULTILINE)
    return ModelCard(
        next((value for value in windows if isinstance(value, int) and value > 0), None),
        int(found[1]) or None if found else None,
        frozenset(map(str, capabilities)) if capabilities or fields.get("capabilities") == [] else None,
        bool(fields.get("remote_host")),
    )
