"""The agent, for Python programs: `from harness import Agent`; `harness.api` lists all there is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.api import *  # noqa: F403  checkers see the names; who imports one module loads only that


def __getattr__(name: str) -> object:
    api = import_module("harness.api")
    if name not in api.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(api, name)
