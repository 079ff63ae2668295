"""A model's thinking in Chat Completions: which has no field for it, so that every server has its own."""

from __future__ import annotations

import json
from typing import Any

from providers.openai_chat.shapes import ChunkDelta

FIELDS = ("reasoning_content", "reasoning")


class Thoughts:
    """One block of thinking as it comes in.

    `signature` notes how it came, in JSON: the name of the field, or the details that a service wants back unchanged.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        self._field = ""
        self._details: list[dict[str, Any]] = []

    @staticmethod
    def said_in(delta: ChunkDelta) -> str | None:
        """The thinking in a chunk; empty if there is only something to keep, None if there is nothing."""
        text = delta.get("reasoning_content") or delta.get("reasoning")
        if text:
            return text
        details = delta.get("reasoning_details")
        if not details:
            return None
        return "".join(str(detail.get("text") or detail.get("summary") or "") for detail in details)

    @property
    def signature(self) -> str | None:
        if self._details:
            return json.dumps(self._details, ensure_ascii=False)
        return json.dumps(self._field) if self._field else None

    def note(self, delta: ChunkDelta) -> None:
        """Remember how a piece of thinking came."""
        for detail in delta.get("reasoning_details") or ():
            self._add(detail)
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
