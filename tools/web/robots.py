"""Rules of robots.txt for this program.

Source: RFC 9309.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from tools.web.addresses import AddressPolicy, BlockedAddress, WebUrl
from tools.web.download import AGENT, FetchError, Redirected, download

KEPT_SECONDS = 3600.0
MOST_KEPT = 200
LONGEST_FILE = 512 * 1024
MOST_RULES = 2_000
SECONDS = 10.0
_ALL = "*"


class RobotRule(Struct, frozen=True):
    """A line of robots.txt."""

    path: str
    """Beginning of the paths; `*` stands for anything, `$` at the end for the end of a path."""
    allows: bool
    """True for Allow, False for Disallow."""


DISALLOW_ALL = (RobotRule("/", allows=False),)


def parse_robots(text: str, agent: str = AGENT) -> tuple[RobotRule, ...]:
    """Return the rules for an agent: those of its own groups, otherwise those for all."""
    found: dict[str, list[RobotRule]] = {}
    # Only of the groups that can apply: every agent of a group gets each of its rules.
    agents: set[str] = set()
    in_rules = False
    for name, value in _lines(text):
        if name == "user-agent":
            agents = {*(() if in_rules else agents), *({value.lower()} & {agent, _ALL})}
            in_rules = False
        elif name in ("allow", "disallow"):
            in_rules = True
            for each in agents:
                _add_rule(found.setdefault(each, []), value, allows=name == "allow")
    return tuple(found.get(agent, found.get(_ALL, [])))


def _add_rule(rules: list[RobotRule], path: str, *, allows: bool) -> None:
    # An empty Disallow allows everything, as does no rule.
    if path and len(rules) < MOST_RULES:
        rules.append(RobotRule(path, allows=allows))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.lstrip("\ufeff").splitlines():
        name, mark, value = line.partition("#")[0].partition(":")
        if mark:
            yield name.strip().lower(), value.strip()


def is_allowed(rules: Iterable[RobotRule], target: str) -> bool:
    """Return True if a path with its query may be fetched: the longest matching rule decides, Allow on a tie."""
    matching = [rule for rule in rules if _matches(rule.path, target)]
    return max(matching, key=lambda rule: (len(rule.path), rule.allows)).allows if matching else True


def _matches(path: str, target: str) -> bool:
    """Return True if a pattern matches the beginning of a path, in linear time."""
    first, *rest = path.removesuffix("$").split("*")
    if not target.startswith(first):
        return False
    at = len(first)
    *middle, last = rest or [""]
    for part in middle:
        at = target.find(part, at) + len(part)
        if at < len(part):
            return False
    if not path.endswith("$"):
        return target.find(last, at) >= 0
    return target.endswith(last) and len(target) - len(last) >= at if rest else len(target) == at


class RobotsCache:
    """Rules of hosts, downloaded when they are first needed."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[float, tuple[RobotRule, ...]]] = OrderedDict()

    async def allows(self, url: WebUrl, policy: AddressPolicy) -> bool:
        """Return True if robots.txt of the host allows a URL.

        Raises:
            BlockedAddress: The host is not public.
        """
        kept = self._kept.get(url.origin)
        if kept is None or kept[0] < time.monotonic():
            kept = (time.monotonic() + KEPT_SECONDS, await _rules(url, policy))
            self._kept[url.origin] = kept
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return is_allowed(kept[1], url.target)


async def _rules(url: WebUrl, policy: AddressPolicy) -> tuple[RobotRule, ...]:
    file = WebUrl(url.scheme, url.host, url.port, "/robots.txt")
    try:
        found = await download(file, policy, seconds=SECONDS, kept=LONGEST_FILE)
    except (FetchError, Redirected):
        # Unreachable: the page fails as well, or the host has no rules of its own.
        return ()
    except BlockedAddress:
        policy.check_name(url.host)
        return ()
    if found.status >= 500:
        return DISALLOW_ALL
    if found.status != 200 or found.media_type == "text/html":
        return ()
    return parse_robots(found.body.decode("utf-8", "replace"))
