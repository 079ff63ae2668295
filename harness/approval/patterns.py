"""Patterns of permission rules: words of a command, paths as in gitignore, hosts.

Compiled patterns are cached. `*` in a command matches within one simple command; `*` in a path matches within one name,
`**` any number of folders.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from urllib.parse import urlsplit

from harness.approval.hosts import address_of, canonical_host
from harness.errors import ConfigError

PREFIX = ":*"
"""End of a command pattern that further words may follow."""
DOMAIN = "domain:"
_SEPARATOR = "\0"
_TOKEN = re.compile(r"[^\s;&|()<>`$\"'\\{}]+")
_PATH_PART = re.compile(r"(?P<folders>\*\*/)|(?P<any>\*\*)|(?P<name>\*)|(?P<one>\?)|(?P<set>\[[!^]?\]?[^\]/]*\])|\\(.)")

_MISTAKES = (
    (re.compile(r"^$"), "the domain is empty; write domain:example.com, or domain:* for every host"),
    (re.compile(r"[/?#@\\]"), "a domain has no scheme, user name or path; write only the host"),
    (re.compile(r"\*"), "* may only be the first part of a domain; write domain:*.example.com or domain:*"),
    (re.compile(r"^(\[.*\]|[^:]*):\d*$"), "a domain has no port; a rule covers all ports of the host"),
)


def check_pattern(pattern: str, *, is_command: bool) -> None:
    """Check that a pattern is valid.

    Args:
        pattern: The pattern.
        is_command: True for a pattern of commands.

    Raises:
        ConfigError: The pattern is not valid; the text says why.
    """
    try:
        if is_command:
            _words(pattern)
        elif pattern.startswith("!"):
            raise ConfigError("a pattern cannot be negated; write a rule with another effect")
        elif pattern.lower().startswith(DOMAIN):
            _domain(pattern)
        else:
            _path_expression(pattern)
    except (ValueError, re.error) as error:
        raise ConfigError(f"{pattern!r} is not a valid pattern: {error}") from error


def command_matches(pattern: str, words: Sequence[str]) -> bool:
    """Return True if a pattern describes exactly these words, or the first of them if it ends with `:*`."""
    return bool(_words(pattern).fullmatch(_SEPARATOR.join(words)))


def text_mentions(pattern: str, text: str) -> bool:
    """Return True if the words of a pattern follow each other anywhere in a command line that cannot be parsed."""
    core = _words(pattern).pattern.removesuffix(_TAIL)
    found = re.compile(rf"(?:^|[{_SEPARATOR}/]){core}(?:$|{_SEPARATOR})")
    return bool(found.search(_SEPARATOR.join(tokens_of(text))))


def tokens_of(text: str) -> list[str]:
    """Return the words of a command line that cannot be parsed, without quotes and operators."""
    return _TOKEN.findall(text)


def host_matches(pattern: str, url: str) -> bool:
    """Return True if the host of a URL is the domain of a pattern or a subdomain of it; only these with `*.`."""
    host = host_of(url)
    try:
        domain = _domain(pattern)
    except ConfigError:
        return False
    if domain == "*":
        return bool(host)
    if domain.startswith("*."):
        return host.endswith(domain[1:])
    return host == domain or host.endswith(f".{domain}")


def host_of(url: str) -> str:
    """Return the host of a URL in its canonical spelling; empty if it has none that is valid."""
    try:
        return canonical_host(urlsplit(url).hostname or "")
    except ValueError:
        return ""


@lru_cache(maxsize=2_000)
def _domain(pattern: str) -> str:
    """Return the domain of a pattern in its canonical spelling, with `*.` if the pattern has it.

    Raises:
        ConfigError: The pattern could match no host, or others than it seems to.
    """
    if not pattern.startswith(DOMAIN):
        raise ConfigError(f"write {DOMAIN} in lower case")
    domain = pattern.removeprefix(DOMAIN).strip()
    name = domain.removeprefix("*.")
    if domain == "*":
        return domain
    for mistake, problem in _MISTAKES:
        if mistake.search(name):
            raise ConfigError(problem)
    try:
        host = canonical_host(name)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if name != domain and address_of(host):
        raise ConfigError(f"an address has no subdomains; write {DOMAIN}{host}")
    return f"*.{host}" if name != domain else host


def text_matches(pattern: str, text: str) -> bool:
    """Return True if a pattern describes a URL or a name, with `*` as wildcard."""
    return host_matches(pattern, text) if pattern.startswith(DOMAIN) else fnmatchcase(text, pattern)


def path_matches(pattern: str, path: str, root: str) -> bool:
    """Return True if a pattern describes a path or a folder above it.

    Args:
        pattern: Pattern as in gitignore: `/x` starts at `root`, `//x` at the root of the file system, `~/x` in the home
            folder; any other is relative to `root`, and without `/` inside it matches at any depth.
        path: Absolute path, normalized.
        root: Absolute path of the workspace, in the same form as `path`.
    """
    base, rest = _based(pattern, root)
    relative = _relative(path, base)
    return relative is not None and bool(_path_expression(rest).fullmatch(relative))


def literal_path(path: str) -> str:
    """Return a pattern that describes exactly this path, relative to the workspace or absolute."""
    escaped = re.sub(r"([*?\[\]\\])", r"\\\1", path)
    if path.startswith("~/"):
        return escaped
    return f"/{escaped}" if path.startswith("/") else f"/{escaped.removeprefix('./')}"


_TAIL = f"(?:{_SEPARATOR}.*)?"


@lru_cache(maxsize=2_000)
def _words(pattern: str) -> re.Pattern[str]:
    words = shlex.split(pattern.removesuffix(PREFIX))
    body = re.escape(_SEPARATOR).join(".*".join(map(re.escape, word.split("*"))) for word in words)
    return re.compile(body + (_TAIL if pattern.endswith(PREFIX) else ""), re.DOTALL)


def _based(pattern: str, root: str) -> tuple[str, str]:
    """Return the folder that a pattern starts at, and the pattern below it."""
    if pattern.startswith("//"):
        return "/", pattern[1:]
    if pattern.startswith("~/"):
        return os.path.expanduser("~"), pattern[1:]  # noqa: PTH111  called for every rule
    return root, pattern


def _relative(path: str, base: str) -> str | None:
    if path == base:
        return "."
    start = base if base.endswith("/") else f"{base}/"
    return path[len(start) :] if path.startswith(start) else None


@lru_cache(maxsize=2_000)
def _path_expression(pattern: str) -> re.Pattern[str]:
    is_folder = pattern.endswith("/") and pattern != "/"
    body = pattern.removeprefix("./") if pattern.startswith("./") else pattern
    is_anchored = "/" in body.rstrip("/")
    body = body.strip("/")
    if body in ("", "**"):
        return re.compile(r".*", re.DOTALL)
    has_contents = body.endswith("/**")
    text, at = "", 0
    for found in _PATH_PART.finditer(body := body.removesuffix("/**")):
        text += re.escape(body[at : found.start()]) + _path_part(found)
        at = found.end()
    text += re.escape(body[at:])
    start = "" if is_anchored or has_contents else "(?:.*/)?"
    return re.compile(f"{start}{text}{'/.+' if is_folder else '(?:/.*)?'}", re.DOTALL)


def _path_part(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "folders":
            return "(?:.*/)?"
        case "any":
            return ".*"
        case "name":
            return "[^/]*"
        case "one":
            return "[^/]"
        case "set":
            inner = found.group().strip("[]")
            negated = inner[:1] in "!^" and bool(inner)
            return f"(?!/)[{'^' * negated}{re.escape(inner[negated:]).replace(re.escape('-'), '-')}]"
        case _:
            return re.escape(found.group()[1:])
