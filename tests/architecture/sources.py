"""Parsed source files, which several tests read: parsing them takes longer than most checks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("harness", "http_client", "providers", "tools", "extensions", "cinch_tui")


def parsed(folder: str) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the modules in a folder, in the order of their paths."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


@cache
def modules(package: str) -> list[tuple[Path, ast.Module]]:
    """Return the modules of a package, and keep them."""
    return [*parsed(package)]
