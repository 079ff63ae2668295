"""The agent, for Python programs: `from harness import Agent`; `harness.api` lists all there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.api import *  # noqa: F403  checkers see the names; who imports one module loads only that


def __getattr__(name: str) -> object:
    # Not at the top: who imports one module of ours needs no list.
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
