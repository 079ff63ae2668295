"""What is known of a built-in tool before it is imported: its names, its description, its schema.

`cards.json` is written by `make snapshots`, which runs this module, and held against the tools themselves by a test.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from harness.messages import JsonObject
    from harness.ports.tool import Tool

FOLDER = Path(__file__).parent
CARDS = FOLDER / "cards.json"


class ToolManifest(NamedTuple):
    label: str
    mutates: bool
    parameters: JsonObject


def manifest_of(name: str) -> ToolManifest:
    return _cards()[name]


@cache
def description_of(name: str) -> str:
    return (FOLDER / "descriptions" / f"{name}.md").read_text(encoding="utf-8").strip()


def as_text(tools: Iterable[Tool]) -> str:
    """The cards of these tools, as they are kept."""
    cards = {tool.name: ToolManifest(tool.label, tool.mutates, tool.parameters)._asdict() for tool in tools}
    return json.dumps(cards, ensure_ascii=False, indent=1) + "\n"


@cache
def _cards() -> dict[str, ToolManifest]:
    return {name: ToolManifest(**card) for name, card in json.loads(CARDS.read_text(encoding="utf-8")).items()}


def main() -> None:
    from tools.builtin import loaders

    CARDS.write_text(as_text(load() for load in loaders().values()), encoding="utf-8")


if __name__ == "__main__":
    main()
