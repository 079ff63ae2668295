"""Hooks that apply in a folder: from the configuration, from settings of Claude Code, and from plugins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from harness.errors import NotAFile
from harness.workspace.disk import read_small_text

if TYPE_CHECKING:
    from cinch_tui.config.config import HookTable
    from extensions.hooks.config import HookHandler, HookSource, LoadedHooks
    from extensions.locations import Level, Root
    from harness.messages import JsonObject, JsonValue

LARGEST = 256 * 1024
"""Maximum size of a file, in bytes."""
_CONCERNS_HOOKS = re.compile(r'"(?:hooks|disableAllHooks)"')
_LEVELS = {"file": "user", "environment": "user", "flag": "user"}


class _File(Struct, frozen=True):
    """A file that mentions hooks."""

    path: Path
    text: str
    root: Root
    is_trusted: bool


def read_hooks(
    tables: Sequence[HookTable],
    roots: Sequence[Root],
    inert: Set[Path] = frozenset(),
    of_agent: tuple[JsonValue, HookSource] | None = None,
) -> LoadedHooks | None:
    """Return the hooks of all files, also those without trust; None if there are none. Reads files.

    Args:
        tables: Hooks in the configuration, weakest first.
        roots: Folders with extensions, the strongest first.
        inert: Files of the project without effect, such as scripts that have changed since the user trusted it.
        of_agent: Hooks in the metadata of the chosen agent, and its file; None if it has none.
    """
    files = list(_files(roots))
    if not (tables or files or of_agent):
        return None
    # Imported here because few users have hooks.
    import json

    from extensions.hooks.config import HookSource, LoadedHooks, add_hooks

    loaded = LoadedHooks()
    for table in tables:
        level = _LEVELS.get(table.layer, table.layer)
        project = table.path.parent.parent if table.layer in ("project", "local") else None
        source = HookSource(table.path, level, is_trusted=table.is_trusted, project=project)
        # TOML has dates, which are no values of hooks.
        add_hooks(loaded, {table.event: json.loads(json.dumps(table.groups, default=str))}, source)
    decided = False
    for file in files:
        data = _data(file, loaded)
        switch = data.get("disableAllHooks")
        if isinstance(switch, bool) and file.is_trusted and not decided:
            # The strongest file decides.
            decided, loaded.disabled_by = True, file.path if switch else None
        if "hooks" in data:
            add_hooks(loaded, data["hooks"], _source(file))
    if of_agent is not None:
        add_hooks(loaded, *of_agent)
    distrust_changed(loaded, inert)
    return loaded


def metadata_source(path: Path, level: Level, plugin_root: str, folder: Path) -> HookSource:
    """Return the source of hooks in the metadata of a file, whose content is trusted.

    Args:
        path: The file.
        level: Whose it is.
        plugin_root: Folder of its plugin; empty if it is not from one.
        folder: Folder of the agent.
    """
    from extensions.hooks.config import HookSource
    from harness.instructions.loading import project_root

    project = project_root(folder) if level == "project" else None
    return HookSource(path, level, root=Path(plugin_root) if plugin_root else None, project=project)


def distrust_changed(loaded: LoadedHooks, inert: Set[Path]) -> None:
    """Take the trust from hooks that run a script of the project without effect."""
    scripts = [path.name for path in inert if "hooks" in path.parent.parts]
    loaded.handlers = [_without_trust(each) if _names(each, scripts) else each for each in loaded.handlers]


def _names(handler: HookHandler, scripts: Sequence[str]) -> bool:
    """Return True if a hook of a project runs one of these scripts of the project."""
    return handler.source.project is not None and any(name in handler.target for name in scripts)


def _without_trust(handler: HookHandler) -> HookHandler:
    return replace(handler, source=replace(handler.source, is_trusted=False))


def _files(roots: Sequence[Root]) -> Iterator[_File]:
    """Yield the files that mention hooks, the strongest first."""
    for root in roots:
        for path in _paths(root):
            try:
                text = read_small_text(path, LARGEST)
            except (OSError, NotAFile, ValueError):
                # The inventory of a project reports it; other files are reported when their permissions are imported.
                continue
            if _CONCERNS_HOOKS.search(text):
                yield _File(path, text, root, root.is_active(path))


def _paths(root: Root) -> Iterator[Path]:
    if root.level == "plugin":
        yield root.path / "hooks" / "hooks.json"
    elif root.path.name == ".claude":
        if root.level == "project":
            yield root.path / "settings.local.json"
        yield root.path / "settings.json"


def _source(file: _File) -> HookSource:
    from extensions.hooks.config import HookSource

    root = file.root
    if root.level == "plugin":
        return HookSource(file.path, "plugin", is_trusted=file.is_trusted, root=root.path)
    level = "local" if file.path.name == "settings.local.json" else root.level
    project = root.path.parent if root.level == "project" else None
    return HookSource(file.path, level, is_trusted=file.is_trusted, project=project)


def _data(file: _File, loaded: LoadedHooks) -> JsonObject:
    import json

    try:
        data: object = json.loads(file.text)
    except (ValueError, RecursionError) as error:
        loaded.problems.append(f"{file.path}: is not valid JSON: {error}")
        return {}
    if not isinstance(data, dict):
        loaded.problems.append(f"{file.path}: is not a JSON object")
        return {}
    return data  # pyright: ignore[reportUnknownVariableType] the values are checked when they are read
