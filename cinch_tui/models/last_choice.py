"""The model chosen on the welcome screen, stored for the next start."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from cinch_tui.config.private_file import write_private
from harness.lazy_dataclass import dataclass

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model, and the base URL of its service if it is not the default."""

    name: str
    base_url: str = ""


def save_choice(file: Path, choice: ModelChoice) -> None:
    """Store the choice; an error is only logged."""
    try:
        write_private(file, json.dumps({"name": choice.name, "base_url": choice.base_url}) + "\n")
    except OSError as error:
        logger.warning("the chosen model cannot be stored: %s", error)


def load_choice(file: Path) -> ModelChoice | None:
    """Return the stored choice; None if there is none or it is unreadable."""
    try:
        data: object = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    match data:
        case {"name": str(name), "base_url": str(base_url)}:
            return ModelChoice(name, base_url)
        case _:
            return None
