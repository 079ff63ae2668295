"""Import cycles and layers, in the sources: imports under `TYPE_CHECKING` and inside functions count."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from architecture.sources import PACKAGES, ROOT, modules

ALLOWED_CYCLES: Mapping[str, frozenset[str]] = {
    "harness": frozenset(),
    "http_client": frozenset(),
    "providers": frozenset(),
    "tools": frozenset(),
    "extensions": frozenset(),
    "cinch_tui": frozenset(),
}
"""Modules that may still import each other in a cycle. Only remove from it; an empty set stays empty."""


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def import_graph(package: str) -> dict[str, frozenset[str]]:
    """Return which modules of a package each of its modules imports."""
    files = {_module_name(path): (path, tree) for path, tree in modules(package)}
    graph: dict[str, frozenset[str]] = {}
    for module, (path, tree) in files.items():
        names = imported_names(tree, module, is_package=path.name == "__init__.py")
        graph[module] = frozenset(found for name in names if (found := _nearest(name, files))) - {module}
    return graph


def _nearest(name: str, modules: Mapping[str, object]) -> str | None:
    """Return the module that a dotted name belongs to: itself, or the one that defines it."""
    return name if name in modules else name.rpartition(".")[0] if name.rpartition(".")[0] in modules else None


def imported_names(tree: ast.AST, module: str, *, is_package: bool) -> Iterator[str]:
    """Yield the dotted names that a module imports, wherever the statement is."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                base = _resolve(source or "", level, module, is_package=is_package)
                yield from (f"{base}.{each.name}" for each in names)
            case _:
                pass


def _resolve(source: str, level: int, module: str, *, is_package: bool) -> str:
    if not level:
        return source
    parts = module.split(".")
    parent = parts[: len(parts) - level + is_package]
    return ".".join([*parent, source] if source else parent)


def cycles_of(graph: Mapping[str, frozenset[str]]) -> list[frozenset[str]]:
    """Return the groups of modules that import each other, directly or not."""
    reach = {module: _reachable(graph, module) for module in graph}
    cyclic = {module for module in graph if module in reach[module]}
    groups = {frozenset(other for other in reach[module] if module in reach[other]) for module in cyclic}
    return sorted(groups, key=sorted)


def _reachable(graph: Mapping[str, frozenset[str]], start: str) -> frozenset[str]:
    found: set[str] = set()
    pending = list(graph[start])
    while pending:
        module = pending.pop()
        if module not in found:
            found.add(module)
            pending.extend(graph[module])
    return frozenset(found)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_import_cycle(package: str) -> None:
    allowed = ALLOWED_CYCLES.get(package, frozenset())
    cyclic = frozenset().union(*cycles_of(import_graph(package)))

    assert cyclic - allowed == frozenset(), "these modules import each other in a cycle"
    assert allowed - cyclic == frozenset(), "these are free of cycles now: remove them from ALLOWED_CYCLES"


def test_imports_are_found_wherever_they_are() -> None:
    source = (
        "import a.b\nif TYPE_CHECKING:\n    from c import D\ndef f():\n    from . import e\n    from ..g import h\n"
    )

    names = set(imported_names(ast.parse(source), "top.sub.module", is_package=False))

    assert names == {"a.b", "c.D", "top.sub.e", "top.g.h"}


def test_cycles_of_a_graph() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set[str](), "e": {"f"}, "f": {"e"}}

    found = cycles_of({module: frozenset(imports) for module, imports in graph.items()})

    assert found == [frozenset({"a", "b", "c"}), frozenset({"e", "f"})]
