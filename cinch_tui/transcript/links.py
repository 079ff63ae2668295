"""Link detection: only safe URL schemes, and only files that exist."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct
from rich.style import Style

from cinch_tui.transcript.lines import Run, StyledLine
from harness.terminal_text import escape_controls

KINDS = ("http", "https", "mailto", "file")
LONGEST = 2_000
LONGEST_BESIDE = 80
"""Maximum number of characters of a URL shown next to a label."""
# A URL with a scheme, or a bare word that looks like a host name.
_ADDRESS = re.compile(
    r"(?:\w[\w+.-]*://|mailto:|www\.)\S+|(?<!\S)(?:[\w.+-]+@)?[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}(?:[:/?#]\S*)?(?!\S)"
)
_PATH = re.compile(r"(?<!\S)(?:~|\.{1,2})?/?[\w.@+-]+(?:/[\w.@+-]+)+(?::\d+)*(?!\S)")
_KEPT = "%/:?#[]@!$&'()*+,;=~-._"
_BRACKETS = {")": "(", "]": "["}


class Link(Struct, frozen=True):
    """Label and target of a link."""

    label: str
    url: str


def safe_url(url: str) -> str:
    """Return the URL encoded for the terminal; empty if it is invalid or unsafe."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    is_far_file = parts.scheme == "file" and parts.netloc not in ("", "localhost", _host())
    if parts.scheme not in KINDS or is_far_file or escape_controls(url) != url or len(url) > LONGEST:
        return ""
    return quote(url, safe=_KEPT) if parts.netloc or parts.path else ""


def linked(runs: Sequence[Run], root: str, style: Style) -> list[Run]:
    """Turn URLs and file names in the runs into links with `style`; existing links stay.

    Args:
        runs: styled text.
        root: base directory of relative paths; empty: do not link paths.
        style: style of links.
    """
    if not any(_HINT.search(text) for text, _ in runs):
        return list(runs)
    result: list[Run] = []
    for text, own in runs:
        result.extend([(text, own)] if own.link else _divided(text, own, root, style))
    return result


def links_in(lines: Iterable[StyledLine]) -> list[Link]:
    """Return the unique links of drawn lines in order."""
    found: dict[str, str] = {}
    before = ""
    for line in lines:
        for segment in line.segments:
            url = segment.style.link if segment.style else None
            if url and (url == before or url not in found):
                found[url] = found.get(url, "") + segment.text
            before = url or ""
    return [Link(" ".join(label.split()) or url, url) for url, label in found.items()]


def true_destination(label: str, url: str) -> str:
    """Return the target to show next to a label that names another URL, or a path; empty if none is needed."""
    named = [*_ADDRESS.findall(label[:LONGEST]), *_PATH.findall(label[:LONGEST])]
    if all(_bare(each) == _bare(url) for each in named):
        return ""
    return url if len(url) <= LONGEST_BESIDE else f"{url[: LONGEST_BESIDE - 1]}…"


def _bare(address: str) -> str:
    """Normalize a URL for comparison."""
    text = unquote(address).strip("()<>[]\"'.,;:").casefold()
    return re.sub(r"^(?:https?://|mailto:)?(?:www\.)?", "", text).rstrip("/")


def file_location(url: str) -> tuple[Path, int] | None:
    """Return the local file and line (0: none) of a file URL."""
    parts = urlsplit(url)
    if parts.scheme != "file" or safe_url(url) != url:
        return None
    return Path(unquote(parts.path)), int(parts.fragment) if parts.fragment.isdecimal() else 0


# A cheap pre-check: every link matches it, and most text does not.
_HINT = re.compile(r"://|mailto:|[/.]\w")
_FOUND = re.compile(
    r"(?P<url>(?:https?|file)://[^\s<>\"`{}|\\^\x00-\x1f]+|mailto:[^\s<>\"`{}|\\^@]+@[\w.-]+)"
    r"|(?P<path>(?:~?/|\.{1,2}/)?(?:[\w.@+-]+/)*[\w.@+-]*[\w@+-])(?P<line>:\d+)?(?P<column>:\d+)?"
)


def _divided(text: str, own: Style, root: str, style: Style) -> Iterator[Run]:
    done = 0
    for match in _FOUND.finditer(text):
        label, url = _target(match, root)
        if not url:
            continue
        start = match.start()
        if start > done:
            yield text[done:start], own
        yield label, own + style + Style(link=url)
        done = start + len(label)
    if done < len(text):
        yield text[done:], own


def _target(match: re.Match[str], root: str) -> tuple[str, str]:
    """Return label and URL of a match; empty if it is no valid link."""
    if match["url"]:
        label = _without_the_sentence(match["url"])
        return label, safe_url(label)
    path = match["path"]
    is_path = "/" in path.strip("/") or match["line"]
    if not root or not is_path or len(path) > LONGEST:
        return "", ""
    return match[0], _file_url(path, (match["line"] or "")[1:], root)


def _file_url(path: str, line: str, root: str) -> str:
    file = Path(root, path).expanduser() if path.startswith("~") else Path(root, path)
    try:
        if not file.is_file():
            return ""
    except (OSError, ValueError):
        return ""
    # The host name tells a terminal on another machine that the file is not local.
    return f"file://{_host()}{quote(str(file))}" + (f"#{line}" if line else "")


def _without_the_sentence(url: str) -> str:
    """Strip trailing punctuation and an enclosing bracket."""
    while (last := url[-1:]) and (last in ".,;:!?'*_" or url.count(last) > url.count(_BRACKETS.get(last, last))):
        url = url[:-1]
    return url


@cache
def _host() -> str:
    return socket.gethostname()
