"""Argument parser of one action of a subcommand."""

from __future__ import annotations

import argparse
from typing import NoReturn

from harness.errors import ConfigError


class ActionParser(argparse.ArgumentParser):
    """Parser whose errors are configuration errors.

    Args:
        command: The subcommand, such as `mcp`.
        action: The action, such as `add`.
    """

    def __init__(self, command: str, action: str) -> None:
        self._command = command
        super().__init__(prog=f"cinch {command} {action}", add_help=False, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{self.prog}: {message}; see cinch {self._command} --help")
