from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "harness",
    "http_client",
    "providers",
    "tools",
    "extensions",
    "cinch_tui",
    "themes",
    "tests",
    "benchmarks",
    "examples",
)
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50


def python_files() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}

    assert {path: length for path, length in lengths.items() if length > MAX_FILE_LINES} == {}


def test_no_function_is_longer_than_50_lines() -> None:
    too_long = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": length
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    }

    assert too_long == {}


def test_no_test_folder_is_a_package() -> None:
    # A package under tests/ would shadow ours of the same name on the import path.
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_no_two_test_files_share_a_name() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]

    assert sorted({name for name in names if names.count(name) > 1}) == []
