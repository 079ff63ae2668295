"""Prompt texts sent to the model, one Markdown file each."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def prompt_text(name: str) -> str:
    """Return the text of the file `name`.md in this folder."""
    return (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8").strip()
