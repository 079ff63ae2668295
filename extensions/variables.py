"""Environment variables in values: `${VAR}` and `${VAR:-default}`."""

from __future__ import annotations

import re
from collections.abc import Mapping

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def expand_variables(value: object, environ: Mapping[str, str]) -> object:
    """Return a value with its environment variables expanded.

    Raises:
        ValueError: a variable is not set.
    """

    def looked_up(match: re.Match[str]) -> str:
        found = environ.get(match[1]) or match[2]
        if found is None:
            raise ValueError(f"needs the environment variable {match[1]}, which is not set")
        return found

    if isinstance(value, str):
        return VARIABLE.sub(looked_up, value)
    if isinstance(value, list):
        items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] checked by the recursion
        return [expand_variables(item, environ) for item in items]
    return value


def names_variable(value: object) -> bool:
    """Return True if a text, or one in a list, contains a variable."""
    return VARIABLE.search(str(value)) is not None
