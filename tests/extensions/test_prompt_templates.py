from __future__ import annotations

import pytest

from extensions.front_matter import parse_document
from extensions.prompt_templates import PromptTemplate, template_of
from extensions.template_rules import template_rules
from harness.permissions import Rule


def template(text: str, *, has_braces: bool = False) -> PromptTemplate:
    return template_of(parse_document(text), has_braces=has_braces)


def filled(text: str, arguments: str = "", *, has_braces: bool = False) -> str:
    return template(text, has_braces=has_braces).fill(arguments).unexecuted


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("Fix $ARGUMENTS now", "issue 12", "Fix issue 12 now"),
        ("Fix $ARGUMENTS now", "", "Fix  now"),
        ("From $1 to $2", "a 'b c'", "From a to b c"),
        ("From $0 to $1", "a b", "From a to b"),
        ("$ARGUMENTS[1] before $ARGUMENTS[0]", "a b", "b before a"),
        ("It costs $5 or $12.50 in $HOME", "", "It costs $5 or $12.50 in $HOME"),
        ("Of $1 and $2", "only", "Of only and $2"),
        ("Do it", "quickly", "Do it\n\nArguments: quickly"),
        ("Say $1", "it's", "Say it's"),
        ("---\narguments: [issue, branch]\n---\n$issue on $branch", "12 main", "12 on main"),
        ("See $1", "$ARGUMENTS", "See $ARGUMENTS"),
    ],
)
def test_arguments_take_their_places(text: str, arguments: str, expected: str) -> None:
    assert filled(text, arguments) == expected


def test_variables_take_their_places() -> None:
    parts = template("Run ${CLAUDE_SKILL_DIR}/a and ${OTHER}").fill("", {"CLAUDE_SKILL_DIR": "/skills/a"})

    assert parts.unexecuted == "Run /skills/a/a and ${OTHER}"


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Status: !`git status`\n!`git diff $1`", ("git status", "git diff x")),
        ("```!\ngit log\ngit show $2\n```", ("git log\ngit show",)),
        ("Use a word!`x` or (`!`)", ()),
        ("```diff\n!`git diff`\n```", ("git diff",)),
        ("Arguments are not read again: $1", ()),
    ],
)
def test_commands_are_found(text: str, commands: tuple[str, ...]) -> None:
    assert tuple(each.strip() for each in template(text).fill("x").commands) == commands


def test_arguments_add_no_commands() -> None:
    assert template("Look at $ARGUMENTS").fill("!`touch x`").commands == ()


def test_output_replaces_commands() -> None:
    parts = template("On !`git branch`, see !`git log`.").fill("")

    assert parts.text(["main", "a1 First $1"]) == "On main, see a1 First $1."


def test_places_of_gemini_cli() -> None:
    text = 'About {{args}}: !{grep -r {{args}} . | awk "{print}"} in @{docs/a b.md} and !{ broken'

    parts = template(text, has_braces=True).fill("it's new")

    assert parts.commands == ("grep -r 'it'\"'\"'s new' . | awk \"{print}\"",)
    assert parts.text(["found"]) == 'About it\'s new: found in @"docs/a b.md" and !{ broken'
    assert filled("Say {{args}}", "x") == "Say {{args}}\n\nArguments: x"


@pytest.mark.parametrize(
    "written",
    [
        "Bash(git add:*), Bash(git commit -m *), Read",
        "Bash(git add:*) Bash(git commit -m *) Read",
        '["Bash(git add:*)", "Bash(git commit -m *)", Read]',
        "\n  - Bash(git add:*)\n  - Bash(git commit -m *)\n  - Read",
    ],
)
def test_allowed_tools_are_permission_rules(written: str) -> None:
    found = template_rules(template(f"---\nallowed-tools: {written}\n---\nx"), "/x")

    assert list(map(str, found.rules)) == ["bash(git add:*)", "bash(git commit -m:*)", "read"]
    assert found.problems == ()


def test_rules_that_mean_nothing_are_reported() -> None:
    text = "---\nallowed-tools: Bash(), Undo(all), web_fetch(domain:example.org)\ndisallowed-tools: Bash(rm:*)\n---\nx"

    found = template_rules(template(text), "/x")

    assert [(str(rule), rule.effect) for rule in found.rules] == [
        ("bash", "allow"),
        ("web_fetch(domain:example.org)", "allow"),
        ("bash(rm:*)", "deny"),
    ]
    assert found.problems == ("'Undo(all)' in /x has no effect: Undo is not a tool of cinch",)
    assert all(isinstance(rule, Rule) and str(rule.source) == "session: /x" for rule in found.rules)
