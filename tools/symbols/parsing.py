"""Parsing within a time limit: for texts that are no code, parsers can take minutes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tools.symbols.languages import grammar

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST_S = 1.0
_CHUNK = 16 * 1024
_WIDEST_ERROR = 2_000
_MOST_ERRORS = 20_000


def parsed(language: str, data: bytes) -> Node | None:
    """Return the root of the syntax tree; None if parsing takes longer than a second, or the text is hardly code."""
    from tree_sitter import Parser  # with the first file, not before

    is_over = time_limit()
    # A parser for each text: during the callbacks, another thread may parse.
    parser = Parser(grammar(language)[0])
    try:
        root = parser.parse(lambda at, _: data[at : at + _CHUNK], progress_callback=lambda at, _: is_over(at)).root_node
    except ValueError:
        return None
    return root if _is_code(root) else None


def _is_code(root: Node) -> bool:
    """Return False for a text that is hardly code: a query takes the square of the number of nodes in an error."""
    left = [root]
    for _ in range(_MOST_ERRORS):
        while left and not left[-1].has_error:
            left.pop()
        if not left:
            return True
        node = left.pop()
        if node.child_count > _WIDEST_ERROR and node.is_error:
            return False
        left += node.children
    return False


def time_limit() -> Callable[[int], bool]:
    """Return a progress callback that stops an operation after a second."""
    end = time.monotonic() + _LONGEST_S
    return lambda _: time.monotonic() > end
