from __future__ import annotations

import pytest

from extensions.front_matter import parse_document
from tools.yaml_reader import YamlError, parse_yaml


def test_text_without_metadata_is_all_body():
    document = parse_document("# Title\n\n---\nnot: metadata\n---\n")

    assert (document.metadata, document.body) == ({}, "# Title\n\n---\nnot: metadata\n---\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_metadata_and_body_are_separated(newline):
    text = newline.join(["---", "name: commit", "description: Write a commit", "---", "", "Body", "---", "more"])

    document = parse_document(text)

    assert document.metadata == {"name": "commit", "description": "Write a commit"}
    assert document.body == newline.join(["", "Body", "---", "more"])
    assert document.problem == ""


@pytest.mark.parametrize(
    "block",
    [
        'metadata:\n  author: an author\n  version: "1.0.0"\nname: x',
        "metadata:\n  a: b\n  tags: [one, two]\n\nname: x",
        "hooks:\n  Stop:\n    - hooks: []\nname: x",
        "metadata:\n  a: b\n    c: d\nname: x",
        "metadata:\n  a: b: c\n",
        "metadata:\n  a: b\n c: d\n",
    ],
)
def test_tables_are_read_as_yaml_reads_them(block: str):
    document = parse_document(f"---\n{block}\n---\n")

    try:
        assert document.metadata == parse_yaml(block)
    except YamlError:
        # Read line by line.
        assert "metadata" in document.metadata


def test_description_with_a_colon_is_text():
    document = parse_document("---\nname: x\ndescription: Use when: the user asks, e.g. for C#\n---\n")

    assert document.text("description") == "Use when: the user asks, e.g. for C#"


def test_yaml_values_are_read_as_yaml():
    text = '---\nname: "a: b"\nallowed-tools:\n  - Bash(git log:*)\n  - Read\ndisable-model-invocation: true\n---\n'

    document = parse_document(text)

    assert document.text("name") == "a: b"
    assert document.words("allowed-tools") == ("Bash(git log:*)", "Read")
    assert document.flag("disable-model-invocation", default=False) is True


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("Read, Grep", ("Read", "Grep")),
        ("[Read, Grep]", ("Read", "Grep")),
        ("Bash(a, b), Read", ("Bash(a, b)", "Read")),
    ],
)
def test_list_may_be_written_as_text(written, words):
    assert parse_document(f"---\ntools: {written}\n---\n").words("tools") == words


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (
            "argument-hint: [name] [mode]\nmodel: opus\nhooks:\n  Stop:\n    - hooks:\n        - command: >-\n"
            "            a\n            b",
            {"argument-hint": "[name] [mode]", "model": "opus", "hooks": {"Stop": [{"hooks": [{"command": "a b"}]}]}},
        ),
        (
            'description: Use it after changes. Examples:\n\n<example>\nContext: A change: done\nuser: "Check it"\n'
            '</example>\nmodel: opus\ntools: ["Read", "Grep"]',
            {
                "description": "Use it after changes. Examples:\n\n<example>\nContext: A change: done\n"
                'user: "Check it"\n</example>',
                "model": "opus",
                "tools": ["Read", "Grep"],
            },
        ),
        (
            "description: Use when: asked\nx: 1\nargument-hint: @file",
            {"description": "Use when: asked", "x": 1, "argument-hint": "@file"},
        ),
    ],
)
def test_values_that_only_lack_quotes_are_no_problem(written: str, values: dict[str, object]):
    document = parse_document(f"---\n{written}\n---\n")

    assert document.metadata == values
    assert document.problem == ""


@pytest.mark.parametrize("written", ["tools: [Read", "tools:\n  - a\n b", 'description: "Use it: now'])
def test_structures_that_are_invalid_are_reported(written: str):
    assert "not valid YAML" in parse_document(f"---\nname: x\n{written}\n---\n").problem


def test_invalid_yaml_is_reported_and_its_simple_lines_are_used():
    document = parse_document('---\nname: "x"\ndescription: |\n  a\n tools: [Read\n---\nBody')

    assert document.text("name") == "x"
    assert document.body == "Body"
    assert "line" in document.problem


@pytest.mark.parametrize(
    "block",
    [
        "name: x\nversion: '1.0'\ntitle: \"A: b\"\nflag: true\nnothing: ~",
        "description: >-\n  One: two\n  # three\n\nname: x",
        "description: >\n  One\n  two",
        "description: |\n    One\n    two\nname: x",
        "description: |\n  One\n    indented\n  two",
        "description: >\n  One\n\n  two",
        'tools:\n  - Read\n  - Bash(git log:*)\n  - "mcp__x"\n  - false\nname: x',
        "tools:\n- Read\n- a: b\n- - c",
        "hooks:\n  Stop:\n    - command: x\nname: x",
        "description: One\n  two\nname: x",
        "text: a # comment\nother: b",
        "empty:\nname: x",
    ],
)
def test_common_forms_are_read_as_yaml_reads_them(block: str):
    assert parse_document(f"---\n{block}\n---\n").metadata == parse_yaml(f"{block}\n")


def test_empty_metadata_is_no_problem():
    document = parse_document("---\n---\nBody")

    assert (document.metadata, document.body, document.problem) == ({}, "Body", "")
