from __future__ import annotations

from pathlib import Path

import pytest
from soak.in_terminal import Soak

pytestmark = pytest.mark.pty

SECONDS = 9


def test_random_use_neither_fails_nor_hangs_nor_leaks(tmp_path: Path):
    soak = Soak(tmp_path, seed=1)

    soak.run(SECONDS)

    assert soak.taken > 30
