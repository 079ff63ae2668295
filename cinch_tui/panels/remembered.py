"""Which panels a person has opened or closed, from one start to the next."""

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
class Shown:
    """`beside` is the panel beside the conversation, empty for none; `closed` are those above the prompt that are not
    wanted."""

    beside: str = ""
    closed: tuple[str, ...] = ()


def recall_panels(file: Path) -> Shown:
    """What was kept; nothing is opened and nothing closed where that cannot be read."""
    try:
        data: object = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Shown()
    if not isinstance(data, Mapping):
        return Shown()
    # Whoever wrote it, each field is looked at.
    kept = cast("Mapping[str, object]", data)
    beside, closed = kept.get("beside"), kept.get("closed")
    names = cast("list[object]", closed) if isinstance(closed, list) else []
    return Shown(beside if isinstance(beside, str) else "", tuple(name for name in names if isinstance(name, str)))


def remember_panels(file: Path, shown: Shown) -> None:
    """Keep it; a disk that refuses costs only that."""
    try:
        write_private(file, json.dumps({"beside": shown.beside, "closed": list(shown.closed)}) + "\n")
    except OSError as error:
        logger.warning("the choice of panels cannot be kept: %s", error)
