"""Options of the shell that commands run in."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

OnTimeout: TypeAlias = Literal["background", "kill"]
"""Handling of a command that exceeds its time limit."""


class ShellOptions(Struct, frozen=True):
    """Options of the shell."""

    on_timeout: OnTimeout = "background"
    """Handling of a command that exceeds its time limit."""
    persistent: bool = False
    """True to keep folder, exported variables, functions, aliases and options for later commands."""


DEFAULT_SHELL = ShellOptions()
