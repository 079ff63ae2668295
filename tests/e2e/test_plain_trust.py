"""The question about a folder in plain mode."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from e2e.conftest import ROOT
from e2e.lines import Lines
from fakes.foreign_folder import foreign_folder
from fakes.script import Reply

pytestmark = pytest.mark.pty


@pytest.mark.parametrize(("answer", "is_used"), [("2", True), ("1", False)])
def test_plain_mode_asks_before_it_uses_a_folder(project: Path, serve, answer: str, is_used: bool):
    foreign_folder(project, "AGENTS.md")
    server = serve([Reply("Fine.")])
    own = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-ant-e2e-secret"}
    lines = Lines(project, {**os.environ, "PYTHONPATH": str(ROOT), **own}, "--plain")

    try:
        lines.answer("AGENTS.md: instructions", answer)
        lines.see("You: ")
        lines.enter("hello")
        lines.see("Fine")
    finally:
        lines.close()

    assert ("rhymes" in json.dumps(server.requests[0].body["system"])) is is_used
