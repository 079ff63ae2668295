"""Selection strategies by name: those of the harness, and those of installed packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from harness.entry_points import PackageObjects, created
from harness.errors import ConfigError
from harness.parallel.selection import Elaborate, LlmJudge, PickFirst, Strategy, TokenEfficient
from harness.ports.provider import Model

GROUP = "cinch.evaluators"
"""Entry point group of strategies: an instance, or a class or function without arguments."""
BUILTIN: Mapping[str, Callable[[Model], Strategy]] = {
    "first": lambda _: PickFirst(),
    "fewest-tokens": lambda _: TokenEfficient(),
    "most-tokens": lambda _: Elaborate(),
    "judge": LlmJudge,
}
"""Strategies of the harness; the model is that of the agent."""


def find_strategy(name: str, model: Model) -> Strategy:
    """Return the strategy of that name.

    Args:
        name: Its name.
        model: The model of the agent, which may be the judge.

    Raises:
        ConfigError: It does not exist or cannot be used.
    """
    if name in BUILTIN:
        return BUILTIN[name](model)
    found = package_evaluators().get(name)
    if found is None:
        known = [*BUILTIN, *package_evaluators().names]
        raise ConfigError(f"there is no evaluator {name!r}; known are {', '.join(known)}")
    if isinstance(found, ConfigError):
        raise ConfigError(str(found))
    return found


@cache
def package_evaluators() -> PackageObjects[Strategy]:
    """Return the strategies of packages."""
    return PackageObjects(GROUP, _strategy, _reject_name)


def _reject_name(name: str) -> str:
    return "cinch has an evaluator of that name" if name in BUILTIN else ""


def _strategy(found: object, name: str) -> Strategy:
    del name
    strategy = created(found)
    if not callable(getattr(strategy, "choose", None)):
        raise ConfigError(f"expected a Strategy, not {type(strategy).__name__}: it has no method choose")
    return strategy  # pyright: ignore[reportReturnType] checked when it chooses
