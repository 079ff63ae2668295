"""Names of all tools that permission rules may be for, whether or not a start offers them."""

from __future__ import annotations

from cinch_tui.assembly.folder import extension_roots
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.installed_packages import package_tools
from cinch_tui.trust.prompt import folder_state
from extensions.script_tools import load_scripts
from extensions.skill_tool import SkillTool
from tools.builtin import all_tools
from tools.dialects.cats.tools import cats_tools


def known_names(options: Options, settings: Settings) -> set[str]:
    """Return the names of built-in tools in all dialects, and of those in packages and script files.

    Tools of MCP servers and APIs are known by the form of their names.
    """
    own = all_tools()
    files, trust = folder_state(options, options.cwd)
    roots, _ = extension_roots(options, settings, options.cwd, files, trust)
    added = [tool for tools in package_tools(own).usable() for tool in tools]
    scripts = (script.name for script in load_scripts(roots).scripts)
    return {SkillTool.name, *scripts, *(tool.name for tool in (*own, *cats_tools(), *added))}
