"""References to names in a source file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tools.symbols.definitions import Definition, definitions_in
from tools.symbols.parsing import parsed, time_limit

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST_LINE = 160
_TEXT_NODES = re.compile(r"comment|string|template_chars|heredoc|regex|char")
_PARENTS = 3


class Reference(Struct, frozen=True, array_like=True):
    """A use of a name in code, outside comments and strings."""

    name: str
    kind: Literal["call", "import", "use"]
    line: int
    scope: str
    """Qualified name of the enclosing definition; empty at the top level."""

    text: str
    """The line, shortened."""


def references(language: str, data: bytes, names: Set[str]) -> list[Reference]:
    """Return the references to some names in a source text, in order; one for each line and name."""
    places = list(_places(data, names))
    if not places:
        return []
    root = parsed(language, data)
    if root is None:
        return []
    defined = definitions_in(language, root, data)
    own_lines = {(each.line, each.name) for each in defined}
    lines = data.split(b"\n")
    found: dict[tuple[int, str], Reference] = {}
    is_over = time_limit()
    for start, end, name in places:
        if is_over(start):
            break
        node = root.descendant_for_byte_range(start, end)
        if node is None or node.child_count or _TEXT_NODES.search(node.type):
            continue
        kinds = [parent.type for parent in _parents(node)]
        line = node.start_point.row + 1
        if (line, name) not in own_lines and (line, name) not in found:
            found[line, name] = Reference(name, _kind(kinds), line, _scope(defined, line), _shown(lines[line - 1]))
    return list(found.values())


def _places(data: bytes, names: Set[str]) -> Iterator[tuple[int, int, str]]:
    if not names:
        return
    # Bytes above ASCII belong to letters of UTF-8.
    pattern = b"|".join(re.escape(name.encode("utf-8", "replace")) for name in sorted(names, key=len, reverse=True))
    for found in re.finditer(rb"(?<![A-Za-z0-9_\x80-\xff])(?:" + pattern + rb")(?![A-Za-z0-9_\x80-\xff])", data):
        yield found.start(), found.end(), found[0].decode("utf-8", "replace")


def _parents(node: Node) -> Iterator[Node]:
    parent = node.parent
    for _ in range(_PARENTS):
        if parent is None:
            return
        yield parent
        parent = parent.parent


def _kind(parents: Sequence[str]) -> Literal["call", "import", "use"]:
    """Return the kind of a reference, by the types of the nodes around it, innermost first."""
    if any("import" in each or each in ("use_declaration", "using_directive", "preproc_include") for each in parents):
        return "import"
    return "call" if any("call" in each or each in ("new_expression", "command") for each in parents[:2]) else "use"


def _scope(defined: Sequence[Definition], line: int) -> str:
    """Return the innermost definition that encloses a line."""
    around = [each for each in defined if each.line <= line <= each.end_line]
    return around[-1].qualified_name if around else ""


def _shown(line: bytes) -> str:
    text = line[: 8 * _LONGEST_LINE].decode("utf-8", "replace").strip()
    return text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "…"
