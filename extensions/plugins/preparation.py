"""Preparation of plugins: from a source to a copy in the standard layout, which is not installed yet."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from extensions.plugins.catalog import Offer, read_catalog
from extensions.plugins.contents import PluginContents, read_contents
from extensions.plugins.git import export
from extensions.plugins.layout import arrange
from extensions.plugins.manifest import checked_name, is_name, read_manifest
from extensions.plugins.source import Source, parse_source
from extensions.plugins.staging import copy_folder
from extensions.plugins.store import InstalledPlugin
from harness.errors import ConfigError
from harness.messages import JsonObject

_MOST_LEFT_OUT = 5


class PreparedPlugin(Struct, frozen=True):
    """A plugin that can be installed."""

    name: str
    """Its name."""
    copy: Path
    """Its copy, in a temporary folder."""
    record: InstalledPlugin
    """Its record, without the name of the final copy."""
    contents: PluginContents
    """Its contents."""


class Preparation:
    """Preparation of the plugins of one source.

    Args:
        text: The source as the user names it.
        cwd: Folder that relative paths start at.
        staging: Folder for temporary files.
        environ: Environment variables.
        report: Receives a line before each download.
    """

    def __init__(
        self, text: str, cwd: Path, staging: Path, environ: Mapping[str, str], report: Callable[[str], None]
    ) -> None:
        self._source = parse_source(text, cwd)
        self._text = text if self._source.is_git else self._source.place
        self._staging = staging
        self._environ = environ
        self._report = report
        self._folder, self._commit = self._fetched(self._source)
        self.offers: Mapping[str, Offer] = {each.name: each for each in read_catalog(self._folder) or ()}
        """Plugins that the source offers, by name; none if it is no catalog."""

    def plugin(self, offer: str = "", name: str = "") -> PreparedPlugin:
        """Prepare a plugin.

        Args:
            offer: Its name in the catalog; empty if the source is no catalog.
            name: Name for the user; empty for its own.

        Raises:
            ConfigError: It cannot be used.
        """
        folder, boundary, commit = self._folder, self._folder, self._commit
        entry: JsonObject = {}
        if offer:
            entry = self.offers[offer].entry
            source = self.offers[offer].source()
            if source.is_git:
                boundary, commit = self._fetched(source)
                folder = boundary / source.folder
            else:
                folder = folder / source.place
        if not folder.resolve().is_relative_to(boundary.resolve()) or not folder.is_dir():
            raise ConfigError(f"plugin {offer}: the folder that the catalog names does not exist")
        manifest = read_manifest(folder, entry)
        own_name = offer or manifest.name or Path(self._source.place.removesuffix(".git")).name
        name = checked_name(name or own_name)
        copy = self._new() / (own_name if is_name(own_name) else name)
        left_out = copy_folder(folder, boundary, copy)
        problems = [*manifest.problems, *arrange(copy, manifest), *_left_out(left_out)]
        contents = read_contents(copy)
        if contents.is_empty:
            raise ConfigError(
                f"{name} is no plugin: it has no skills, commands, subagents, hooks, tools, MCP servers or language "
                "servers"
            )
        record = InstalledPlugin("", self._text, offer, commit, manifest.version, manifest.description)
        return PreparedPlugin(name, copy, record, replace(contents, problems=(*problems, *contents.problems)))

    def _fetched(self, source: Source) -> tuple[Path, str]:
        """Return a folder with the files of a source, and the commit if it is a repository."""
        if not source.is_git:
            return Path(source.place), ""
        self._report(f"downloading {source}")
        target = self._new() / "repository"
        return target, export(source, target, self._environ)

    def _new(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._staging))


def _left_out(paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    more = f" and {len(paths) - _MOST_LEFT_OUT} more" if len(paths) > _MOST_LEFT_OUT else ""
    return [f"left out, as they lead elsewhere or are no files: {', '.join(paths[:_MOST_LEFT_OUT])}{more}"]
