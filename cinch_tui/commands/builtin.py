"""The commands of cinch, in the order the help lists them."""

from __future__ import annotations

from functools import cache

from cinch_tui.commands.context import CONTEXT
from cinch_tui.commands.hooks import HOOKS
from cinch_tui.commands.instructions import INSTRUCTIONS
from cinch_tui.commands.keys import KEYS
from cinch_tui.commands.mcp import MCP
from cinch_tui.commands.model import MODEL, PARALLEL, SIDE_QUESTIONS
from cinch_tui.commands.packages import package_commands
from cinch_tui.commands.permissions import APPROVAL
from cinch_tui.commands.plugins import PLUGINS
from cinch_tui.commands.registry import Registry
from cinch_tui.commands.session import SESSION
from cinch_tui.commands.view import PANELS, VIEW


@cache
def builtin_commands() -> Registry:
    return Registry(
        (
            SESSION,
            CONTEXT,
            MODEL,
            SIDE_QUESTIONS,
            PARALLEL,
            INSTRUCTIONS,
            APPROVAL,
            KEYS,
            MCP,
            HOOKS,
            PLUGINS,
            PANELS,
            VIEW,
        ),
        package_commands().usable(),
    )
