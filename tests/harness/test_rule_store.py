from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.approval.rules import parse_rule
from harness.approval.store import RuleStore, WrittenRule
from harness.errors import ConfigError
from harness.permissions import Rule, RuleSource

GIT_STATUS = Rule("bash", "git status:*")
USER = RuleSource("user", "/home/x/config.toml")
PROJECT = RuleSource("project", ".cinch/config.toml")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "rules.json"


def texts(store: RuleStore) -> list[str]:
    return [f"{rule.source.level} {rule.effect} {rule}" for rule in (*store.rules, *store.session_rules)]


def write(path: Path, data: object) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(data), encoding="utf-8")


def test_rules_are_ordered_by_level() -> None:
    store = RuleStore(rules=[parse_rule("bash(make)", "allow", RuleSource("flag", "--allow"))])

    store.add(Rule("edit"))
    problems = store.load(
        [
            WrittenRule("bash(ls:*)", "allow", USER),
            WrittenRule("bash(git push:*)", "deny", PROJECT),
            WrittenRule("web_fetch", "ask", RuleSource("managed", "/etc/cinch/managed.toml")),
        ]
    )

    assert problems == []
    assert texts(store) == [
        "managed ask web_fetch",
        "flag allow bash(make)",
        "project deny bash(git push:*)",
        "user allow bash(ls:*)",
        "session allow edit",
    ]
    assert [str(rule) for rule in store.of("allow")] == ["bash(make)", "bash(ls:*)", "edit"]


def test_managed_only_drops_all_other_allow_rules() -> None:
    store = RuleStore(rules=[parse_rule("bash(make)", "allow", RuleSource("managed"))])
    store.add(Rule("bash"))
    store.add(Rule("grep", effect="deny"))

    store.managed_only = True

    assert [str(rule) for rule in store.of("allow")] == ["bash(make)"]
    assert [str(rule) for rule in store.of("deny")] == ["grep"]


def test_invalid_allow_rule_is_a_problem_and_an_invalid_deny_rule_an_error() -> None:
    store = RuleStore()

    assert store.load([WrittenRule("bash()", "allow", USER), WrittenRule("grep", "allow", USER)]) == [
        "/home/x/config.toml: 'bash()': the pattern is empty; write bash for all calls; the rule has no effect"
    ]
    assert texts(store) == ["user allow grep"]
    with pytest.raises(ConfigError, match="the pattern is empty"):
        store.load([WrittenRule("bash()", "deny", USER)])


def test_failing_example_disables_an_allow_rule_and_refuses_a_deny_rule() -> None:
    store = RuleStore()
    examples = ("npm test -- x", "!npm test y")

    (problem,) = store.load([WrittenRule("bash(npm test:*)", "allow", USER, examples)])

    assert "matches 'npm test y'" in problem
    assert store.rules == ()
    with pytest.raises(ConfigError, match="npm test y"):
        store.load([WrittenRule("bash(npm test:*)", "deny", USER, examples)])


def test_stored_rule_survives_a_restart_with_its_uses(path: Path) -> None:
    store = RuleStore(path)

    assert store.add(GIT_STATUS, persist=True) == ""
    store.record_use(GIT_STATUS)
    store.record_use(GIT_STATUS)
    assert store.flush() == ""

    later = RuleStore(path)
    assert later.load() == []
    assert texts(later) == ["local allow bash(git status:*)"]
    assert later.uses(GIT_STATUS) == 2
    assert later.usage(GIT_STATUS).last_used


def test_rule_stays_an_offered_one_until_the_user_writes_it(path: Path) -> None:
    store, offered = RuleStore(path), replace(GIT_STATUS, is_offered=True)
    stored: list[list[bool]] = []

    for each in (offered, GIT_STATUS, offered):
        store.add(each, persist=True)
        later = RuleStore(path)
        later.load()
        assert later.rules == store.rules
        stored.append([rule.is_offered for rule in later.rules])

    assert stored == [[True], [False], [False]]


