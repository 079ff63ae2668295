"""Rules of robots.txt."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fakes.web_site import LOCAL, WebSite, fetched, text
from msgspec.structs import replace

from tools.web.robots import MOST_RULES, is_allowed, parse_robots

RULES = """\
\ufeff# comment
User-agent: other
Disallow: /

User-agent: *
Crawl-delay: 1
Disallow: /private # not this
Allow: /private/open
Disallow: /*.pdf$
Disallow: /search?q=

User-agent: Cinch
User-agent: friend
Disallow: /no-programs
"""


@pytest.mark.parametrize(
    ("target", "allowed"),
    [
        ("/", True),
        ("/private/a", False),
        ("/private/open/a", True),
        ("/a/b.pdf", False),
        ("/a/b.pdf?x", True),
        ("/search?q=1", False),
        ("/no-programs", True),
    ],
)
def test_longest_rule_for_all_programs_decides(target: str, allowed: bool) -> None:
    assert is_allowed(parse_robots(RULES, "somebody"), target) is allowed


def test_own_group_replaces_that_for_all() -> None:
    rules = parse_robots(RULES)

    assert is_allowed(rules, "/private/a")
    assert not is_allowed(rules, "/no-programs/x")


@pytest.mark.parametrize(
    ("path", "target", "matches"),
    [
        ("/a*.php$", "/a.php.php", True),
        ("/a*.php$", "/a.phpx", False),
        ("/a*b*c", "/axbxc/d", True),
        ("/a$", "/ab", False),
        ("/a*a$", "/a", False),
        ("/*/b", "/a/b/c", True),
        ("/*b*b$", "/ab", False),
    ],
)
def test_wildcards(path: str, target: str, matches: bool) -> None:
    assert is_allowed(parse_robots(f"User-agent: *\nDisallow: {path}"), target) is not matches


def test_hostile_pattern_takes_linear_time() -> None:
    rules = parse_robots("User-agent: *\nDisallow: /" + "*a" * 5_000 + "$")

    assert is_allowed(rules, "/" + "a" * 4_000 + "b")


def test_many_agents_with_many_rules_take_linear_time() -> None:
    agents = "".join(f"User-agent: bot{number}\nUser-agent: cinch\n" for number in range(1_000))
    start = time.thread_time()

    rules = parse_robots(agents + "Disallow: /x\n" * 4_000)

    assert time.thread_time() - start < 0.3
    assert len(rules) == MOST_RULES
    assert not is_allowed(rules, "/x")


async def test_only_the_beginning_of_a_large_file_is_read(tmp_path: Path) -> None:
    with WebSite() as site:
        site.page("/robots.txt", "User-agent: *\nDisallow: /private\n" + "#" * 12_000_000, "text/plain")
        url = site.page("/private", "secret", "text/plain")

        output = await fetched(tmp_path, url, replace(LOCAL, robots=True))

    assert "robots.txt of 127.0.0.1 does not allow" in text(output)


def test_no_rule_allows_everything() -> None:
    for rules in ("", "User-agent: *\nDisallow:", "<html>", "Disallow: /x"):
        assert is_allowed(parse_robots(rules), "/x")
