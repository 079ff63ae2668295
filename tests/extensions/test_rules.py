"""Rules: which files they apply to."""

from __future__ import annotations

from pathlib import Path

import pytest

from extensions.locations import Root
from extensions.rules import MOST_PATTERNS, LoadedRules, load_rules, matching_rules


def load(project: Path, **texts: str) -> LoadedRules:
    """Return the rules of a project with these files."""
    folder = project / ".claude" / "rules"
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)
    return load_rules([Root(project / ".claude", "project")], project)


def applies(project: Path, metadata: str, *names: str) -> list[str]:
    """Return the names of the files that a rule applies to."""
    loaded = load(project, rule=f"---\n{metadata}\n---\nBody")
    assert loaded.problems == ()
    return [name for name in names if matching_rules(loaded.by_path, [project / name]).project]


@pytest.mark.parametrize(
    ("metadata", "files"),
    [
        ("paths: src/**/*.{ts,tsx}", ["src/a.ts", "src/b/c.tsx"]),
        ('paths: "src/**/*.ts, **/*.py"', ["src/a.ts", "x/y.py"]),
        ('paths:\n  - "src/**"\n  - "x/*.py"', ["src/a.ts", "src/b/c.tsx", "x/y.py"]),
        ("paths:\n  - **/*.py\n  - ./src/*.ts", ["src/a.ts", "x/y.py"]),
        ("paths: [src/*.ts, **/*.py]", ["src/a.ts", "x/y.py"]),
        ("description: Python\nglobs: *.py\nalwaysApply: false", ["x/y.py"]),
        ("globs: **/*.ts,**/*.py", ["src/a.ts", "x/y.py"]),
        ("paths: {src,x}/**/*.{ts,py}", ["src/a.ts", "x/y.py"]),
        ("paths: x/", ["x/y.py"]),
    ],
)
def test_rule_applies_to_files_that_match_its_patterns(tmp_path: Path, metadata: str, files: list[str]):
    assert applies(tmp_path, metadata, "src/a.ts", "src/b/c.tsx", "x/y.py", "README.md") == files


@pytest.mark.parametrize(
    "text", ["Body", "---\ndescription: x\n---\nBody", "---\nglobs: *.py\nalwaysApply: true\n---\nBody"]
)
def test_rule_without_patterns_always_applies(tmp_path: Path, text: str):
    loaded = load(tmp_path, rule=text)

    assert loaded.by_path == ()
    assert loaded.general.project == (tmp_path / ".claude/rules/rule.md",)
    assert loaded.general.body(text) == "Body"


def test_rules_that_cannot_be_used_are_skipped_with_a_reason(tmp_path: Path):
    many = ", ".join(f"{number}.py" for number in range(MOST_PATTERNS + 1))
    bomb = "{a,b}" * 40

    loaded = load(
        tmp_path,
        bomb=f"---\npaths: x{bomb}\n---\n",
        many=f"---\npaths: x, {many}\n---\n",
        manual="---\ndescription: x\nalwaysApply: false\n---\n",
    )

    assert loaded.rules == ()
    assert [problem.partition(" is skipped: ")[2] for problem in loaded.problems] == [
        "it has more than 200 patterns",
        "with alwaysApply: false it needs paths or globs",
        "it has more than 200 patterns",
    ]


def test_pattern_that_git_would_not_accept_matches_nothing(tmp_path: Path):
    assert applies(tmp_path, 'paths: "!"', "a.py") == []


def test_rules_of_the_user_apply_in_any_project_and_come_first(tmp_path: Path):
    project, home = tmp_path / "project", tmp_path / "home"
    for root in (project / ".cinch", home / ".claude"):
        (root / "rules/deep").mkdir(parents=True)
        (root / "rules/deep/py.md").write_text("---\npaths: '*.py'\n---\n")
    roots = [Root(project / ".cinch", "project"), Root(home / ".claude", "user")]

    loaded = load_rules(roots, project)

    assert [rule.is_own for rule in loaded.rules] == [True, False]
    inside = matching_rules(loaded.by_path, [project / "a.py"])
    outside = matching_rules(loaded.by_path, [tmp_path / "elsewhere/a.py"])
    assert (len(inside.own), len(inside.project)) == (1, 1)
    assert (len(outside.own), len(outside.project)) == (1, 0)
