"""Results that stay true are not worked out twice."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from harness.messages import JsonObject
from harness.tool import Risk, ToolOutput

Marks: TypeAlias = tuple[tuple[str, int, int, int], ...]
"""What tells that a file is as it was: path, inode, size, nanoseconds of its last change."""


@dataclass(frozen=True, slots=True)
class _Entry:
    output: ToolOutput
    marks: Marks
    turn: int


class ResultCache:
    """The newest `entries` results, each for `turns` turns; any call that changes something clears it.

    What was read from a file is only handed out while that file is as it was.
    """

    def __init__(self, entries: int = 100, turns: int = 10) -> None:
        self._size = entries
        self._turns = turns
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        self._entries.clear()
