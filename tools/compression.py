"""Compression of command output for models: repeated lines, passing tests and progress are folded, errors never are.

Each fold leaves a line such as `[… 214 similar lines]`. The functions are pure, take linear time, and never return a
longer text; compressing twice changes nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Literal, TypeAlias

from tools.output import cleaned

Compression: TypeAlias = Literal["off", "minimal", "aggressive"]
"""Level of compression.

- `off`: only escape sequences are removed, and carriage returns applied
- `minimal`: repeated and similar lines, and blank lines, are folded
- `aggressive`: passing tests and the progress of builds and installations, too
"""

_SIMILAR_LINES = 6
"""Shortest run of similar lines that is folded."""
_KEPT_FIRST = 2
_KEPT_LAST = 1
_IGNORED = b"0123456789.,:%#=*>- \t"
"""Characters that may differ between similar lines: numbers, progress bars, padding."""
_LEAST_LETTERS = 8
"""Fewest other characters in similar lines: rows of numbers are data."""

_LOCATION = re.compile(r"\.[A-Za-z]\w*(?::|\()\d+|^ +\d+:\d+  ")
"""Place in a file, as linters print it: `app.ts:12`, `app.ts(12`, or a line and a column."""
_MARKER = re.compile(r"\[… [\d,]+ (?:identical|similar) lines\]|\[… [\d,]+ lines (?:on passing tests|of progress)\]")

_ERROR_WORDS = (
    "abort", "assert", "cannot", "conflict", "critical", "denied", "err", "exception", "fail", "fatal", "invalid",
    "killed", "missing", "not found", "not ok", "panic", "refused", "segmentation", "segfault", "timed out", "timeout",
    "traceback", "unable", "undefined", "unresolved",
)  # fmt: skip
_ENDINGS = "ed|ing|ion|ked|or|ors|s|ure|ures"
# Part of a name, as in `test_error_is_shown` or `thiserror`, is no error; `ValueError` is.
_ERROR = re.compile(
    rf"(?i:(?<![a-z0-9_])(?:{'|'.join(_ERROR_WORDS)})(?:{_ENDINGS})?(?![a-z0-9_]))"
    r"|(?:Error|Exception|Failure)(?![a-z])|^E\s|[✗✕✘×❌]",
    re.ASCII,
)
_ERROR_SIGNS = (*_ERROR_WORDS, "\ne", *"✗✕✘×❌")
"""Texts, in small letters, of which every line with an error contains one: looking for them is faster."""

_PASSING = re.compile(
    r"\S+::.* (?:PASSED|SKIPPED|XFAIL)(?: \(.*\))?(?: +\[ *\d+%\])?\s*$"  # pytest -v
    r"|\[gw\d+\] (?:\[ *\d+%\] )?(?:PASSED|SKIPPED|XFAIL) |\S+\.py::.*\S $"  # pytest-xdist
    r"|(?:\S+\.py )?[.sx]+ +\[ *\d+%\]$"  # pytest
    r"|\s*(?:✓|√|✔) "  # jest, vitest, mocha
    r"|PASS(?: |$)"  # jest, go test
    r"|test .+ \.\.\. (?:ok|ignored)$"  # cargo test
    r"|\w+ \([\w.]+\) \.\.\. ok$"  # unittest
    r"|ok\s+\S+\s+(?:\(cached\)|[\d.]+s)"  # go test
    r"|=== (?:RUN|PAUSE|CONT|NAME) |\s*--- PASS: "  # go test -v
    r"|\s*(?:ok \d+\b|# Subtest: )"  # TAP
    r"|\[ (?:RUN     |      OK) \] "  # GoogleTest
    r"| *(?:\d+/\d+ Test +#\d+: .* Passed|Start +\d+: )"  # ctest
    r"| +PASS \[ *[\d.]+s\] "  # cargo nextest
    r"|\(pass\) |.* \.\.\. ok \(\d+m?s\)$"  # bun, deno
    r"|[.SI]+ +\d+ / \d+ \( *\d+%\)$"  # PHPUnit
    r"|Test Case '[^']*' (?:started|passed)"  # XCTest
    r"|  (?:Passed|Skipped) .* \[[<\d. ]+ m?s\]$"  # dotnet test
    r"|\[INFO\] (?:Running \S+$|Tests run: \d+, Failures: 0, Errors: 0, .* -+ in )"  # Maven
)
_PROGRESS = re.compile(
    r"Collecting \S|Requirement already satisfied|Looking in |Processing \S+\.(?:whl|tar\.gz)\b"
    r"|Installing collected packages|Building wheels? |Attempting uninstall"
    r"|\s*(?:Downloading|Downloaded|Using cached|Preparing metadata|Getting requirements|Installing build|Created wheel"
    r"|Stored in directory|Found existing|Uninstalling|Building wheel|Fetching|Resolving|Progress)\b"  # pip, npm, maven
    r"|\s+━+ [\d.]+/[\d.]+ [kMG]?B "  # pip
    r"|\s+(?:Compiling|Checking|Fresh|Locking|Adding|Updating|Blocking|Unpacking|Documenting) \S"  # cargo
    r"|npm (?:http|timing|sill|verb|info) |(?:info|verbose) "  # npm, yarn
    r"|go: (?:downloading|finding|extracting) "
    r"|\[INFO\] Download(?:ing|ed) from |> Task :\S+(?: (?:UP-TO-DATE|NO-SOURCE|FROM-CACHE|SKIPPED))?$"  # Maven, Gradle
    r"|(?:\S*/)?(?:\w+-)*(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+)(?:-\d+)? .*-[co] "  # make
    r"|  (?:HOST)?(?:CC|CXX|LD|AR|AS) +\S"  # make of the Linux kernel
    r"|  \S+ -> \S+\.(?:dll|exe)$"  # dotnet build
    r"|npm warn deprecated |➤ YN0013: "  # npm, yarn
    r"| [+~-] \S+==\S+$|(?:Using|Installing) \S+ \(?\d"  # uv, bundler
    r"|  - (?:Downloading|Installing|Locking|Upgrading|Syncing) \S+/\S+ "  # composer
    r"|  (?:Installing|Upgrading|Verifying|Cleanup|Erasing|Running scriptlet) *: "  # dnf
    r"|\(\d+/\d+\) \w+ing "  # apk, pacman
    r"|==> (?:Downloading|Fetching|Pouring) |\S+ +\| [\d.]+ [KMG]B +\|"  # Homebrew, conda
    r"|(?:Get|Hit|Ign):\d+ |Selecting previously|Preparing to unpack|Unpacking |Setting up |Processing triggers"  # apt
    r"|make(?:\[\d+\])?: (?:Entering|Leaving) directory"
    r"|\[ *\d+%\] |\[\d+/\d+\] "  # cmake, ninja
    r"|(?:remote: )?(?:Enumerating|Counting|Compressing|Receiving|Resolving|Writing) (?:objects|deltas)"  # git
    r"|#\d+ (?:sha256:|extracting|transferring|\d+\.\d+ )"  # docker
)

_TAP_PASSED = re.compile(r"\s*ok \d+\b")

_LONGEST_LINE = 500
"""Longest line, in characters, whose kind is looked for: the patterns may go back over a line."""

_PASSED, _PROGRESSED = b"\npassed", b"\nprogress"
"""Keys of lines that are folded by kind; no other key contains a line feed."""
_FOLDED = {_PASSED: "lines on passing tests", _PROGRESSED: "lines of progress"}


def compress(text: str, level: Compression) -> str:
    """Return the output of a command as a model gets it.

    Args:
        text: The output.
        level: The level; `off` returns the text as a terminal would show it.
    """
    text = cleaned(text)
    if level == "off":
        return text
    lines = text.split("\n")
    keys = _keys(text)
    if level == "aggressive":
        keys = [_kind(line) or key for line, key in zip(lines, keys, strict=True)]
        _extend_over_details(lines, keys)
    kept: list[str] = []
    start = 0
    for key, run in groupby(keys):
        end = start + sum(1 for _ in run)
        kept += _shortened(key, lines[start:end]) if end - start > 1 else lines[start:end]
        start = end
    return "\n".join(kept)


def is_error(line: str) -> bool:
    """Return True if a line reports an error, as far as its words tell."""
    return _ERROR.search(line) is not None


def _keys(text: str) -> list[bytes]:
    """Return a key of each line; similar lines have equal keys."""
    return text.encode("utf-8", "surrogatepass").translate(None, _IGNORED).split(b"\n")


@lru_cache(maxsize=1024)
def _kind(line: str) -> bytes | None:
    if len(line) > _LONGEST_LINE:
        return None
    if _PASSING.match(line):
        return _PASSED
    return _PROGRESSED if _PROGRESS.match(line) and not is_error(line) else None


def _extend_over_details(lines: Sequence[str], keys: list[bytes]) -> None:
    """Give the details of a passing test, which TAP encloses in `---` and `...`, the key of its line."""
    indent = ""
    for number, (before, line) in enumerate(pairwise(lines), start=1):
        if not indent and line.lstrip() == "---" and _TAP_PASSED.match(before):
            indent = line[:-3]
        if not indent or not line.startswith(indent) or is_error(line):
            indent = ""
            continue
        keys[number] = _PASSED
        if line == f"{indent}...":
            indent = ""


def _shortened(key: bytes, run: Sequence[str]) -> Iterable[str]:
    """Fold a run of lines with the same key."""
    if key in _FOLDED:
        return _folded(run, 0, 0, _FOLDED[key])
    text = "\n".join(["", *run]).lower()
    if "[… " not in text and not any(sign in text for sign in _ERROR_SIGNS):
        return _similar(run, key)
    parts = (list(part) for _, part in groupby(run, key=_is_fixed))
    return [line for part in parts for line in (part if _is_fixed(part[0]) else _similar(part, key))]


def _is_fixed(line: str) -> bool:
    """Return True for a line that must stay: an error, or the marker of a fold."""
    return is_error(line) or _MARKER.fullmatch(line) is not None


def _similar(run: Sequence[str], key: bytes) -> Iterable[str]:
    is_candidate = len(run) >= _SIMILAR_LINES and len(key) >= _LEAST_LETTERS and len(set(run)) > 1
    if is_candidate and not _names_places(run):
        folded = _folded(run, _KEPT_FIRST, _KEPT_LAST, "similar lines")
        if len(folded) < len(run):
            return folded
    return _without_repetition(run)


def _names_places(run: Sequence[str]) -> bool:
    """Return True if lines name several places in files: these are findings, not progress."""
    first = _LOCATION.search(run[0])
    if first is None:
        return False
    return any((found := _LOCATION.search(line)) is None or found[0] != first[0] for line in run)


def _without_repetition(run: Sequence[str]) -> Iterator[str]:
    for line, repetitions in groupby(run, key=lambda each: each if each.strip() else ""):
        yield from _folded(list(repetitions), 1, 0, "identical lines") if line else ("",)


def _folded(run: Sequence[str], first: int, last: int, what: str) -> Sequence[str]:
    """Replace the middle of a run, two lines or more, by a marker, if that is shorter."""
    end = len(run) - last
    marker = f"[… {end - first:,} {what}]"
    hidden = sum(map(len, run[first:end])) + end - first - 1
    return [*run[:first], marker, *run[end:]] if end - first > 1 and hidden > len(marker) else run
