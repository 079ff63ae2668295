"""All tables of settings.

The structs in `tables` are the single source: the configuration file, the environment variables and
`config.example.toml` are derived from them.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from cinch_tui.config.setting import AT_ONCE, NEXT_PROMPT, NEXT_START, OpenTable
from cinch_tui.config.tables.extensions import ExtensionSettings
from cinch_tui.config.tables.model import (
    ContextSettings,
    ModelSettings,
    PromptCacheSettings,
    ProviderSettings,
    RetrySettings,
)
from cinch_tui.config.tables.runs import (
    LimitSettings,
    ParallelSettings,
    PlanSettings,
    SteeringSettings,
    SubagentSettings,
)
from cinch_tui.config.tables.tasks import EnvironmentSettings, PromptSettings, TaskSettings
from cinch_tui.config.tables.tools import (
    ApprovalSettings,
    LspSettings,
    McpSettings,
    PermissionSettings,
    ToolSettings,
    WebSettings,
)
from cinch_tui.config.tables.ui import SessionSettings, UiSettings


class Settings(Struct, frozen=True):
    """All tables, each with the time when changes apply."""

    model: Annotated[ModelSettings, NEXT_START] = ModelSettings()
    providers: Annotated[ProviderSettings, NEXT_START] = ProviderSettings()
    limits: Annotated[LimitSettings, NEXT_PROMPT] = LimitSettings()
    retry: Annotated[RetrySettings, NEXT_PROMPT] = RetrySettings()
    prompt_cache: Annotated[PromptCacheSettings, NEXT_PROMPT] = PromptCacheSettings()
    context: Annotated[ContextSettings, NEXT_PROMPT] = ContextSettings()
    tools: Annotated[ToolSettings, NEXT_PROMPT] = ToolSettings()
    web: Annotated[WebSettings, NEXT_START] = WebSettings()
    approval: Annotated[ApprovalSettings, NEXT_START] = ApprovalSettings()
    permissions: Annotated[PermissionSettings, NEXT_START] = PermissionSettings()
    plan: Annotated[PlanSettings, NEXT_START] = PlanSettings()
    steering: Annotated[SteeringSettings, NEXT_PROMPT] = SteeringSettings()
    subagents: Annotated[SubagentSettings, NEXT_PROMPT] = SubagentSettings()
    parallel: Annotated[ParallelSettings, NEXT_PROMPT] = ParallelSettings()
    mcp: Annotated[McpSettings, NEXT_START] = McpSettings()
    lsp: Annotated[LspSettings, NEXT_START] = LspSettings()
    extensions: Annotated[ExtensionSettings, NEXT_START] = ExtensionSettings()
    tasks: Annotated[TaskSettings, NEXT_START] = TaskSettings()
    prompt: Annotated[PromptSettings, NEXT_START] = PromptSettings()
    environment: Annotated[EnvironmentSettings, NEXT_START] = EnvironmentSettings()
    sessions: Annotated[SessionSettings, NEXT_PROMPT] = SessionSettings()
    ui: Annotated[UiSettings, AT_ONCE] = UiSettings()
    format: Annotated[
        dict[str, str],
        OpenTable(
            "formatters by the names of files; each runs after a change by the agent, without a shell, and {file} is "
            "the path of the file; an empty command turns one off",
            '"*.py" = "ruff format {file}"',
        ),
    ] = {}
    keys: Annotated[
        dict[str, str],
        OpenTable(
            'keys by id, separated by commas; "cinch keys --list" and docs/keys.md list the ids; "none": no key',
            '"chat.search" = "Ctrl+F, F12"',
        ),
    ] = {}
