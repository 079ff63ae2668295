"""Loaded configuration: settings with their origins, permission rules, hooks, and tables of servers and APIs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from cinch_tui.config.settings import Settings
from harness.structs import Redacted

if TYPE_CHECKING:
    from cinch_tui.config.api_tables import ApiTable
    from cinch_tui.config.lsp_tables import LspTable
    from cinch_tui.config.server_keys import ServerTable


RuleEffect: TypeAlias = Literal["allow", "ask", "deny"]
Layer: TypeAlias = Literal["file", "project", "local", "environment", "agent", "flag", "managed"]


class Origin(Struct, frozen=True):
    """Origin of a value."""

    raw: object
    """The value as written, with `${VAR}` not expanded: an expanded secret must not be displayed."""

    place: str
    """File and line, environment variable, or "the command line"."""

    layer: Layer


class RuleText(Struct, frozen=True):
    """A permission rule as written."""

    effect: RuleEffect
    """Effect of the rule."""

    text: str
    """Text of the rule."""

    layer: Layer
    """Layer that it comes from."""

    place: str
    """File and line, environment variable, or "the command line"."""


class HookTable(Struct, frozen=True):
    """Hooks of one event in a file, `[[hooks.EVENT]]`; they are read when an agent is created."""

    event: str
    """Name of the event."""

    groups: object
    """Value as written."""

    path: Path
    """The file."""

    layer: Layer
    """Layer that it comes from."""

    is_trusted: bool
    """False if the hooks have no effect."""


class Config(Redacted, frozen=True):
    """Loaded settings with their origins."""

    _hidden = ("environ",)

    settings: Settings
    origins: dict[str, Origin]
    """Origin of every value that is not a default, by dotted name."""

    held_back: tuple[str, ...] = ()
    """Keys that an untrusted project file must not set; trusting the folder allows them."""

    rules: tuple[RuleText, ...] = ()
    """Permission rules of all layers. Those that an untrusted project must not set are missing."""

    examples: Mapping[str, tuple[str, ...]] = {}
    """Examples of permission rules, by the text of the rule."""

    servers: tuple[ServerTable, ...] = ()
    """Tables of MCP servers, weakest first; also those without effect."""

    apis: tuple[ApiTable, ...] = ()
    """Tables of APIs, weakest first; also those without effect."""

    language_servers: tuple[LspTable, ...] = ()
    """Tables of language servers, weakest first; also those without effect."""

    hooks: tuple[HookTable, ...] = ()
    """Hooks of all files, weakest first; also those without effect."""

    environ: Mapping[str, str] = {}
    """Environment of cinch, with the variables of `.env` files that the settings name."""

    warnings: tuple[str, ...] = ()
    untrusted_files: tuple[Path, ...] = ()
    """The project's files with keys that were held back."""

    @property
    def notices(self) -> tuple[str, ...]:
        """Warnings for the user, including the keys that were held back."""
        if not self.held_back:
            return self.warnings
        names = ", ".join(dict.fromkeys(self.held_back))
        files = " and ".join(map(str, self.untrusted_files))
        held = (
            f"{files} {'is' if len(self.untrusted_files) == 1 else 'are'} not trusted, so these keys have no effect: "
            f"{names}; to trust this folder: /trust, --trust or cinch config trust"
        )
        return (*self.warnings, held)
