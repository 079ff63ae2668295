"""The commands of cinch, in the order the help lists them."""

from __future__ import annotations

from functools import cache

from cinch_tui.commands.approval import APPROVAL
from cinch_tui.commands.btw import SIDE_QUESTIONS
from cinch_tui.commands.installed import installed_groups
from cinch_tui.commands.keys import KEYS
from cinch_tui.commands.model import MODEL
from cinch_tui.commands.panels import PANELS
from cinch_tui.commands.parallel import PARALLEL
from cinch_tui.commands.registry import Registry
from cinch_tui.commands.session import SESSION
from cinch_tui.commands.view import VIEW


@cache
def builtin_commands() -> Registry:
    return Registry((SESSION, MODEL, SIDE_QUESTIONS, PARALLEL, APPROVAL, KEYS, PANELS, VIEW), installed_groups())
