"""References in instruction files to other files, written `@docs/style.md`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_REFERENCE = re.compile(r"(?:^|(?<=[\s(]))@((?:\\ |[^\s\\`@])+)")
_PUNCTUATION = ".,;:!?)]}>\"'*_"
_SUFFIXES = (".md", ".txt", ".mdc")


def references(text: str) -> list[str]:
    """Return the paths that a text refers to outside of code, each once, such as `./x.md`; some may be mere words."""
    prose = _SPAN.sub(" ", "\n".join(prose_lines(text)))
    return list(dict.fromkeys(found[1].replace("\\ ", " ") for found in _REFERENCE.finditer(prose)))


def prose_lines(text: str) -> Iterator[str]:
    """Yield the lines of a Markdown text; those of code fences are empty."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        yield "" if fence or mark else line


def candidates(reference: str, folder: Path) -> list[tuple[str, Path]]:
    """Return the path that a reference in a file of `folder` means, then the same without the punctuation after it."""
    names = dict.fromkeys((reference, reference.rstrip(_PUNCTUATION)))
    return [(name, folder / os.path.expanduser(name)) for name in names if name]  # noqa: PTH111  pathlib raises without a home folder


def is_certain(name: str) -> bool:
    """Return True if a reference can only mean a file, unlike `@param` and `@scope/package`."""
    has_suffix = "/" in name and bool(Path(name).suffix)
    return name.startswith(("./", "../", "~/", "/")) or name.endswith(_SUFFIXES) or has_suffix
