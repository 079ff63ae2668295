"""Rules that an approval offers, and what they cover, with the built-in tools and real files."""

from __future__ import annotations

from pathlib import Path

import pytest
from permissions.decisions import decision, decision_of

from harness.approval.rules import parse_rule
from harness.permissions import Decision, Rule, RuleSource
from tools import builtin_tools

TOOLS = {tool.name: tool for tool in builtin_tools()}
_PATHS = """
    . src a.txt .env keys keys/server.pem link.txt up .. ../.. ../other ../other/b.txt ../other/keys ../other/.env ~ ~/
    ~/notes ~/notes/n.txt ~/.ssh ~/.ssh/config / // /etc /etc/hostname /usr /usr/include /home /tmp /var/log src/../..
"""
_OTHERS = """
    / ~ .. /etc /home /etc/shadow /zzz ~/.aws/credentials ~/mail.txt ../third/c.txt .env ../other/.env ~/.ssh/id_rsa
"""
PATHS, OTHERS = _PATHS.split(), _OTHERS.split()
COMMANDS = (
    "cat {}",
    "ls {}",
    "grep -r x {}",
    "head -n 1 {} a.txt",
    "cd src && cat {}",
    "find {} -name x",
    "wc -l {}/*",
)
KINDS = ("read_file", "list_files", "grep", "find_files", "write_file", *COMMANDS)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "home" / "projects" / "mine"
    home = tmp_path / "home"
    for name in ("mine/src/x.py", "mine/a.txt", "mine/.env", "mine/keys/server.pem", "other/b.txt", "other/.env"):
        put(home / "projects" / name)
    for name in ("notes/n.txt", ".ssh/config", ".ssh/id_rsa", "projects/other/keys/a.txt"):
        put(home / name)
    (root / "link.txt").symlink_to("../other/b.txt")
    (root / "up").symlink_to("..")
    monkeypatch.setenv("HOME", str(home))
    return root


def put(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x\n")


def call_of(kind: str, path: str, root: Path, rules: tuple[Rule, ...] = ()) -> Decision:
    if kind in TOOLS:
        needed = {"grep": {"pattern": "x"}, "find_files": {"pattern": "*"}, "write_file": {"content": "x"}}
        return decision_of(TOOLS[kind], {"path": path, **needed.get(kind, {})}, root, rules=rules)
    return decision(kind.format(path), root, rules=rules)


def real(path: str, root: Path, folder: str = ".") -> Path:
    return (root / folder / Path(path).expanduser()).resolve()


@pytest.mark.parametrize("kind", KINDS)
def test_offered_rules_cover_the_call_and_not_much_else(root: Path, kind: str) -> None:
    others = [path for path in OTHERS if call_of("read_file", path, root).kind == "ask"]
    for path in PATHS:
        asked = call_of(kind, path, root)
        named = {real(path, root), real(path, root, "src")}

        for offers in filter(None, (asked.offers, (asked.exact_offer,) if asked.exact_offer else ())):
            assert call_of(kind, path, root, offers).kind == "allow"
            for other in others:
                decided = call_of("read_file", other, root, offers)
                is_named = any(real(other, root).is_relative_to(each) for each in named)
                assert is_named or decided.kind == "ask", (path, offers, other)


@pytest.mark.parametrize("path", ["/", "//", "/etc", "/usr", "/home", "~", "~/", "..", "../..", "up", ".", "~/.ssh"])
@pytest.mark.parametrize("kind", ["read_file", "list_files", "grep", "ls {}", "grep -r x {}"])
def test_no_offered_rule_names_a_folder_with_everything_in_it(root: Path, kind: str, path: str) -> None:
    asked = call_of(kind, path, root)

    assert asked.kind == "allow" or all(rule.is_exact for rule in asked.offers)
    assert asked.exact_offer is None or asked.exact_offer.is_exact


@pytest.mark.parametrize(
    ("kind", "path", "offers"),
    [
        ("read_file", ".env", ["read(/.env)"]),
        ("read_file", "../other/b.txt", ["read(~/projects/other/b.txt)"]),
        ("list_files", "../other", ["read(~/projects/other)"]),
        ("read_file", "/etc/hostname", ["read(//etc/hostname)"]),
        ("write_file", "../other/new.txt", ["edit(~/projects/other/new.txt)"]),
        ("head -n 1 {} a.txt", "../other/b.txt", ["read(~/projects/other/b.txt)"]),
        ("grep -r x {}", ".", ["bash(=grep -r x .)"]),
        ("psql -c {}", "x", ["bash(=psql -c x)"]),
        ("npm run {}", "x", ["bash(npm run x:*)"]),
    ],
)
def test_offers_name_what_is_a_concern(root: Path, kind: str, path: str, offers: list[str]) -> None:
    assert list(map(str, call_of(kind, path, root).offers)) == offers


WRITTEN, OFFERED = RuleSource("user", "config.toml"), RuleSource("local", "rules.json")


@pytest.mark.parametrize(
    ("rule", "command", "written", "offered"),
    [
        ("bash(sed -i:*)", "sed -i s/a/b/ a.txt", "allow", "ask"),
        ("bash(sed:*)", "sed -i s/a/b/ a.txt", "allow", "ask"),
        ("bash(git log:*)", "git log --output=x", "allow", "ask"),
        ("bash(python:*)", "python -c 'print(1)'", "allow", "ask"),
        ("bash(tar:*)", "tar xzf a.tgz", "allow", "ask"),
        ("bash(make:*)", "make test", "allow", "allow"),
        ("bash(find:*)", "find . -exec a {} ; -exec b {} ;", "ask", "ask"),
        ("bash(find . *)", "find . -ok a {} ';'", "ask", "ask"),
        ("bash(env:*)", "env PATH=. make", "ask", "ask"),
        ("bash(env:*)", "env -S 'make x'", "ask", "ask"),
        ("bash(timeout:*)", "timeout --unknown 5 make", "ask", "ask"),
        ("bash(sed:*)", "sed -i s/a/b/ ../other/b.txt", "ask", "ask"),
        ("bash(sed:*)", "sed -i s/a/b/ .git/config", "ask", "ask"),
        ("bash(rm:*)", "rm -rf src", "ask", "ask"),
    ],
)
def test_a_written_rule_is_applied_as_written_and_an_offered_one_with_care(
    root: Path, rule: str, command: str, written: str, offered: str
) -> None:
    by_user = parse_rule(rule, "allow", WRITTEN)
    by_approval = Rule(by_user.tool, by_user.pattern, source=OFFERED, is_offered=True)

    assert decision(command, root, rules=[by_user]).kind == written
    assert decision(command, root, rules=[by_approval]).kind == offered


def test_the_reason_names_the_rule_that_does_not_cover_an_option(root: Path) -> None:
    rule = Rule("bash", "git log:*", is_offered=True)

    why = decision("git log --output=x", root, rules=[rule]).why

    assert why == "option --output of git log writes a file; the rule bash(git log:*) does not cover that"
