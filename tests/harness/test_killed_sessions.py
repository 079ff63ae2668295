from __future__ import annotations

from pathlib import Path

import pytest
from soak.kills import kill_one


@pytest.mark.parametrize("seed", [3, 11])
def test_killed_session_loses_nothing_shown_and_repeats_no_effect(tmp_path: Path, seed: int):
    assert kill_one(seed, tmp_path).kills
