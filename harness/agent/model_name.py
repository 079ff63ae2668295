"""Models given by name. An installed package connects them; the harness knows no provider."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from harness.errors import ConfigError
from harness.ports.provider import Model

GROUP = "cinch.connect"
"""Entry point group of the function that connects a model by its name."""
EXAMPLE = "anthropic/claude-sonnet-5-5"

Connect: TypeAlias = Callable[[str], object]


def model_of(model: Model | str) -> Model:
    """Return the model, connecting it if it is given by name.

    Raises:
        ConfigError: The model does not exist, no installed package connects models, or it is neither model nor name.
    """
    if isinstance(model, Model):
        return model
    if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance] callers may not be type checked
        raise ConfigError(f"{model!r:.80} is not a model: pass a harness.Model, or a name such as {EXAMPLE!r}")
    connected = _connect()(model)
    if not isinstance(connected, Model):
        raise ConfigError(f"the entry point of {GROUP} returned {connected!r:.80} for {model!r} instead of a model")
    return connected


@cache
def _connect() -> Connect:
    # Imported late: it takes milliseconds, and only models given by name need it.
    from importlib.metadata import entry_points

    for found in entry_points(group=GROUP):
        try:
            return found.load()
        except (ImportError, AttributeError) as error:
            raise ImportError(f"{error}; does another package hide {found.module!r} of cinch-tui?") from error
    raise ConfigError(
        f"no installed package connects models by name (entry point group {GROUP}): "
        f'install cinch-tui, or pass a model, as in Agent(connect("{EXAMPLE}"))'
    )
