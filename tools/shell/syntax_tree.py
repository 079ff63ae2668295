"""Second opinion on the words of a command, from the grammar of tree-sitter."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_MOST_NODES = 4_000
_DEEPEST = 40

_COMMANDS = frozenset({"command", "declaration_command", "unset_command"})
_WITH_TARGET = frozenset({"file_redirect", "herestring_redirect"})
_WITH_WORDS = _COMMANDS | _WITH_TARGET | {"variable_assignment"}
_TESTS = frozenset({"test_command"})
_DIFFERENT = "bash may split it into other words"


def disagreement(text: str, spans: set[tuple[int, int]]) -> str:
    """Return the reason why the tree of a text contradicts the words that were found in it; empty if it does not.

    Args:
        text: A command line.
        spans: Start and end of every word, assignment and target of a redirection in its simple commands.
    """
    source = text.encode(errors="replace")
    root = _parser().parse(source).root_node
    if root.has_error:
        return "it is not understood"
    found: set[tuple[int, int]] = set()
    tests: list[tuple[int, int]] = []
    pending, count = [(root, 0)], 0
    while pending:
        node, depth = pending.pop()
        count += 1
        if count > _MOST_NODES or depth > _DEEPEST:
            return "it is too long or nested too deeply"
        kind = node.type
        if kind in _TESTS:
            tests.append((node.start_byte, node.end_byte))
        elif kind in _WITH_WORDS:
            found.update(_words(node, kind))
        if not _is_read_apart(node, kind):
            pending += [(child, depth + 1) for child in node.named_children]
    ours = spans if len(source) == len(text) else {(_bytes(text, start), _bytes(text, end)) for start, end in spans}
    # The tree omits some words, such as `-` in front of a here-document.
    return "" if all(any(_is_within(span, test) for test in tests) for span in found - ours) else _DIFFERENT


@cache
def _parser() -> Parser:
    # Imported here: only sessions that run commands need the grammar.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _is_read_apart(node: Node, kind: str) -> bool:
    """Return True for text that our parser reads after removing escapes, with positions of its own."""
    is_backticks = kind == "command_substitution" and node.children[:1] and node.children[0].type == "`"
    return bool(is_backticks) or kind == "heredoc_body"


def _words(node: Node, kind: str) -> list[tuple[int, int]]:
    """Return the words that belong to a node itself."""
    if kind in _COMMANDS:
        children = [child for child in node.children if not child.type.endswith("_redirect")]
    elif kind in _WITH_TARGET:
        children = [child for child in node.named_children if child.type != "file_descriptor"]
    else:
        children = [] if node.parent and node.parent.type in _COMMANDS else [node]
    return [(child.start_byte, child.end_byte) for child in children]


def _bytes(text: str, index: int) -> int:
    return len(text[:index].encode(errors="replace"))


def _is_within(span: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] <= span[0] and span[1] <= outer[1]
