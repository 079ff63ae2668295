from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.approval.grants import Grants, describe, exact_rule_for, load_rules, matches, rule_for, session_rules_for
from harness.risk import Risk, Rule

GIT_STATUS = Rule("bash", "git status")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "approvals.json"


def test_rule_covers_exactly_its_scope() -> None:
    assert matches(GIT_STATUS, "bash", Risk("execute", scope="git status"))
    assert matches(Rule("bash", "npm run"), "bash", Risk("execute", scope="npm run test"))
    for scope in ("git", "git stash", "git statusx", "gitstatus", ""):
        assert not matches(GIT_STATUS, "bash", Risk("execute", scope=scope)), scope
    assert not matches(GIT_STATUS, "other", Risk("execute", scope="git status"))
    assert not matches(GIT_STATUS, "bash", Risk("dangerous", scope="git status"))


def test_rule_without_scope_covers_edits_but_never_commands() -> None:
    assert matches(Rule("edit_file"), "edit_file", Risk("edit"))
    assert not matches(Rule("bash"), "bash", Risk("execute", scope="pytest"))
    assert not matches(Rule("bash"), "bash", Risk("execute"))


def test_only_a_parsed_command_can_be_remembered() -> None:
    assert rule_for("bash", Risk("execute", scope="pytest")) == Rule("bash", "pytest")
    assert rule_for("edit_file", Risk("edit")) == Rule("edit_file")
    assert rule_for("bash", Risk("execute")) is None
    assert rule_for("bash", Risk("dangerous", scope="rm")) is None
    assert rule_for("bash", Risk("forbidden", scope="rm")) is None
    assert session_rules_for("bash", Risk("dangerous", scope="rm")) == ()
    assert session_rules_for("bash", Risk("forbidden", scope="rm")) == ()


def test_rule_description_is_readable() -> None:
    assert describe(GIT_STATUS) == "`git status …`"
    assert describe(Rule("edit_file")) == "all edit_file calls"
    assert describe(Rule("bash", exact="git status -s")) == "exactly `git status -s` with bash"


def test_untrust_without_a_name_removes_all_permissions() -> None:
    grants = Grants()
    grants.trust("bash")
    grants.trust("edit_file")

    grants.untrust()

    assert grants.trusted == frozenset()


def test_remembered_rule_is_loaded_in_the_next_session(path: Path) -> None:
    assert Grants(path).remember(GIT_STATUS) == ""

    later = Grants(path)
    problem = later.load()

    assert problem == ""
    assert later.rules == (GIT_STATUS,)
    assert later.covers("bash", Risk("execute", scope="git status"))


def test_rule_is_stored_once(path: Path) -> None:
    grants = Grants(path)

    grants.remember(GIT_STATUS)
    grants.remember(GIT_STATUS)

    assert load_rules(path).rules == (GIT_STATUS,)


def test_forgotten_rules_are_gone_from_disk(path: Path) -> None:
    grants = Grants(path)
    grants.remember(GIT_STATUS)
    grants.remember(Rule("edit_file"))

    grants.forget("bash")

    assert grants.rules == (Rule("edit_file"),)
    assert load_rules(path).rules == (Rule("edit_file"),)


def test_missing_file_grants_nothing_without_a_problem(path: Path) -> None:
    grants = Grants(path)

    assert grants.load() == ""
    assert grants.rules == ()


@pytest.mark.parametrize(
    "content",
    [
        b'{"version": 1, "rules": [{"tool": "bash", "sc',
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b'{"version": 3, "rules": []}',
        b'{"version": 1, "rules": [{"tool": "edit_file", "scope": ""}, {"tool": "bash"}]}',
    ],
)
def test_corrupt_file_grants_nothing_and_is_named_and_kept(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    grants = Grants(path)

    problems = [grants.load(), grants.remember(GIT_STATUS)]

    assert all(str(path) in problem for problem in problems)
    assert load_rules(path).rules == ()
    assert path.read_bytes() == content


def test_unreadable_file_is_reported_once_with_the_reason(tmp_path: Path) -> None:
    assert load_rules(tmp_path).problem == f"{tmp_path}: cannot be read, so nothing in it is allowed: a folder"


def test_unwritable_rule_still_applies_to_the_session(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    grants = Grants(tmp_path / "file" / "approvals.json")

    problem = grants.remember(GIT_STATUS)

    assert problem.endswith("the rule could not be stored: File exists")
    assert grants.covers("bash", Risk("execute", scope="git status"))


def test_concurrent_writers_lose_no_rule(path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from harness.approval.grants import Grants, Rule\n"
        "grants = Grants(Path(sys.argv[1]))\n"
        "assert not any([grants.remember(Rule('bash', f'{sys.argv[2]} {n}')) for n in range(10)])"
    )
    root = Path(__file__).parents[2]

    writers = [subprocess.Popen([sys.executable, "-c", script, str(path), name], cwd=root) for name in "abc"]
    codes = [writer.wait() for writer in writers]

    assert codes == [0, 0, 0]
    assert len(load_rules(path).rules) == 30
    assert json.loads(path.read_text())["version"] == 1
    assert [file.name for file in path.parent.glob("*.tmp")] == []


def test_exact_rule_covers_one_command_or_one_file_and_nothing_else(path: Path) -> None:
    status = exact_rule_for("bash", Risk("execute", scope="git status", exact_rule="git status -s"))
    page = exact_rule_for("edit_file", Risk("edit", paths=("a.py",)))
    assert status
    assert page
    grants = Grants(path)
    grants.remember(status)
    grants.remember(page)

    later = Grants(path)
    assert later.load() == ""

    assert later.rules == (status, page)
    assert later.covers("bash", Risk("execute", scope="git status", exact_rule="git status -s"))
    assert later.covers("edit_file", Risk("edit", paths=("a.py",)))
    for command in ("git status", "git status -s -b", "git status -s\n", ""):
        assert not later.covers("bash", Risk("execute", scope="git status", exact_rule=command)), command
    assert not later.covers("bash", Risk("dangerous", exact_rule="git status -s"))
    assert not later.covers("edit_file", Risk("edit", paths=("b.py",)))
    assert not later.covers("edit_file", Risk("edit", paths=("a.py", "b.py")))
    assert not later.covers("write_file", Risk("edit", paths=("a.py",)))


def test_exact_rule_is_offered_only_for_short_readable_commands() -> None:
    assert exact_rule_for("bash", Risk("execute", exact_rule="python -c 'print(1)' | sort"))
    assert exact_rule_for("bash", Risk("execute", exact_rule="x" * 201)) is None
    assert exact_rule_for("bash", Risk("execute", exact_rule="cat <<E\nx\nE")) is None
    assert exact_rule_for("bash", Risk("dangerous", exact_rule="sudo ls")) is None
    assert exact_rule_for("todo", Risk("none", exact_rule="x")) is None


def test_exact_rule_is_not_read_as_a_wide_one_by_older_versions(path: Path) -> None:
    Grants(path).remember(Rule("edit_file", exact="a.py"))

    assert json.loads(path.read_text(encoding="utf-8"))["version"] == 2
