"""Panels that the user has opened or closed, kept between starts."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from cinch_tui.config.private_file import write_private
from harness.lazy_dataclass import dataclass

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PanelLayout:
    """Names of the panels that are open and closed."""

    beside: str = ""
    """Panel beside the conversation; empty for none."""
    closed: tuple[str, ...] = ()
    """Panels above the prompt that the user has closed."""


def recall_panels(file: Path) -> PanelLayout:
    """Return the saved layout, or the default if it cannot be read."""
    try:
        data: object = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return PanelLayout()
    if not isinstance(data, Mapping):
        return PanelLayout()
    # The file may have been edited: validate each field.
    kept = cast("Mapping[str, object]", data)
    beside, closed = kept.get("beside"), kept.get("closed")
    names = cast("list[object]", closed) if isinstance(closed, list) else []
    return PanelLayout(
        beside if isinstance(beside, str) else "", tuple(name for name in names if isinstance(name, str))
    )


def remember_panels(file: Path, layout: PanelLayout) -> None:
    """Save the layout; a failure is logged."""
    try:
        write_private(file, json.dumps({"beside": layout.beside, "closed": list(layout.closed)}) + "\n")
    except OSError as error:
        logger.warning("the choice of panels cannot be kept: %s", error)
