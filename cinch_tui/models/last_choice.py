"""The model a person chose on the welcome screen, so that the next start need not ask again."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from cinch_tui.config.private_file import write_private
from harness.lazy_dataclass import dataclass

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model by its name, and the address of its service where it is not the usual one."""

    name: str
    base_url: str = ""


def save_choice(file: Path, choice: ModelChoice) -> None:
    """Keep the choice; a disk that refuses costs only that."""
    try:
        write_private(file, json.dumps({"name": choice.name, "base_url": choice.base_url}) + "\n")
    except OSError as error:
        logger.warning("the choice of a model cannot be kept: %s", error)


def load_choice(file: Path) -> ModelChoice | None:
    """The choice that was kept, if one was and it can be read."""
    try:
        data: object = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    match data:
        case {"name": str(name), "base_url": str(base_url)}:
            return ModelChoice(name, base_url)
        case _:
            return None
