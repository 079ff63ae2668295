"""Parsed shell command: the programs it names, their words, and how they are connected.

Nothing is expanded: an expansion stays in the word as written and makes the command not plain.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Beyond these limits a command is not parsed: nobody writes it by hand, and parsing must stay fast.
_LONGEST = 50_000
_MOST_NODES = 4_000
_DEEPEST = 40

_WORDS = words_of("""
    word string raw_string ansi_c_string translated_string number concatenation simple_expansion expansion
    arithmetic_expansion command_substitution process_substitution brace_expression extglob_pattern regex
""")
_JOINTS = {"&&", "||", ";", "|"}
_OUTPUT = {">", ">>", ">|", "&>", "&>>", ">&"}
_SEPARATORS = re.compile(r"[;&|\n(){}`]+")


class ParsedCommand(Struct, frozen=True):
    """One program with its words, without quotes."""

    words: tuple[str, ...]
    plain: bool = True
    """True if every word is literal and nothing else is attached."""

    reads: tuple[ParsedCommand, ...] = ()
    """Commands inside `<(…)`."""

    expands: tuple[ParsedCommand, ...] = ()
    """Commands inside `$(…)`."""

    stdin: str = ""
    """Text of a here-document."""


class Pipe(Struct, frozen=True):
    """A command and those whose output reaches it."""

    sources: tuple[ParsedCommand, ...]
    sink: ParsedCommand


class Script(Struct, frozen=True):
    """Everything that a command line may run."""

    commands: tuple[ParsedCommand, ...] = ()
    pipes: tuple[Pipe, ...] = ()
    writes: tuple[str, ...] = ()
    simple: bool = False
    """True if it is one plain command and nothing else."""

    joined: tuple[ParsedCommand, ...] = ()
    """Commands of a line that consists only of plain commands joined by `&&`, `||`, `;` or `|`; otherwise empty."""

    bombs: bool = False
    """True if it defines a function that calls itself twice (a fork bomb)."""


def parse(text: str) -> Script:
    """Parse a command line. Text that is not valid or too long is parsed by guessing; never raises."""
    if len(text) > _LONGEST:
        return _guess(text[:_LONGEST])
    text = text.strip()
    root = _parser().parse(text.encode(errors="replace")).root_node
    nodes = _all_nodes(root)
    if root.has_error or nodes is None:
        return _guess(text)
    commands = {node.id: _command(node) for node in nodes if node.type == "command"}
    is_single = [child.type for child in root.children] == ["command"]
    return Script(
        commands=tuple(commands.values()),
        pipes=tuple(pipe for node in nodes if node.type == "pipeline" for pipe in _pipes(node, commands)),
        writes=tuple(path for node in nodes if node.type == "file_redirect" for path in _written(node)),
        simple=_is_one_line(text) and is_single and all(command.plain for command in commands.values()),
        joined=_joined(root, commands) if _is_one_line(text) else (),
        bombs=any(_doubles_itself(node, commands) for node in nodes if node.type == "function_definition"),
    )


@cache
def _parser() -> Parser:
    # Imported here: only sessions that run commands need the grammar.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _all_nodes(root: Node) -> list[Node] | None:
    """Return the nodes in order; None if the tree is too large or deep for a user to judge."""
    nodes: list[Node] = []
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        nodes.append(node)
        if depth > _DEEPEST or len(nodes) > _MOST_NODES:
            return None
        pending.extend((child, depth + 1) for child in reversed(node.named_children))
    return nodes


def _within(node: Node) -> Iterator[Node]:
    yield node
    for child in node.named_children:
        yield from _within(child)


def _is_one_line(text: str) -> bool:
    """Return True if the text has only blanks that bash knows: the grammar accepts any, and a name may contain one."""
    return text.replace("\t", " ").isprintable()


def _joined(root: Node, commands: dict[int, ParsedCommand]) -> tuple[ParsedCommand, ...]:
    """Return the commands of a line that consists only of plain commands; empty if there is anything else in it."""
    found: list[ParsedCommand] = []
    pending = list(root.children)
    while pending:
        node = pending.pop(0)
        if node.type == "command" and commands[node.id].plain:
            found.append(commands[node.id])
        elif node.type in ("list", "pipeline", "redirected_statement"):
            pending = [*node.children, *pending]
        elif node.type not in _JOINTS and not _touches_no_file(node):
            return ()
    return tuple(found)


def _touches_no_file(node: Node) -> bool:
    """Return True for a redirection that reads and writes no file: `2>&1`, `>/dev/null`."""
    operators = {child.type for child in node.children if not child.is_named}
    is_output = node.type == "file_redirect" and len(_destinations(node)) == 1 and operators <= _OUTPUT
    return is_output and all(path == "/dev/null" for path in _written(node))


def _command(node: Node) -> ParsedCommand:
    parts = [_unwrapped(child) for child in node.children]
    words = [_resolve(part) for part in parts if part.type in _WORDS]
    attached = _redirects_of(node)
    words += [_resolve(word) for redirect in attached for word in _destinations(redirect)[1:]]
    only_words = all(part.type in _WORDS for part in parts) and all(_touches_no_file(each) for each in attached)
    inner = [child for part in parts for child in _within(part)]
    return ParsedCommand(
        tuple(text for text, _ in words),
        plain=only_words and all(plain for _, plain in words),
        reads=_substituted(inner, "process_substitution"),
        expands=_substituted(inner, "command_substitution"),
        stdin="".join(_here_text(child) for child in (*node.children, *attached)),
    )


def _unwrapped(node: Node) -> Node:
    return node.children[0] if node.type == "command_name" and node.children else node


def _substituted(nodes: list[Node], kind: str) -> tuple[ParsedCommand, ...]:
    return tuple(
        ParsedCommand(tuple(_resolve(part)[0] for part in map(_unwrapped, inner.children) if part.type in _WORDS))
        for node in nodes
        if node.type == kind
        for inner in _within(node)
        if inner.type == "command"
    )


def _redirects_of(node: Node) -> list[Node]:
    parent = node.parent
    if parent is None or parent.type != "redirected_statement":
        return []
    return [child for child in parent.named_children if child.type.endswith("_redirect")]


def _destinations(redirect: Node) -> list[Node]:
    """Return the file of a redirection, then words of the command that were written after it (`rm >log -rf x`)."""
    return redirect.children_by_field_name("destination") if redirect.type == "file_redirect" else []


def _written(redirect: Node) -> Iterator[str]:
    operators = {child.type for child in redirect.children if not child.is_named}
    destinations = _destinations(redirect)
    if destinations and operators & {*_OUTPUT, "<>"}:
        path = _resolve(destinations[0])[0]
        # `2>&1` duplicates a descriptor and writes to no file of that name.
        if ">&" not in operators or not path.removesuffix("-").isdecimal():
            yield path


def _here_text(node: Node) -> str:
    if node.type == "herestring_redirect":
        return "\n".join(_resolve(child)[0] for child in node.named_children)
    bodies = [child for child in node.named_children if child.type == "heredoc_body"]
    return "\n".join(_source(body) for body in bodies)


def _pipes(pipeline: Node, commands: dict[int, ParsedCommand]) -> Iterator[Pipe]:
    sources: tuple[ParsedCommand, ...] = ()
    for piece in pipeline.named_children:
        inside = tuple(commands[node.id] for node in _within(piece) if node.id in commands)
        if sources:
            yield from (Pipe(sources, sink) for sink in inside)
        sources += inside


def _doubles_itself(function: Node, commands: dict[int, ParsedCommand]) -> bool:
    name = function.child_by_field_name("name")
    calls = [commands[node.id].words[:1] for node in _within(function) if node.id in commands]
    return name is not None and calls.count((_source(name),)) >= 2


def _resolve(node: Node) -> tuple[str, bool]:
    """Return a word without its quotes, and True if it is literal."""
    text = _source(node)
    match node.type:
        case "word":
            return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL), True
        case "number":
            return text, True
        case "raw_string":
            return text[1:-1], True
        case "string":
            plain = all(child.type == "string_content" for child in node.named_children)
            return re.sub(r'\\(["$`\\])', r"\1", text[1:-1]), plain
        case "ansi_c_string":
            return text[2:-1].encode(errors="replace").decode("unicode_escape", errors="replace"), False
        case "concatenation":
            parts = [_resolve(child) for child in node.children]
            return "".join(part for part, _ in parts), all(plain for _, plain in parts)
        case _:
            return text, False


def _source(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _guess(text: str) -> Script:
    """Return what a line that does not parse may run: each part between operators, as if all were piped together."""
    pieces = (_split(piece) for piece in _SEPARATORS.split(text))
    commands = tuple(ParsedCommand(words, plain=False) for words in pieces if words)
    pipes = tuple(Pipe((source,), sink) for source, sink in pairwise(commands)) if "|" in text else ()
    return Script(commands, pipes)


def _split(piece: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(piece))
    except ValueError:
        return tuple(piece.replace('"', "").replace("'", "").split())


def has_option(arguments: list[str], letters: str, *names: str) -> bool:
    """Return True if an option is given: as a letter, alone or combined (`-rf`), or by its long name.

    A long name may be abbreviated (`--forc`), as most programs allow; an ambiguous abbreviation matches every name.
    """
    for word in arguments:
        if word.startswith("--"):
            given = word.partition("=")[0]
            if given != "--" and any(name.startswith(given) for name in names):
                return True
        elif word.startswith("-") and set(letters) & set(word[1:]):
            return True
    return False
