"""Connecting a model, with error hints for users of the app, and the model chosen on the welcome screen."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode

import providers
from cinch_tui.config.paths import write_private
from cinch_tui.reports.formatting import app_hints
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.ports.provider import Model
    from providers import ConnectOptions, Credentials
    from providers.endpoint import Endpoint
    from providers.preset import Preset


logger = logging.getLogger(__name__)


def connect(name: str, **options: Unpack[ConnectOptions]) -> Model:
    """Connect a model as `providers.connect` does.

    Raises:
        ConfigError: as there, with hints for users of the app.
    """
    with with_app_hints():
        return providers.connect(name, **options)


def endpoint_of(preset: Preset, base_url: str | None, credentials: Credentials | None) -> Endpoint:
    """Return the endpoint of a preset as `providers.endpoint_of` does.

    Raises:
        ConfigError: as there, with hints for users of the app.
    """
    with with_app_hints():
        return providers.endpoint_of(preset, base_url, credentials)


@contextmanager
def with_app_hints() -> Generator[None]:
    """Add hints for users of the app to a ConfigError of the library."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(app_hints(str(error))) from error


class ModelChoice(Struct, frozen=True):
    """A model, and the base URL of its service if it is not the default."""

    name: str
    base_url: str = ""


def save_choice(file: Path, choice: ModelChoice) -> None:
    """Store the choice; an error is only logged."""
    try:
        write_private(file, f"{encode(choice).decode()}\n")
    except OSError as error:
        logger.warning("the chosen model cannot be stored: %s", error)


def load_choice(file: Path) -> ModelChoice | None:
    """Return the stored choice; None if absent or unreadable."""
    with suppress(OSError, ValueError, DecodeError):
        return decode(file.read_bytes(), type=ModelChoice)
    return None
