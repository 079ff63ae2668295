from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from cinch_tui.assembly.building import assemble
from cinch_tui.cli.start import config_sources
from cinch_tui.config.names import build
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from harness.execution.spill import KEPT_SECONDS
from harness.ports.interaction import NonInteractive


def test_spilled_output_of_old_sessions_is_removed_at_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    paths = find_paths(os.environ)
    old, new = paths.cache / "output" / "old", paths.cache / "output" / "new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "bash-1.txt").write_text("long")
    long_ago = time.time() - KEPT_SECONDS - 60
    os.utime(old, (long_ago, long_ago))
    options = Options(cwd=tmp_path, paths=paths, environ=os.environ, sources=config_sources(paths, tmp_path))

    asyncio.run(assemble(options, build({"model.name": "anthropic/main"}), NonInteractive()))

    assert [folder.name for folder in (paths.cache / "output").iterdir()] == ["new"]
