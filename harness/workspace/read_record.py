"""Record of the files that were read, which may be changed."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class SeenFile(Struct, frozen=True):
    """Last known state of a file. The encoding is kept, because a guess could differ after an edit."""

    digest: str
    encoding: str


class ReadRecord(dict[Path, SeenFile]):
    """Files that were read, by resolved path, in their last known state."""

    def transfer(self, source: Path, target: Path, *, keep: bool) -> None:
        """Count files at or below `source` as read at `target`; only there unless `keep`."""
        found = {path: seen for path, seen in self.items() if path.is_relative_to(source)}
        self.forget(target)
        if not keep:
            self.forget(source)
        self.update({target / path.relative_to(source): seen for path, seen in found.items()})

    def forget(self, path: Path) -> None:
        """Count files at or below `path` as not read."""
        for each in [each for each in self if each.is_relative_to(path)]:
            del self[each]
