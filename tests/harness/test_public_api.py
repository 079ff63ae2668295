from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import harness
from harness import errors
from harness.api import WHERE, load
from harness.events import Event

ROOT = Path(__file__).parents[2]
HEAVY = {"pydantic", "jsonschema", "httpx", "textual", "rich", "filelock"}


def modules_after(code: str) -> set[str]:
    report = f"{code}; import sys; print(' '.join(sys.modules))"
    reported = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(reported.stdout.split())


def test_every_name_of_the_list_can_be_imported_from_harness():
    assert {name: getattr(import_module(module), name) for name, module in WHERE.items()} == {
        name: getattr(harness, name) for name in WHERE
    }


def test_type_checkers_see_the_same_list():
    tree = ast.parse((ROOT / "harness" / "api.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }

    assert len(seen) == len(block.body) > 150
    assert seen == WHERE


def test_every_event_and_error_of_a_run_is_in_the_list():
    events = {kind.__name__ for kind in get_args(Event)}
    raised = {
        name
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, errors.AgentError | errors.ProviderError)
    }

    assert events <= set(WHERE)
    assert raised <= set(WHERE)


def test_dir_lists_the_public_names():
    assert set(WHERE) <= set(dir(harness))


def test_star_import_provides_all_names():
    names: dict[str, object] = {}
    exec("from harness import *", names)

    assert set(WHERE) <= set(names)


def test_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = harness.nonsense


@pytest.mark.parametrize(
    "code",
    [
        "from harness import tool",
        "import harness.ports.tool; from harness import tool",
        "from harness import Agent, tool",
        "from harness import tool; import harness.ports.tool; from harness import tool",
    ],
)
def test_tool_is_the_decorator_regardless_of_import_order(code: str):
    check = f"{code}; assert callable(tool); from harness.ports.tool import Tool"

    assert "harness.ports.tool" in modules_after(check)


def test_name_imports_no_more_than_it_needs():
    assert "harness.agent.agent" not in modules_after("import harness.errors")
    assert "harness.agent.agent" not in modules_after("from harness import ConfigError, Event")


@pytest.mark.parametrize("code", ["import harness", "from harness import Agent, AgentOptions, run_parallel, tool"])
def test_importing_the_agent_loads_nothing_heavy(code: str):
    assert modules_after(code).isdisjoint(HEAVY)


@pytest.mark.parametrize("package", ["harness", "providers", "tools", "cinch_tui"])
def test_every_package_is_marked_as_typed(package: str):
    assert (ROOT / package / "py.typed").exists()


CLASSES = [name for name in WHERE if inspect.isclass(load(name))]
FUNCTIONS = [name for name in WHERE if inspect.isfunction(load(name))]
PORT_METHODS = {
    name: method
    for port in map(load, CLASSES)
    if getattr(port, "_is_protocol", False)
    for name, method in vars(port).items()
    if inspect.isfunction(method)
}


def test_every_class_has_a_docstring():
    texts = {name: vars(load(name)).get("__doc__") or "" for name in CLASSES}

    # A dataclass without a docstring has its signature as docstring.
    assert [name for name, text in texts.items() if not text or text.startswith(f"{name}(")] == []


def test_every_function_has_a_docstring():
    assert [name for name in FUNCTIONS if not inspect.getdoc(load(name))] == []


def test_every_method_has_a_docstring():
    assert [
        f"{name}.{method}"
        for name in CLASSES
        for method, function in inspect.getmembers(load(name), inspect.isroutine)
        if not method.startswith("_") and not inspect.getdoc(PORT_METHODS.get(method, function))
    ] == []
