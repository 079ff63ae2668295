from __future__ import annotations

from pathlib import Path

import pytest

from cinch_tui.config.paths import load_json, save_json
from cinch_tui.models.connecting import ModelChoice


def test_a_choice_is_recalled_as_it_was_made(tmp_path: Path):
    file = tmp_path / "state" / "model.json"

    save_json(file, ModelChoice("openai-chat/big", "http://127.0.0.1:1/v1"))

    assert load_json(file, ModelChoice) == ModelChoice("openai-chat/big", "http://127.0.0.1:1/v1")
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"name": 3, "base_url": ""}', b"\xff"])
def test_a_damaged_file_is_no_choice(tmp_path: Path, content: bytes):
    file = tmp_path / "model.json"
    file.write_bytes(content)

    assert load_json(file, ModelChoice) is None


def test_an_unwritable_choice_breaks_nothing_else():
    save_json(Path("/proc/nowhere/model.json"), ModelChoice("demo/tour"))
