"""Tables about tools: which ones, the web, MCP, approvals and permission rules."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Struct

from cinch_tui.config.setting import AT_ONCE, NEXT_START, Setting, held, tighten

Concurrency: TypeAlias = Literal["parallel", "sequential"]
Compression: TypeAlias = Literal["off", "minimal", "aggressive"]
OnTimeout: TypeAlias = Literal["background", "kill"]
WebSearch: TypeAlias = Literal["auto", "native", "brave", "searxng", "tavily", "exa", "off"]
ApprovalMode: TypeAlias = Literal["on", "smart", "edits", "off"]
HeadlessApproval: TypeAlias = Literal["deny", "allow"]


class ToolSettings(Struct, frozen=True):
    enabled: Annotated[
        tuple[str, ...],
        held(
            'tools to offer, as names or globs such as "mcp__github__*"; empty: all. Optional tools need their name: '
            "think, prun, prun_with_memo, revert_to_state, and apply_patch for models without the dialect codex",
            applies=NEXT_START,
        ),
    ] = ()
    disabled: Annotated[
        tuple[str, ...], Setting("tools that are neither offered nor run, as names or globs", applies=NEXT_START)
    ] = ()
    dialect: Annotated[
        tuple[str, ...],
        Setting(
            'names and parameters of the tools for the model, as NAME or "MODEL=NAME" with a glob for models, such as '
            '"anthropic/*=claude": cinch; claude, those of Claude Code; codex, apply_patch in place of edit_file and '
            "write_file, as for GPT-5 and Codex models without an entry; cats, those of trustee",
            applies=NEXT_START,
        ),
    ] = ()
    concurrency: Annotated[
        Concurrency, Setting("tool calls of one reply: parallel, as far as they do not conflict, or sequential")
    ] = "parallel"
    dependencies: Annotated[
        bool,
        Setting("explain to the model how a call names calls of the same reply that it waits for", applies=NEXT_START),
    ] = False
    batch_size: Annotated[int, Setting("how many run at the same time with parallel; 0: all", 0)] = 0
    timeout_s: Annotated[float, Setting("time limit of a call, in seconds; 0: the tool's own limit", 0)] = 0.0
    max_result_chars: Annotated[
        int, tighten("longer results are truncated for the model and saved in full to a file; 0: never truncated", 0)
    ] = 30000
    cache_entries: Annotated[int, Setting("results cached for identical calls; 0: no cache", 0, applies=NEXT_START)] = (
        100
    )
    cache_ttl_turns: Annotated[int, Setting("how long a cached result is valid, in turns", 1, applies=NEXT_START)] = 10
    format_timeout_s: Annotated[
        float, Setting("time limit of a formatter after an edit, in seconds", 0.1, applies=NEXT_START)
    ] = 10.0
    bash_deny: Annotated[
        tuple[str, ...],
        Setting(
            'commands that never run, as patterns such as "git push:*"; short for permissions.deny',
            applies=NEXT_START,
            key="bash.deny",
        ),
    ] = ()
    bash_compression: Annotated[
        Compression,
        Setting(
            "output of commands for the model; you see all of it, and a file has it. aggressive: fold repeated lines, "
            "passing tests and the progress of builds and installations; minimal: repeated lines only; off: nothing",
            applies=NEXT_START,
            key="bash.compression",
        ),
    ] = "aggressive"
    bash_on_timeout: Annotated[
        OnTimeout,
        Setting(
            "commands that exceed their time limit: background: they continue as background jobs; kill: they are "
            "stopped",
            applies=NEXT_START,
            key="bash.on_timeout",
        ),
    ] = "background"
    bash_persistent: Annotated[
        bool,
        held(
            "keep folder, exported variables, functions and options of commands for later ones; see /shell",
            applies=NEXT_START,
            key="bash.persistent",
        ),
    ] = False
    bash_wake_on_exit: Annotated[
        bool,
        held(
            "start a run when a background job ends while the agent is idle, at most five without a message from you; "
            "in print mode, let the run wait for its jobs",
            key="bash.wake_on_exit",
        ),
    ] = False


class WebSettings(Struct, frozen=True):
    """Web pages and web search; see docs/web.md."""

    search: Annotated[
        WebSearch,
        held(
            "web search: brave, searxng, tavily or exa, with a key; native: by the service of the model; auto: native, "
            "otherwise the first one with a key; off"
        ),
    ] = "auto"
    allow_private: Annotated[
        tuple[str, ...],
        held(
            'hosts in your network that may be fetched, as names, "*.name", addresses or networks such as '
            '"10.0.0.0/8"; "*": all'
        ),
    ] = ()
    robots: Annotated[bool, tighten("fetch only what robots.txt of a host allows")] = True


class McpSettings(Struct, frozen=True):
    """MCP; the servers are in tables of their own, see `cinch_tui.config.server_keys`."""

    startup_wait_s: Annotated[
        float, held("seconds that the first prompt waits for MCP servers that are still connecting", 0)
    ] = 3.0


class LspSettings(Struct, frozen=True):
    """Language servers; further ones are in tables of their own, see `cinch_tui.config.lsp_tables`."""

    enabled: Annotated[bool, held("use language servers that are installed: the tool lsp, errors after edits")] = True
    diagnostics_after_edits: Annotated[
        bool, held("report new errors after an edit; the first edit in a language starts its server")
    ] = True
    edit_wait_s: Annotated[
        float, held("seconds that an edit waits for new errors; later ones are reported after the next edit", 0)
    ] = 1.5
    disabled: Annotated[tuple[str, ...], Setting('language servers that are not used, such as "ruff"')] = ()
    idle_s: Annotated[float, held("seconds without use after which a server is stopped", 1)] = 600.0


class ApprovalSettings(Struct, frozen=True):
    mode: Annotated[
        ApprovalMode,
        tighten(
            "on: ask before every call; smart: do not ask before reading; edits: nor before changing files of the "
            "project; off: never ask",
            applies=AT_ONCE,
        ),
    ] = "smart"
    loosest_mode: Annotated[
        ApprovalMode, tighten("least strict approval mode that can be chosen, for administrators")
    ] = "off"
    headless: Annotated[
        HeadlessApproval,
        tighten(
            "calls that need approval in print mode: deny, or allow all but dangerous ones and protected paths",
        ),
    ] = "deny"


class PermissionSettings(Struct, frozen=True):
    """Permission rules; see docs/permissions.md."""

    allow: Annotated[
        tuple[str, ...], held('rules for calls that need no approval, such as "bash(make test:*)" or "edit(src/**)"')
    ] = ()
    ask: Annotated[tuple[str, ...], Setting("rules for calls that need approval in every mode")] = ()
    deny: Annotated[tuple[str, ...], Setting('rules for calls that never run, such as "read(secrets/**)"')] = ()
    import_claude: Annotated[
        bool,
        held("also use permissions of Claude Code: ~/.claude/settings.json, and .claude in a project that you trust"),
    ] = False
    managed_only: Annotated[bool, tighten("only managed rules may allow calls, for administrators")] = False
