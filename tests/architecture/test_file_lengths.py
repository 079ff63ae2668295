from __future__ import annotations

import ast
from collections.abc import Iterator

from architecture.sources import PACKAGES, ROOT, modules, parsed

FOLDERS = (*PACKAGES, "themes", "tests", "benchmarks", "examples")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50


def functions(tree: ast.Module | ast.stmt) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the outermost functions: a function within another is shorter than it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.stmt):
            yield from functions(node)


def test_no_file_is_longer_than_400_lines() -> None:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}

    assert {path: length for path, length in lengths.items() if length > MAX_FILE_LINES} == {}


def test_no_function_is_longer_than_50_lines() -> None:
    too_long = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": length
        for folder in FOLDERS
        for path, tree in (modules(folder) if folder in PACKAGES else parsed(folder))
        for node in functions(tree)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    }

    assert too_long == {}


def test_no_test_folder_is_a_package() -> None:
    # A package under tests/ would shadow ours of the same name on the import path.
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_no_two_test_files_share_a_name() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]

    assert sorted({name for name in names if names.count(name) > 1}) == []
