"""The doctor in the app."""

from __future__ import annotations

from pathlib import Path

from fakes.model_server import ModelServer, Reply
from fakes.patients import options_in

from cinch_tui.doctor.checks import BLOCK_WIDTH, report_block
from cinch_tui.models.connecting import ModelChoice


async def test_the_app_describes_the_model_in_use_in_one_block(tmp_path: Path) -> None:
    with ModelServer([Reply("OK")]) as server:
        in_use = ModelChoice("openai-chat/qwen", server.openai_url)
        reported = await report_block([], options_in(tmp_path), in_use)

    first, *lines, last = reported.splitlines()
    assert (first, last) == ("```text", "```")
    assert any(line.startswith("ok   openai-chat     answer: qwen answered: first token after ") for line in lines)
    assert any(line.startswith("ok   cinch ") for line in lines)
    assert all(len(line) <= BLOCK_WIDTH or len(line.split()) <= 3 for line in lines)
