"""Models in the order in which a person looks for one, where nobody tells how old they are."""

from __future__ import annotations

import re

LATEST, UNNUMBERED = (1000, 0), (-1, 0)

# A year, a size or a window is no version: 2411, 70b, 32k, 8x7b.
_VERSION = re.compile(r"(?<![\d.])(\d{1,2})(?:[.-](\d{1,2})(?![\dbkmx]))?(?![\dbkmx])")


def newest_first(name: str) -> tuple[str, str, tuple[int, ...], str]:
    """What names are sorted by: the folder, the family in it, and of a family the highest version first."""
    folder, _, own = name.lower().rpartition("/")
    family = re.match(r"[a-z]*", own)
    return folder, family[0] if family else "", tuple(-number for number in _version(own)), name


def _version(name: str) -> tuple[int, int]:
    if found := _VERSION.search(name):
        return int(found[1]), int(found[2] or 0)
    return LATEST if "latest" in name else UNNUMBERED
