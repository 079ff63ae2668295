from __future__ import annotations

from pathlib import Path

import pytest

from harness.approval.patterns import command_matches, host_matches, literal_path, path_matches, text_mentions
from harness.approval.rules import check_examples, parse_rule
from harness.errors import ConfigError
from harness.permissions import RuleSource
from harness.risk import Risk
from tools.shell.analysis import analyze

ROOT = "/work/shop"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("bash", "bash"),
        ("bash(*)", "bash"),
        ("bash(git commit:*)", "bash(git commit:*)"),
        ("bash(git commit *)", "bash(git commit:*)"),
        ("bash(npm run build)", "bash(npm run build)"),
        ("bash(git * main)", "bash(git * main)"),
        ("bash(ls*)", "bash(ls*)"),
        ("bash(=make 2>&1 | tail)", "bash(=make 2>&1 | tail)"),
        ("bash(==x)", "bash(==x)"),
        ("bash:make test", "bash(make test:*)"),
        ("write(src/**)", "edit(src/**)"),
        ("edit_file(/a b.py)", "edit_file(/a b.py)"),
        ("web_fetch(domain:docs.python.org)", "web_fetch(domain:docs.python.org)"),
        ("mcp__github__*", "mcp__github__*"),
        ("delegate_subagent(reviewer)", "delegate_subagent(reviewer)"),
    ],
)
def test_rule_has_one_canonical_text_that_parses_to_the_same_rule(text: str, canonical: str) -> None:
    rule = parse_rule(text, "deny", RuleSource("user", "config.toml"))

    assert str(rule) == canonical
    assert parse_rule(canonical, "deny", rule.source) == rule


@pytest.mark.parametrize(
    "text",
    ["", "bash()", "bash(git", "git push", "bash('x)", "read(!src)", "bash(domain:x.org)", "bash:", "r(" + "x" * 3000],
)
def test_invalid_rule_is_reported_with_its_place(text: str) -> None:
    with pytest.raises(ConfigError, match="line 3: "):
        parse_rule(text, "allow", RuleSource("user", "config.toml, line 3"))


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("git commit:*", ["git commit", "git commit -m x"], ["git commitx", "git -c x commit", "git"]),
        ("npm run build", ["npm run build"], ["npm run build x", "npm run"]),
        ("git * main", ["git push origin main", "git log main"], ["git main", "git push main x"]),
        ("* --version", ["node --version"], ["node --version x", "--version"]),
        ("ls*", ["ls", "ls -la", "lsof"], ["als"]),
        ("npm run test*:*", ["npm run test", "npm run test-unit x"], ["npm run build"]),
    ],
)
def test_command_pattern_matches_whole_words(pattern: str, matching: list[str], others: list[str]) -> None:
    assert [each for each in matching if not command_matches(pattern, each.split())] == []
    assert [each for each in others if command_matches(pattern, each.split())] == []


def test_command_pattern_does_not_match_across_a_quoted_word() -> None:
    assert not command_matches("git push:*", ["git push", "x"])
    assert command_matches("echo 'a b'", ["echo", "a b"])


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("src/**", ["src/a.py", "src/a/b.py", "src"], ["src2/a.py", "x/src/a.py", "../src/a.py"]),
        ("src", ["src/a.py", "lib/src/b.py", "src"], ["src2"]),
        (".env", [".env", "a/.env"], [".env.local", "//home/x/.env"]),
        ("*.pem", ["a.pem", "b/c.pem"], ["a.pem.txt", "//etc/a.pem"]),
        ("/a.py", ["a.py"], ["b/a.py"]),
        ("//etc/**", ["//etc/passwd"], ["etc/passwd"]),
        ("a/**/b", ["a/b", "a/x/y/b", "a/b/c"], ["a/x"]),
        ("doc?/[ab].md", ["docs/a.md"], ["docs/c.md", "doc/a.md"]),
        ("[!a].md", ["b.md"], ["a.md"]),
        (r"\*.md", ["*.md"], ["a.md"]),
        ("build/", ["build/x"], ["build"]),
        ("**", [".", "a", "a/b"], ["//etc"]),
    ],
)
def test_path_pattern_follows_gitignore(pattern: str, matching: list[str], others: list[str]) -> None:
    def is_match(path: str) -> bool:
        absolute = path[1:] if path.startswith("//") else ROOT if path == "." else f"{ROOT}/{path}"
        return path_matches(pattern, absolute, ROOT)

    assert [each for each in matching if not is_match(each)] == []
    assert [each for each in others if is_match(each)] == []


def test_path_pattern_of_the_home_folder() -> None:
    home = str(Path.home())

    assert path_matches("~/notes/**", f"{home}/notes/a", ROOT)
    assert not path_matches("~/notes/**", f"{ROOT}/notes/a", ROOT)


