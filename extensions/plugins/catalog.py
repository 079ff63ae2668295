"""Catalogs of plugins: `.claude-plugin/marketplace.json`.

Source: the reference of marketplaces of Claude Code, https://code.claude.com/docs/en/plugin-marketplaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from extensions.plugins.manifest import FOLDERS, read_object
from extensions.plugins.source import Source, git_source, inner_path
from harness.errors import ConfigError
from harness.messages import JsonObject, JsonValue
from harness.terminal_text import escape_controls


class Offer(Struct, frozen=True):
    """A plugin that a catalog offers."""

    name: str
    """Its name."""
    description: str
    """Its purpose, on one line."""
    entry: JsonObject
    """Its entry in the catalog."""
    root: str = ""
    """Folder that a source without `./` is in."""

    def source(self) -> Source:
        """Return where the plugin is; a relative path as a source without git, within the catalog.

        Raises:
            ConfigError: The source is not supported, or leads out of the catalog.
        """
        match self.entry.get("source"):
            case str() as path:
                return Source(inner_path(path if path.startswith(".") or not self.root else f"{self.root}/{path}"))
            case {"source": "github", "repo": str() as repository, **more}:
                return git_source(f"https://github.com/{repository}.git", _ref(more), _folder(more))
            case {"source": "url" | "git" | "git-subdir", "url": str() as url, **more}:
                is_short = "://" not in url and "@" not in url
                return git_source(f"https://github.com/{url}.git" if is_short else url, _ref(more), _folder(more))
            case {"source": kind}:
                raise ConfigError(f"plugin {self.name}: a source of the kind {kind!r} is not supported")
            case _:
                raise ConfigError(f"plugin {self.name}: its entry in the catalog has no source")


def read_catalog(folder: Path) -> list[Offer] | None:
    """Return what a catalog offers; None if the folder has no catalog.

    Raises:
        ConfigError: The catalog is invalid.
    """
    path = next((path for name in FOLDERS if (path := folder / name / "marketplace.json").is_file()), None)
    return None if path is None else list(_offers(path, read_object(path)))


def _offers(path: Path, data: JsonObject) -> Iterator[Offer]:
    plugins, metadata = data.get("plugins"), data.get("metadata")
    if not isinstance(plugins, list):
        raise ConfigError(f"{path} has no list of plugins")
    root = metadata.get("pluginRoot") if isinstance(metadata, dict) else None
    for entry in plugins:
        if isinstance(entry, dict) and isinstance(name := entry.get("name"), str):
            description = entry.get("description")
            text = " ".join(description.split()) if isinstance(description, str) else ""
            yield Offer(escape_controls(name), escape_controls(text), entry, root if isinstance(root, str) else "")


def _ref(data: dict[str, JsonValue]) -> str:
    return next((value for key in ("sha", "ref") if isinstance(value := data.get(key), str)), "")


def _folder(data: dict[str, JsonValue]) -> str:
    path = data.get("path")
    return path if isinstance(path, str) else ""