def test_removed_rule_is_gone_from_the_file(path: Path) -> None:
    store = RuleStore(path)
    store.add(GIT_STATUS, persist=True)
    store.add(Rule("edit_file"), persist=True)

    assert store.remove(GIT_STATUS) == ""

    later = RuleStore(path)
    later.load()
    assert texts(store) == texts(later) == ["local allow edit_file"]


def test_rule_from_configuration_cannot_be_removed_here() -> None:
    store = RuleStore()
    store.load([WrittenRule("grep", "deny", USER)])

    assert store.remove(Rule("grep", effect="deny")) == "grep is defined in /home/x/config.toml; remove it there"
    assert texts(store) == ["user deny grep"]


def test_session_rules_end_with_the_session(path: Path) -> None:
    store = RuleStore(path)
    store.add(Rule("edit"))
    store.add(GIT_STATUS, persist=True)

    assert [str(rule) for rule in store.end_session()] == ["edit"]
    assert texts(store) == ["local allow bash(git status:*)"]


def test_earlier_rules_file_is_migrated_at_the_first_change(path: Path) -> None:
    entries = [
        {"tool": "bash", "scope": "make test"},
        {"tool": "edit_file", "scope": ""},
        {"tool": "bash", "scope": "", "exact": "make 2>&1"},
        {"tool": "edit_file", "scope": "", "exact": "src/a.py"},
        {"tool": "bash", "scope": ""},
    ]
    write(path, {"version": 2, "rules": entries})
    store = RuleStore(path)
    expected = ["bash(make test:*)", "edit_file", "bash(=make 2>&1)", "edit_file(/src/a.py)"]

    assert store.load() == []
    assert [str(rule) for rule in store.rules] == expected
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == 2

    assert store.add(GIT_STATUS, persist=True) == ""

    later = RuleStore(path)
    later.load()
    assert [str(rule) for rule in later.rules] == [*expected, "bash(git status:*)"]
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == 3
    assert json.loads(path.with_name("rules.v2.json").read_text(encoding="utf-8"))["rules"] == entries


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"version": 9, "rules": []}',
        '{"version": 3, "rules": [{"rule": "bash(", "effect": "allow"}]}',
        '{"version": 3, "rules": [{"rule": "bash", "effect": "permit"}]}',
        '{"version": 2, "rules": [{"tool": "bash", "scope": 1}]}',
        "[" * 100_000,
    ],
)
def test_invalid_rules_file_allows_nothing_and_is_not_overwritten(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    store = RuleStore(path)

    (problem,) = store.load()

    assert str(path) in problem
    assert store.rules == ()
    assert str(path) in store.add(GIT_STATUS, persist=True)
    assert path.read_text(encoding="utf-8") == text


def test_deny_rule_of_a_damaged_rules_file_still_applies(path: Path) -> None:
    entries = [{"rule": "grep", "effect": "deny"}, {"rule": "bash", "effect": "allow"}, {"rule": 1}]
    write(path, {"version": 3, "rules": entries})
    store = RuleStore(path)

    assert len(store.load()) == 1
    assert texts(store) == ["local deny grep"]


def test_rule_applies_although_it_cannot_be_stored(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = RuleStore(tmp_path / "file" / "rules.json")

    assert "could not be stored" in store.add(GIT_STATUS, persist=True)
    assert [str(rule) for rule in store.of("allow")] == ["bash(git status:*)"]


def test_processes_add_rules_to_one_file_without_losing_any(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from harness.approval.store import RuleStore\n"
        "from harness.permissions import Rule\n"
        "store = RuleStore(Path(sys.argv[1]))\n"
        "assert not any([store.add(Rule('bash', f'{sys.argv[2]} {n}'), persist=True) for n in range(10)])"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in ("a", "b")]

    assert [each.wait(timeout=60) for each in started] == [0, 0]

    store = RuleStore(path)
    store.load()
    assert len(store.rules) == 20
