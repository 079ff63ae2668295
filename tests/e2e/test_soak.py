from __future__ import annotations

from pathlib import Path

import pytest
from soak.in_terminal import Soak

pytestmark = pytest.mark.pty

SECONDS = 9


def test_used_by_chance_it_neither_fails_nor_gets_stuck_nor_grows(tmp_path: Path):
    soak = Soak(tmp_path, seed=1)

    soak.run(SECONDS)

    assert soak.taken > 30
