"""Script tools of an agent, read again before a run if their files have changed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from cinch_tui.assembly.folder import extension_roots
from cinch_tui.installed_packages import reserved_tool_names
from cinch_tui.permissions import is_enabled
from cinch_tui.plugin_folders import outside_plugins
from cinch_tui.trust.prompt import folder_state, skipped_notices
from extensions.locations import FOLDERS, Root
from harness.agent.agent import Agent
from harness.ports.hooks import Hooks, Stop

if TYPE_CHECKING:
    from cinch_tui.config.options import Options
    from cinch_tui.config.settings import Settings
    from extensions.script_tools import LoadedScripts, Script
    from harness.messages import Message

SOURCE = "script files"
"""Name of the source for the model."""
_Stamps = dict[str, tuple[int, int]]


class ScriptTools(Hooks):
    """Script tools of an agent. Without files, a run costs a few look-ups of folders.

    Args:
        agent: The agent.
    """

    def __init__(self, agent: Agent, options: Options, settings: Settings) -> None:
        self._agent = agent
        self._options = options
        self._settings = settings
        self._roots: Sequence[Root] = ()
        self._stamps: _Stamps = {}
        self._scripts: dict[Path, Script] = {}
        self._notices: Sequence[str] = ()
        agent.options = replace(agent.options, hooks=(*agent.options.hooks, self))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tools."""
        return tuple(script.name for script in self._scripts.values())

    async def load(self, options: Options, settings: Settings, roots: Sequence[Root]) -> list[str]:
        """Use the script tools in these folders from the next request on, and return problems with them."""
        self._options, self._settings, self._roots = options, settings, roots
        self._stamps = _stamps(roots)
        if not self._stamps and not self._scripts:
            return []
        # Imported here because few users have script tools.
        from extensions.script_tools import load_scripts

        return self._use(await asyncio.to_thread(load_scripts, roots, self._scripts))

    async def before_loop(self, messages: Sequence[Message], loop_index: int) -> Stop | None:
        """Read the files again if one has changed. A changed file of a project has no effect until it is trusted."""
        if _stamps(self._roots) != self._stamps:
            before = self._scripts
            roots, notices = await asyncio.to_thread(self._trusted_roots)
            problems = await self.load(self._options, self._settings, roots)
            for each in (*(each for each in notices if each not in self._notices), *problems):
                self._agent.notify(each, "warning")
            self._notices = notices
            paths = before.keys() | self._scripts.keys()
            scripts = [self._scripts.get(path) or before[path] for path in paths]
            changed = sorted(each.name for each in scripts if before.get(each.path) != self._scripts.get(each.path))
            if changed:
                self._agent.notify(f"Script tools were read again: {', '.join(changed)}.")
        return None

    def _trusted_roots(self) -> tuple[Sequence[Root], Sequence[str]]:
        root = self._agent.workspace.root
        files, trust = folder_state(self._options, root)
        roots, _ = extension_roots(self._options, self._settings, root, files, trust)
        return roots, skipped_notices(files, trust, headless=self._options.headless)

    def _use(self, loaded: LoadedScripts) -> list[str]:
        from cinch_tui.web_options import secret_variables
        from extensions.script_tool import ScriptTool

        reserved = reserved_tool_names() | {tool.name for tool in self._agent.state.tools}
        usable = [script for script in loaded.scripts if script.name not in reserved]
        hidden = (script for script in loaded.scripts if script.name in reserved)
        self._scripts = {script.path: script for script in usable}
        secrets = tuple(secret_variables())
        tools = [tool for script in usable if is_enabled(tool := ScriptTool(script, secrets), self._settings)]
        self._agent.set_source_tools(SOURCE, tools)
        problems = outside_plugins(loaded.problems, self._options.paths)
        return [*problems, *(f"{each.path} is not used: cinch has a tool named {each.name}" for each in hidden)]


def _stamps(roots: Iterable[Root]) -> _Stamps:
    """Return time and size of each file that may declare a script tool."""
    found: _Stamps = {}
    for root in roots:
        if "script tool" in root.kinds:
            try:
                with os.scandir(root.path / FOLDERS["script tool"]) as entries:
                    for each in entries:
                        if each.name.endswith(".toml"):
                            status = each.stat()
                            found[each.path] = (status.st_mtime_ns, status.st_size)
            except OSError:
                continue
    return found
