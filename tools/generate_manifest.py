"""Generator of `manifest.json`; run by `make snapshots`."""

from __future__ import annotations

import json
from collections.abc import Iterable

from harness.ports.tool import Tool
from tools.builtin import loaders
from tools.manifest import MANIFEST, ToolManifest


def manifest_text(tools: Iterable[Tool]) -> str:
    """Return the content of `manifest.json` for these tools."""
    manifests = {tool.name: ToolManifest(tool.label, tool.mutates, tool.parameters)._asdict() for tool in tools}
    return json.dumps(manifests, ensure_ascii=False, indent=1) + "\n"


def main() -> None:
    MANIFEST.write_text(manifest_text(load() for load in loaders().values()), encoding="utf-8")


if __name__ == "__main__":
    main()
