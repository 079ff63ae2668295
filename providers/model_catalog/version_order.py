"""Order of models with unknown release dates: by family, the highest version first."""

from __future__ import annotations

import re

LATEST, UNNUMBERED = (1000, 0), (-1, 0)

# Years, sizes and windows are not versions: 2411, 70b, 32k, 8x7b.
_VERSION = re.compile(r"(?<![\d.])(\d{1,2})(?:[.-](\d{1,2})(?![\dbkmx]))?(?![\dbkmx])")


def newest_first(name: str) -> tuple[str, str, tuple[int, ...], str]:
    """Return the sort key of a name: folder, family, highest version first."""
    folder, _, own = name.lower().rpartition("/")
    family = re.match(r"[a-z]*", own)
    return folder, family[0] if family else "", tuple(-number for number in _version(own)), name


def _version(name: str) -> tuple[int, int]:
    if found := _VERSION.search(name):
        return int(found[1]), int(found[2] or 0)
    return LATEST if "latest" in name else UNNUMBERED
