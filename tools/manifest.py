"""What is known of a built-in tool before it is imported: its names, its description, its schema.

`manifest.json` is written by `make snapshots`, which runs this module, and held against the tools themselves by a test.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from harness.messages import JsonObject

FOLDER = Path(__file__).parent
MANIFEST = FOLDER / "manifest.json"


class ToolManifest(NamedTuple):
    label: str
    mutates: bool
    parameters: JsonObject


def manifest_of(name: str) -> ToolManifest:
    return _manifests()[name]


@cache
def description_of(name: str) -> str:
    return (FOLDER / "descriptions" / f"{name}.md").read_text(encoding="utf-8").strip()


@cache
def _manifests() -> dict[str, ToolManifest]:
    return {name: ToolManifest(**fields) for name, fields in json.loads(MANIFEST.read_text(encoding="utf-8")).items()}
