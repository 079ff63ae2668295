"""Installed plugins: copies below the user's data folder, and the file that lists them.

A copy never changes: an update makes another one, and then the list names that. Copies that it no longer names are
deleted at the next change, so that a session that is running keeps its hooks and scripts until then.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from extensions.locations import Root
from extensions.plugins.contents import KINDS
from harness.errors import ConfigError
from harness.messages import new_id
from harness.workspace.disk import write_atomically

FILE = "plugins.json"
"""Name of the list, in the folder of the copies."""
_LOCK_S = 10.0


class InstalledPlugin(Struct, frozen=True, omit_defaults=True):
    """An installed plugin."""

    copy: str
    """Folder with its copy, in that of all copies. Its last part is the plugin's own name, which some import."""
    source: str
    """Its source, as the user named it; the absolute path of a folder."""
    offer: str = ""
    """Its name in the catalog that the source is; empty if it is no catalog."""
    commit: str = ""
    """Commit of the repository that it was copied from."""
    version: str = ""
    """Version in its manifest."""
    description: str = ""
    """Purpose in its manifest."""
    enabled: bool = True
    """False to keep it installed without using it."""


class PluginStore:
    """The installed plugins.

    Args:
        folder: Folder of the copies and of the list.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        """Folder of the copies."""

    def plugins(self) -> dict[str, InstalledPlugin]:
        """Return the installed plugins by name.

        Raises:
            ConfigError: The list cannot be read.
        """
        path = self.folder / FILE
        try:
            content: object = json.loads(path.read_bytes())
            return convert(content, dict[str, InstalledPlugin])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, ValidationError) as error:
            raise ConfigError(f"{path} cannot be read, so no plugin is used: {error}") from error

    def path(self, plugin: InstalledPlugin) -> Path:
        """Return the folder with the copy of a plugin."""
        return self.folder.joinpath(*(part for part in plugin.copy.split("/") if part not in ("", "..")))

    @contextmanager
    def changing(self) -> Generator[Path]:
        """Lock the list, delete what it does not name, and yield a folder for new copies, which is deleted at the end.

        Raises:
            ConfigError: Another process changes the plugins, or the folder cannot be written.
        """
        # Imported here because few starts change plugins.
        from filelock import FileLock, Timeout

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self.folder / "lock", timeout=_LOCK_S):
                self._prune()
                with tempfile.TemporaryDirectory(prefix="new-", dir=self.folder) as staging:
                    yield Path(staging)
        except Timeout as error:
            raise ConfigError("another process is changing the plugins; try again once it has finished") from error
        except OSError as error:
            raise ConfigError(f"{self.folder} cannot be written: {error}") from error

    def install(self, name: str, plugin: InstalledPlugin, prepared: Path) -> None:
        """Add a plugin or replace it. A copy in the folder of `changing` becomes permanent.

        Args:
            name: Its name.
            plugin: The plugin; `copy` is filled in.
            prepared: Its copy, alone in a folder.
        """
        folder = f"{name}-{new_id()[:8]}"
        prepared.parent.rename(self.folder / folder)
        self.put(name, replace(plugin, copy=f"{folder}/{prepared.name}"))

    def put(self, name: str, plugin: InstalledPlugin | None) -> None:
        """Store a changed record; None to remove the plugin."""
        plugins = {key: value for key, value in self.plugins().items() if key != name}
        if plugin is not None:
            plugins[name] = plugin
        content = json.dumps(to_builtins(dict(sorted(plugins.items()))), indent=2) + "\n"
        write_atomically(self.folder / FILE, content.encode())

    def _prune(self) -> None:
        used = {each.copy.partition("/")[0] for each in self.plugins().values()}
        for path in self.folder.iterdir():
            if path.is_dir() and path.name not in used:
                shutil.rmtree(path, ignore_errors=True)


def plugin_roots(store: PluginStore) -> tuple[list[Root], list[str]]:
    """Return a root for each enabled plugin, and problems for the user. Never raises."""
    roots: list[Root] = []
    problems: list[str] = []
    try:
        plugins = store.plugins()
    except ConfigError as error:
        return [], [str(error)]
    for name, plugin in plugins.items():
        path = store.path(plugin)
        if plugin.enabled and path.is_dir():
            roots.append(Root(path, "plugin", KINDS, name))
        elif plugin.enabled:
            problems.append(
                f"The plugin {name} is not used: {path} is missing; cinch plugin update {name} installs it again."
            )
    return roots, problems
