from __future__ import annotations

from pathlib import Path

import pytest
from fakes.model_server import ModelServer
from soak.in_process import InProcess, forgotten
from soak.played import Played

SEED = 5
SECONDS = 9


async def test_nothing_is_left_in_memory_of_what_was_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in {"ANTHROPIC_API_KEY": "sk-ant-soak", "PAGER": "cat", "BROWSER": "true"}.items():
        monkeypatch.setenv(name, value)
    with ModelServer(Played(SEED)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        soak = InProcess(tmp_path, SEED)
        await soak.run(SECONDS)

    assert forgotten(soak.counted) == {}, soak.reported
