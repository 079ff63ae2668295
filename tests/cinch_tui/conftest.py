from __future__ import annotations

from collections.abc import Iterator

import pytest
import textual.app
import textual.pilot
import textual.screen
from fakes.idle import wait_for_idle

from cinch_tui.cli.main import FRAMES


@pytest.fixture(scope="session", autouse=True)
def _short_waits() -> Iterator[None]:
    """Repaint as often as cinch does, and make `Pilot.press` and `Pilot.pause` return as soon as the app is idle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textual.screen, "UPDATE_PERIOD", 1 / int(FRAMES[1]))
        for module in (textual.app, textual.pilot):
            patch.setattr(module, "wait_for_idle", wait_for_idle)
        yield