@pytest.mark.parametrize("path", ["a[b]*.py", "src/a.py", "/etc/x?"])
def test_literal_pattern_matches_its_path_only(path: str) -> None:
    absolute = path if path.startswith("/") else f"{ROOT}/{path}"

    assert path_matches(literal_path(path), absolute, ROOT)
    assert not path_matches(literal_path(path), f"{absolute}x", ROOT)


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("domain:docs.python.org", "https://docs.python.org/3/", True),
        ("domain:python.org", "https://docs.python.org", True),
        ("domain:python.org", "https://PYTHON.ORG:443/x", True),
        ("domain:docs.python.org", "https://docs.python.org.evil.net/", False),
        ("domain:python.org", "https://evilpython.org/", False),
        ("domain:python.org", "https://python.org@evil.net/", False),
        ("domain:*.python.org", "https://docs.python.org/", True),
        ("domain:*.python.org", "https://python.org/", False),
        ("domain:python.org", "https://[bad", False),
        ("domain:PYTHON.org.", "https://docs.python.org./", True),
        ("domain:bücher.example", "https://xn--bcher-kva.example/", True),
        ("domain:*.xn--bcher-kva.example", "https://a.BÜCHER.example", True),
        ("domain:127.0.0.1", "http://2130706433/", True),
        ("domain:127.0.0.1", "http://0x7f.1/", True),
        ("domain:127.0.0.1", "http://0177.0.0.1/", True),
        ("domain:127.0.0.1", "http://[::ffff:7f00:1]/", True),
        ("domain:2130706433", "http://127.0.0.1/", True),
        ("domain:0.0.1", "http://127.0.0.1/", False),
        ("domain:[0:0:0:0:0:0:0:1]", "http://[::1]/", True),
        ("domain:::1", "http://[0::1]/", True),
    ],
)
def test_domain_pattern_compares_the_host(pattern: str, url: str, *, expected: bool) -> None:
    assert host_matches(pattern, url) is expected


@pytest.mark.parametrize(
    ("domain", "problem"),
    [
        ("https://python.org", "no scheme, user name or path; write only the host"),
        ("python.org/docs", "no scheme, user name or path"),
        ("ada@python.org", "no scheme, user name or path"),
        ("python.org:443", "a domain has no port"),
        ("[::1]:80", "a domain has no port"),
        ("*.", "the domain is empty"),
        ("", "the domain is empty"),
        ("docs.*.org", r"\* may only be the first part"),
        ("*.*.org", r"\* may only be the first part"),
        ("*python.org", r"\* may only be the first part"),
        ("*.127.0.0.1", r"an address has no subdomains; write domain:127\.0\.0\.1"),
        (".python.org", "is not a valid host name"),
        ("python..org", "is not a valid host name"),
        ("python .org", "is not a valid host name"),
        ("1::2::3", "is not a valid IPv6 address"),
    ],
)
def test_domain_that_no_host_can_match_is_an_error(domain: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_rule(f"web_fetch(domain:{domain})", "deny")


def test_domain_in_capitals_is_an_error() -> None:
    with pytest.raises(ConfigError, match="write domain: in lower case"):
        parse_rule("web_fetch(Domain:python.org)", "deny")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x; (git  push origin)", True),
        ("$(git push)", True),
        ("/usr/bin/git push", True),
        ("git pushx", False),
        ("git stash push", False),
    ],
)
def test_deny_pattern_is_searched_in_text_that_cannot_be_parsed(text: str, *, expected: bool) -> None:
    assert text_mentions("git push:*", text) is expected


def test_examples_of_a_rule_are_checked() -> None:
    command, path, url = map(parse_rule, ("bash(npm test:*)", "edit(src/**)", "web_fetch(domain:python.org)"))

    assert list(check_examples(command, ("npm test -- -k x", "npm test", "!npm testx"))) == []
    assert list(check_examples(path, ("src/a.py", "!lib/a.py"))) == []
    assert list(check_examples(url, ("https://docs.python.org", "!https://x.org"))) == []
    assert list(check_examples(command, ("npm testx", "! npm test x"))) == [
        "bash(npm test:*) does not match 'npm testx'",
        "bash(npm test:*) matches 'npm test x'",
    ]


def test_examples_are_read_as_commands() -> None:
    examples = ("ls -la", "LC_ALL=C ls | ls -l 2>&1", "!make && ls", "!ls > out")

    def risk_of(command: str) -> Risk:
        return analyze(command).risk

    assert list(check_examples(parse_rule("bash(ls:*)"), examples, risk_of)) == []
    assert list(check_examples(parse_rule("bash(make:*)", "deny"), ("ls; timeout 5 make x",), risk_of)) == []
