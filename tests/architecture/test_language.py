"""Names and prose follow the field's language: the rules that a program can check."""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from architecture.sources import PACKAGES, ROOT, modules

import harness
from harness.api import WHERE

OPENING = re.compile(r"(What|Where|Whether|Who|How|So|As|That|When|Which)\b")
DIALECT = re.compile(
    r"\b(the person|persons?'s?|somebody|nobody|strangers?'?s?|told|mend(?:s|ed|ing|able)?|hears?|heard|by itself"
    r"|goes on|so many|sees to)\b",
    re.IGNORECASE,
)
"""Words of the former dialect. Each has an ordinary word: user, report, fix, receive, alone, continue."""
EVIDENT = {
    "answer",
    "arguments",
    "call",
    "call_id",
    "context",
    "data",
    "edit",
    "error",
    "messages",
    "outcomes",
    "path",
    "prompts",
    "result",
    "risk",
    "text",
    "tool",
    "turn",
    "user",
    "view",
    "attempt",
}
"""Parameters whose name and type say everything."""
ALLOWED = re.compile(r"The person ran this command themselves|amend(?:s|ed|ing)?\b|stranger to", re.IGNORECASE)
TEXTS = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("tools/descriptions/*.md"),
        *ROOT.glob("harness/**/prompts/*.md"),
        ROOT / "config.example.toml",
    ]
)


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """The strings that document a module, class, function, field or constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


def strings(tree: ast.Module) -> Iterator[ast.Constant]:
    """All other strings, parts of f-strings included."""
    documentation = set(map(id, docstrings(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node


def dialect_in(text: str) -> list[str]:
    return [match.group(0) for match in DIALECT.finditer(ALLOWED.sub("", text))]


@pytest.mark.parametrize("package", PACKAGES)
def test_docstring_opens_with_a_noun_or_a_verb(package: str) -> None:
    assert [
        f"{path.relative_to(ROOT)}:{text.lineno} {str(text.value)[:50]}"
        for path, tree in modules(package)
        for text in docstrings(tree)
        if OPENING.match(str(text.value))
    ] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_and_strings_use_standard_terms(package: str) -> None:
    assert [
        f"{path.relative_to(ROOT)}:{text.lineno} {', '.join(found)}"
        for path, tree in modules(package)
        for text in (*docstrings(tree), *strings(tree))
        if (found := dialect_in(str(text.value)))
    ] == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_prompts_and_descriptions_use_standard_terms(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.name == "CHANGELOG.md":
        lines = lines[: next((at for at, line in enumerate(lines) if line.startswith("## [0")), len(lines))]

    assert [
        f"{number}: {', '.join(found)}" for number, line in enumerate(lines, 1) if (found := dialect_in(line))
    ] == []


def test_public_functions_document_their_parameters() -> None:
    """A docstring names each parameter, if there are two or more and their names do not explain them."""
    undocumented = [
        f"{where}: {', '.join(missing)}"
        for where, function in public_functions()
        if len(names := parameters(function)) > 1
        and (text := inspect.getdoc(function))
        and (missing := [name for name in names if name not in EVIDENT and not re.search(rf"\b{name}\b", text)])
    ]

    assert undocumented == []


def test_public_structs_document_each_field() -> None:
    undocumented = [
        f"{path.relative_to(ROOT)}:{field.lineno} {kind.name}.{field.target.id}"
        for path, kind in public_classes()
        if any(option.arg == "frozen" for option in kind.keywords)
        for field, following in zip(kind.body, [*kind.body[1:], None], strict=True)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and not (isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant))
    ]

    assert undocumented == []


def public_functions() -> Iterator[tuple[str, types.FunctionType]]:
    """Functions of `harness.api`, and the public methods of its classes."""
    for name in WHERE:
        value = getattr(harness, name)
        if isinstance(value, types.FunctionType):
            yield name, value
        if inspect.isclass(value) and value.__module__.startswith("harness."):
            for method, function in vars(value).items():
                if isinstance(function, types.FunctionType) and not method.startswith("_"):
                    yield f"{name}.{method}", function


def parameters(function: types.FunctionType) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls") and name[0] != "_"]


def public_classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    names = {(module, name) for name, module in WHERE.items()}
    for path, tree in modules("harness"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and (module, node.name) in names:
                yield path, node
