from __future__ import annotations

from pathlib import Path

from harness.approval.rules import parse_rule
from harness.approval.suggest import PastCall, suggest
from harness.risk import Risk, SimpleCommand

ROOT = Path("/work")


def ran(text: str, prefix: str, *, level: str = "execute", is_allowed: bool = True) -> PastCall:
    command = SimpleCommand(tuple(text.split()), prefix=tuple(prefix.split()))
    risk = Risk("dangerous" if level == "dangerous" else "execute", subject=text, commands=(command,))
    return PastCall("bash", text, risk, is_allowed)


TESTS = [ran(f"npm test -- {name}", "npm test") for name in "abcd"]


def test_rule_is_suggested_with_calls_that_match_and_calls_that_do_not() -> None:
    (found,) = suggest([*TESTS, ran("npm publish", "npm publish")], ROOT)

    assert (str(found.rule), found.count) == ("bash(npm test:*)", 4)
    assert found.matching == ("npm test -- a", "npm test -- b", "npm test -- c")
    assert found.others == ("npm publish", "npm", "npm testx")


def test_nothing_is_suggested_for_dangerous_denied_rare_or_covered_calls() -> None:
    pushes = [ran("git push --force", "git push", level="dangerous")] * 5
    denied = [*[ran("curl x", "curl")] * 5, ran("curl y", "curl", is_allowed=False)]
    secret = PastCall("read_file", ".env", Risk("read", paths=(".env",), concern="it reads a secret"), is_allowed=True)
    covered = [parse_rule("bash(npm test:*)")]

    assert suggest([*pushes, *denied, *[secret] * 5, ran("make", "make")], ROOT) == []
    assert suggest(TESTS, ROOT, covered) == []


def test_most_useful_rule_comes_first() -> None:
    edits = [PastCall("edit_file", "a.py", Risk("edit", paths=("a.py",)), is_allowed=True)] * 9

    assert [(str(each.rule), each.count) for each in suggest([*TESTS, *edits], ROOT)] == [
        ("edit_file", 9),
        ("bash(npm test:*)", 4),
    ]


def test_command_that_runs_several_programs_counts_for_each_of_them() -> None:
    both = Risk(
        "execute",
        subject="make a && npm test",
        commands=(
            SimpleCommand(("make", "a"), prefix=("make", "a")),
            SimpleCommand(("npm", "test"), prefix=("npm", "test")),
        ),
    )

    found = suggest([PastCall("bash", "make a && npm test", both, is_allowed=True)] * 3, ROOT)

    assert [str(each.rule) for each in found] == ["bash(make a:*)", "bash(npm test:*)"]
