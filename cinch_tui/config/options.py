"""Start options: what the command line specifies besides settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from cinch_tui.config.config import HookTable, RuleText
from cinch_tui.config.layers import Sources
from cinch_tui.config.paths import Paths
from cinch_tui.user_input import Attachment

if TYPE_CHECKING:
    from cinch_tui.config.api_tables import ApiTable
    from cinch_tui.config.lsp_tables import LspTable
    from cinch_tui.config.server_keys import ServerTable
    from extensions.agent_files import AgentFile

OutputFormat: TypeAlias = Literal["text", "json", "stream-json", "events"]


class Options(Struct, frozen=True):
    """Options of one start of cinch."""

    cwd: Path
    paths: Paths
    environ: Mapping[str, str]
    sources: Sources
    """Sources the settings were loaded from."""

    prompt: str = ""
    images: tuple[Attachment, ...] = ()
    headless: bool = False
    output_format: OutputFormat = "text"
    resume: str | None = None
    """The session to resume; None for a new session.

    Its id or "latest", both with "@MESSAGE" to show that message, or empty if the user picks one.
    """

    fork: bool = False
    read_only: bool = False
    keep_session: bool = True
    add_dirs: tuple[Path, ...] = ()
    system: str = ""
    agent: AgentFile | None = None
    """The agent that the user named with `--agent`; its settings are in `sources`."""
    task: str = ""
    """Task type of the first prompt; empty to find it from the prompt."""
    verbose: bool = False
    require_mcp: bool = False
    """True to fail in print mode if an MCP server is not connected."""
    notices: tuple[str, ...] = ()
    """Warnings about the configuration, for the user."""

    rules: tuple[RuleText, ...] = ()
    """Permission rules from the configuration."""
    rule_examples: Mapping[str, tuple[str, ...]] = {}
    """Examples of permission rules, by the text of the rule."""
    servers: tuple[ServerTable, ...] = ()
    """Tables of MCP servers in the configuration, weakest first."""
    uses_servers: bool = True
    """False to start no MCP servers, as in `cinch mcp serve`, which may be one of them."""
    apis: tuple[ApiTable, ...] = ()
    """Tables of APIs in the configuration, weakest first."""
    language_servers: tuple[LspTable, ...] = ()
    """Tables of language servers in the configuration, weakest first."""
    hooks: tuple[HookTable, ...] = ()
    """Hooks in the configuration, weakest first."""
