"""Connecting a model, with error hints for users of the app, and the model chosen on the welcome screen."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Unpack

from msgspec import Struct

import providers
from cinch_tui.reports.formatting import app_hints
from harness.errors import ConfigError
from harness.ports.provider import Model
from providers import ConnectOptions, Credentials
from providers.endpoint import Endpoint
from providers.preset import Preset


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
