"""Standard layout of a copied plugin: what its manifest names elsewhere is copied to the standard folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from extensions.locations import FOLDERS, Kind
from extensions.plugins.manifest import Manifest, read_object
from harness.errors import ConfigError
from harness.messages import JsonObject, JsonValue
from harness.terminal_text import escape_controls

HOOKS = "hooks/hooks.json"
"""File with the hooks of a plugin."""
SERVERS = ".mcp.json"
"""File with the MCP servers of a plugin."""
LANGUAGE_SERVERS = ".lsp.json"
"""File with the language servers of a plugin."""


def arrange(folder: Path, manifest: Manifest) -> list[str]:
    """Bring a copied plugin into the standard layout, and return the paths of its manifest that do not exist.

    Raises:
        ConfigError: A file with hooks or servers is invalid.
    """
    missing: list[str] = []
    if (folder / "SKILL.md").is_file() and "skill" not in manifest.paths:
        # The plugin is one skill.
        _collect(folder, "skill", [folder], is_exclusive=False)
    for kind, paths in manifest.paths.items():
        missing += [f"{path} does not exist" for path in paths if not (folder / path).exists()]
        _collect(folder, kind, [folder / path for path in paths], is_exclusive=manifest.is_exclusive)
    named = (*manifest.hooks, *manifest.servers, *manifest.language_servers)
    files = (each for each in named if isinstance(each, str))
    missing += [f"{path} does not exist" for path in files if not (folder / path).exists()]
    _merge_hooks(folder, manifest.hooks)
    _merge_servers(folder / SERVERS, "mcpServers", manifest.servers)
    _merge_servers(folder / LANGUAGE_SERVERS, "lspServers", manifest.language_servers)
    return [escape_controls(each) for each in missing]


def _collect(folder: Path, kind: Kind, sources: Sequence[Path], *, is_exclusive: bool) -> None:
    """Copy extensions of a kind to their standard folder.

    Args:
        folder: The plugin.
        kind: The kind.
        sources: Files and folders with extensions.
        is_exclusive: True to remove all others.
    """
    standard, collected = folder / FOLDERS[kind], folder / ".collected"
    if standard.is_dir() and not is_exclusive:
        shutil.copytree(standard, collected)
    collected.mkdir(exist_ok=True)
    for source in sources:
        for path, name in _extensions(kind, source):
            target = collected / name
            if target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, target, ignore=shutil.ignore_patterns(collected.name))
            else:
                shutil.copy(path, target)
    if standard.exists():
        shutil.rmtree(standard)
    collected.rename(standard)


def _extensions(kind: Kind, source: Path) -> Iterator[tuple[Path, str]]:
    """Yield the extensions in a file or folder, each with its name in the standard folder."""
    if kind == "skill":
        folder = source.parent if source.name == "SKILL.md" else source
        children = [folder] if (folder / "SKILL.md").is_file() else sorted(folder.glob("*/"))
        yield from ((each, each.name) for each in children if (each / "SKILL.md").is_file())
    elif source.is_dir():
        yield from ((each, str(each.relative_to(source))) for each in sorted(source.rglob("*")) if each.is_file())
    elif source.is_file():
        yield source, source.name


def _merge_hooks(folder: Path, more: Sequence[str | JsonObject]) -> None:
    standard = folder / HOOKS
    named = _objects(folder, more, standard)
    if not named:
        return
    events: dict[str, list[JsonValue]] = {}
    for each in (*([read_object(standard)] if standard.is_file() else []), *named):
        inner = each.get("hooks", each)
        for event, hooks in inner.items() if isinstance(inner, dict) else ():
            if isinstance(hooks, list):
                events.setdefault(event, []).extend(hooks)
    _write(standard, {"hooks": dict(events)})


def _merge_servers(standard: Path, key: str, more: Sequence[str | JsonObject]) -> None:
    """Write the servers of a manifest to the standard file, where all are below `key`."""
    named = _objects(standard.parent, more, standard)
    written = [read_object(standard)] if standard.is_file() else []
    if not named and all(key in each for each in written):
        return
    servers: JsonObject = {}
    for each in (*written, *named):
        inner = each.get(key, each)
        servers |= inner if isinstance(inner, dict) else {}
    _write(standard, {key: servers})


def _objects(folder: Path, more: Sequence[str | JsonObject], standard: Path) -> list[JsonObject]:
    """Return the objects of a manifest and those in the files that it names, but for the standard file."""
    files = [folder / each for each in more if isinstance(each, str)]
    found = [read_object(path) for path in files if path.is_file() and path != standard]
    return [*found, *(each for each in more if not isinstance(each, str))]


def _write(path: Path, content: JsonObject) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}") from error
