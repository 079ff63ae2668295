"""Definitions, references and outlines of source texts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.symbols.definitions import definitions
from tools.symbols.languages import LANGUAGES
from tools.symbols.outline import outline
from tools.symbols.references import references
from tools.symbols.words import words_in


def _samples() -> Iterator[tuple[str, tuple[str, list[str]]]]:
    text = Path(__file__).with_name("samples.txt").read_text(encoding="utf-8")
    for section in text.split("=== ")[1:]:
        name, _, rest = section.partition("\n")
        source, _, expected = rest.partition("--- definitions\n")
        yield name, (source, expected.splitlines())


SAMPLES = dict(_samples())
"""Sources with the lines, kinds and qualified names of their definitions."""


@pytest.mark.parametrize("name", SAMPLES)
def test_definitions_have_kind_lines_and_scope(name: str):
    source, expected = SAMPLES[name]

    found = outline(name, source)

    assert [f"{each.line}-{each.end_line} {each.kind} {each.qualified_name}" for each in found] == expected


def test_an_outline_has_the_nesting_and_the_line_of_each_definition():
    found = outline("a.py", SAMPLES["a.py"][0])

    assert [each.depth for each in found] == [0, 0, 1, 2, 1, 2, 0]
    assert found[2].text == "def size(self) -> int:"
    assert outline("notes.txt", "class A: ...") == []


def test_references_are_those_in_code_with_kind_and_scope():
    source = (
        b"from a import helper\n# helper\nclass B(helper):\n    text = 'helper'\n\n    def run(self):\n"
        b"        return helper(1) + self.helper\n\ndef helper(): ...\nhelpers = 1\n"
    )

    found = references("python", source, {"helper"})

    assert [(each.kind, each.line, each.scope) for each in found] == [
        ("import", 1, ""),
        ("use", 3, "B"),
        ("call", 7, "B.run"),
    ]


def test_words_are_counted_without_comments_and_those_after_a_keyword_are_declared():
    source = (
        b"# class Ghost\nclass Engine(Base):\n    def start(self): self.start\n/* type Two */\nfunc Run() {}\n2class\n"
    )

    found = words_in(source)

    assert found.counts == {"class": 1, "Engine": 1, "Base": 1, "def": 1, "start": 2, "self": 2, "func": 1, "Run": 1}
    assert found.declared == {"Engine": "class", "start": "function", "Run": "function"}
    assert words_in(b"#  define SIZE 1\n/* the */ void run(); /* end */\n */ int two;\n").declared == {
        "SIZE": "macro",
        "run": "variable",
        "two": "variable",
    }
    assert words_in(b" * a comment\n  * generated() {\n").counts == {"generated": 1}
    assert words_in("class Größe: ...".encode()).declared == {"Größe": "class"}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(LANGUAGES)), st.binary(max_size=400) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_accepted(language: str, data: bytes):
    for each in definitions(language, data):
        assert 1 <= each.line <= each.end_line <= data.count(b"\n") + 1
    references(language, data, {"a", "_x"})


def test_a_large_text_that_is_no_code_ends_in_seconds_and_crashes_nothing():
    # In a process of its own: a crash of the parser would end the tests.
    code = """
from tools.symbols.definitions import definitions
from tools.symbols.references import references
for language, text in (("python", b"def f(:\\n "), ("bash", b"("), ("c", b"a.")):
    definitions(language, text * 20_000)
    references(language, text * 20_000, {"a", "f"})
"""
    root = Path(__file__).parents[3]

    subprocess.run([sys.executable, "-c", code], check=True, cwd=root, timeout=60)
