"""Agents in trusted folders with skills and commands in files."""

from __future__ import annotations

import json
import os
from pathlib import Path

from fakes.model_server import ModelServer

from cinch_tui.assembly.assembly import Assembly
from cinch_tui.assembly.building import assemble
from cinch_tui.cli.start import config_sources
from cinch_tui.config.names import build
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.template_use import TemplateUse
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.store import TrustStore
from harness.ports.interaction import NonInteractive


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / ".claude" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def start_agent(folder: Path) -> Assembly:
    """Start an agent in a folder, which is trusted as it is now."""
    paths = find_paths(os.environ)
    TrustStore(paths.trust_file).trust(inventory(folder, paths.config_file))
    options = Options(folder, paths, os.environ, config_sources(paths, folder), keep_session=False)
    settings = build({"model.name": "anthropic/main", "retry.max_retries": 0})
    return await assemble(options, settings, NonInteractive())


def use_of(assembly: Assembly, line: str) -> TemplateUse:
    word, _, arguments = line.partition(" ")
    source = assembly.folder.template(word[1:])
    assert source is not None
    return TemplateUse(assembly, source, line, arguments)


def sent(server: ModelServer) -> str:
    return json.dumps(server.requests[-1].body["messages"], ensure_ascii=False)
