"""Thinking in Chat Completions, which has no standard field for it."""

from __future__ import annotations

import json
from typing import Any

from providers.openai_chat.wire_types import ChunkDelta

REASONING_FIELD = "reasoning_content"
FIELDS = (REASONING_FIELD, "reasoning")


def thinking_in(delta: ChunkDelta) -> str | None:
    """Return the thinking in a chunk; empty if there is only a signature, None if there is nothing."""
    text = delta.get("reasoning_content") or delta.get("reasoning")
    if text:
        return text
    if details := delta.get("reasoning_details"):
        return "".join(str(detail.get("text") or detail.get("summary") or "") for detail in details)
    parts = _parts(delta)
    return "".join(_part_text(part) for part in parts) if parts else None


class ReasoningSignature:
    """Form in which a block of thinking arrived, stored in its signature as JSON.

    It is the name of the field, the details that a service wants back unchanged, or, if thinking is part of the
    content, the part without its text.
    """

    def __init__(self) -> None:
        self._field = ""
        self._details: list[dict[str, Any]] = []
        self._part: dict[str, Any] = {}

    @property
    def text(self) -> str | None:
        if self._part:
            return json.dumps({"part": self._part}, ensure_ascii=False)
        if self._details:
            return json.dumps(self._details, ensure_ascii=False)
        return json.dumps(self._field) if self._field else None

    def note(self, delta: ChunkDelta) -> None:
        """Store the form of a piece of thinking."""
        for detail in delta.get("reasoning_details") or ():
            self._add(detail)
        for part in _parts(delta):
            known = {name: value for name, value in part.items() if name != "thinking" and value is not None}
            self._part.update(known)
        if not self._field:
            self._field = next((field for field in FIELDS if delta.get(field)), "")

    def _add(self, detail: dict[str, Any]) -> None:
        """Join pieces of one text; other details are kept as they are."""
        last = self._details[-1] if self._details else {}
        key = "summary" if detail.get("type") == "reasoning.summary" else "text"
        is_same = all(last.get(name) == detail.get(name) for name in ("type", "index", "id"))
        if not is_same or not isinstance(last.get(key), str):
            self._details.append(dict(detail))
            return
        joined = last[key] + (detail.get(key) or "")
        last.update({name: value for name, value in detail.items() if value is not None})
        last[key] = joined


def _parts(delta: ChunkDelta) -> list[dict[str, Any]]:
    """Return the thinking parts of the content, as Mistral sends them."""
    content = delta.get("content")
    return [part for part in content if part.get("type") == "thinking"] if isinstance(content, list) else []


def _part_text(part: dict[str, Any]) -> str:
    pieces = part.get("thinking") or ()
    return pieces if isinstance(pieces, str) else "".join(str(piece.get("text") or "") for piece in pieces)
