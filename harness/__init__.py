"""The agent as a Python library: `from harness import Agent`. `harness.api` lists all public names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.api import *  # noqa: F403  names for type checkers; importing one module loads only that module


def __getattr__(name: str) -> object:
    # Imported late: importing one module of the package must not load the list.
    from harness.api import WHERE, load

    if name == "__all__":
        return list(WHERE)
    if name not in WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = load(name)
    return value


def __dir__() -> list[str]:
    from harness.api import WHERE

    return [*globals(), *WHERE]
