"""Objects that installed packages offer in entry points, each imported when it is first used.

One that cannot be used is described in one sentence and affects nothing else.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from harness.errors import CinchError, ConfigError
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
logger = logging.getLogger(__name__)

PREFIX = "cinch."
MAX_REASON_CHARS = 300
_GROUP = re.compile(rb"\[([^\]\n]+)\]")
_disabled: set[str] = set()


def disable_packages(names: Iterable[str]) -> None:
    """Let no part of this process use the entry points of these packages.

    Process-wide like the installed packages themselves: models are connected by their names from anywhere.
    """
    _disabled.clear()
    _disabled.update(map(_normalized, names))


def has_entry_points(group: str) -> bool:
    """Return True if some package may have entry points of a group."""
    return group.encode() in _groups(tuple(sys.path))


def describe_error(error: BaseException) -> str:
    """Return an exception as one line that is safe to print."""
    text = str(error) if isinstance(error, CinchError) else f"{type(error).__name__}: {error}".removesuffix(": ")
    line = escape_controls(" ".join(text.split()))
    return line if len(line) <= MAX_REASON_CHARS else line[:MAX_REASON_CHARS] + "…"


def created(found: object) -> object:
    """Return the result of a class or function without arguments, any other object itself."""
    return found() if callable(found) else found


class PackageEntry(Struct, frozen=True):
    """Entry point of a package; nothing is imported yet."""

    point: EntryPoint
    package: str
    version: str

    @property
    def name(self) -> str:
        return self.point.name

    @property
    def kind(self) -> str:
        """Kind of its object: "task classifier" in the group `cinch.task_classifiers`."""
        return self.point.group.removeprefix(PREFIX).removesuffix("s").replace("_", " ")

    @property
    def source(self) -> str:
        return f"{self.package} {self.version}"

    @property
    def is_disabled(self) -> bool:
        return _normalized(self.package) in _disabled

    def unusable(self, why: str) -> ConfigError:
        """Return why its object cannot be used and what to do."""
        text = f"the {self.kind} {self.name!r} of the package {self.source} cannot be used: {why}"
        return ConfigError(escape_controls(f"{text}; update the package, or remove it: pip uninstall {self.package}"))


class PackageObjects(Generic[T]):
    """Objects of one group; each is imported when it is first used.

    Args:
        group: The group.
        check: Converts what an entry point names. It receives the object and the name of the entry point; an exception
            says why the object cannot be used.
        reject_name: Returns why an entry point cannot have a name; empty if it can. Given for groups whose objects are
            known by that name, which only one of them can have.
    """

    def __init__(
        self, group: str, check: Callable[[object, str], T], reject_name: Callable[[str], str] | None = None
    ) -> None:
        self.group = group
        self._check = check
        self._reject_name = reject_name
        self._loaded: dict[PackageEntry, T | ConfigError] = {}

    @property
    def entries(self) -> tuple[PackageEntry, ...]:
        """All entry points of the group that are not disabled, independent of the order of installation."""
        return tuple(each for each in _entries_of(self.group) if not each.is_disabled)

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(entry.name for entry in self.entries))

    def get(self, name: str) -> T | ConfigError | None:
        """Return the object of that name, or why it cannot be used; None if absent."""
        entry = next((entry for entry in self.entries if entry.name == name), None)
        if entry is not None:
            return self._load(entry)
        disabled = next((entry for entry in _entries_of(self.group) if entry.name == name), None)
        if disabled is None:
            return None
        return ConfigError(f"the {disabled.kind} {name!r} is not used: the package {disabled.package} is disabled")

    def unusable(self, name: str, why: str) -> ConfigError:
        """Return why an object that could be imported cannot be used."""
        return next(entry for entry in self.entries if entry.name == name).unusable(why)

    def usable(self) -> list[T]:
        """Import all, and return those that can be used."""
        return [each for _, each in self.each() if not isinstance(each, ConfigError)]

    def problems(self) -> list[str]:
        """Import all, and return the reasons why some cannot be used, one sentence each."""
        return [str(each) for _, each in self.each() if isinstance(each, ConfigError)]

    def each(self) -> Iterator[tuple[PackageEntry, T | ConfigError]]:
        """Import all, and yield each with its entry point, or why it cannot be used."""
        first: dict[str, PackageEntry] = {}
        for entry in self.entries:
            before = first.setdefault(entry.name, entry)
            if before is entry or self._reject_name is None:
                yield entry, self._load(entry)
            else:
                yield entry, entry.unusable(f"{before.source} has a {entry.kind} of the same name, which is used")

    def _load(self, entry: PackageEntry) -> T | ConfigError:
        if entry not in self._loaded:
            self._loaded[entry] = self._loading(entry)
        return self._loaded[entry]

    def _loading(self, entry: PackageEntry) -> T | ConfigError:
        if self._reject_name is not None and (why := self._reject_name(entry.name)):
            return entry.unusable(why)
        try:
            return self._check(entry.point.load(), entry.name)
        except (Exception, SystemExit) as error:
            logger.info("an entry point cannot be used: %s", entry.point, exc_info=error)
            return entry.unusable(describe_error(error))


@cache
def _groups(path: tuple[str, ...]) -> frozenset[bytes]:
    """Return the groups that packages declare; the metadata reader takes 30 ms to import."""
    found: set[bytes] = set()
    for folder in path:
        # A third faster than a glob; it is part of each start.
        with suppress(OSError), os.scandir(folder or ".") as packages:
            for package in packages:
                if package.name.endswith("-info"):
                    with suppress(OSError):
                        found.update(_GROUP.findall(Path(package.path, "entry_points.txt").read_bytes()))
    return frozenset(found)


def _entries_of(group: str) -> tuple[PackageEntry, ...]:
    if not has_entry_points(group):
        return ()
    return tuple(entry for entry in _entries(tuple(sys.path)) if entry.point.group == group)


@cache
def _entries(path: tuple[str, ...]) -> tuple[PackageEntry, ...]:
    from importlib.metadata import distributions

    found: list[PackageEntry] = []
    seen: set[str] = set()
    for distribution in distributions(path=list(path)):
        try:
            entries = [entry for entry in distribution.entry_points if entry.group.startswith(PREFIX)]
            # Only then, since the name is read from another file, which may lack it.
            package, version = (distribution.name or "?", distribution.version or "?") if entries else ("", "")
        except Exception as error:  # noqa: BLE001 package metadata may be damaged in any way
            logger.info("the metadata of a package cannot be read: %s", error)
            continue
        # A package installed twice is found twice and imported from the first place.
        if entries and package not in seen:
            seen.add(package)
            found.extend(PackageEntry(entry, package, version) for entry in entries)
    return tuple(sorted(found, key=lambda entry: (entry.name, entry.package)))


def _normalized(name: str) -> str:
    """Return the name of a package in the spelling of PyPI."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
