"""A model's thinking in Chat Completions: which has no field for it, so that every server has its own."""

from __future__ import annotations

import json
from typing import Any

from providers.openai_chat.wire_types import ChunkDelta

THOUGHT = "reasoning_content"
FIELDS = (THOUGHT, "reasoning")


class ReasoningBlock:
    """One block of thinking as it comes in.

    `signature` notes how it came, in JSON: the name of the field, the details that a service wants back unchanged, or,
    where thoughts are parts of the content, the part without its text.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        self._field = ""
        self._details: list[dict[str, Any]] = []
        self._part: dict[str, Any] = {}

    @staticmethod
    def text_in(delta: ChunkDelta) -> str | None:
        """The thinking in a chunk; empty if there is only something to keep, None if there is nothing."""
        text = delta.get("reasoning_content") or delta.get("reasoning")
        if text:
            return text
        if details := delta.get("reasoning_details"):
            return "".join(str(detail.get("text") or detail.get("summary") or "") for detail in details)
        parts = _parts(delta)
        return "".join(_words(part) for part in parts) if parts else None

    @property
    def signature(self) -> str | None:
        if self._part:
            return json.dumps({"part": self._part}, ensure_ascii=False)
        if self._details:
            return json.dumps(self._details, ensure_ascii=False)
        return json.dumps(self._field) if self._field else None

    def note(self, delta: ChunkDelta) -> None:
        """Remember how a piece of thinking came."""
        for detail in delta.get("reasoning_details") or ():
            self._add(detail)
        for part in _parts(delta):
            known = {name: value for name, value in part.items() if name != "thinking" and value is not None}
            self._part.update(known)
        if not self._field:
            self._field = next((field for field in FIELDS if delta.get(field)), "")

    def _add(self, detail: dict[str, Any]) -> None:
        """Join pieces of one text; details of any other kind stay whole."""
        last = self._details[-1] if self._details else {}
        key = "summary" if detail.get("type") == "reasoning.summary" else "text"
        same = (last.get("type"), last.get("index"), last.get("id")) == (
            detail.get("type"),
            detail.get("index"),
            detail.get("id"),
        )
        if not same or not isinstance(last.get(key), str):
            self._details.append(dict(detail))
            return
        joined = last[key] + (detail.get(key) or "")
        last.update({name: value for name, value in detail.items() if value is not None})
        last[key] = joined


def _parts(delta: ChunkDelta) -> list[dict[str, Any]]:
    """Thoughts among the parts of the content, as Mistral sends them."""
    content = delta.get("content")
    return [part for part in content if part.get("type") == "thinking"] if isinstance(content, list) else []


def _words(part: dict[str, Any]) -> str:
    pieces = part.get("thinking") or ()
    return pieces if isinstance(pieces, str) else "".join(str(piece.get("text") or "") for piece in pieces)
