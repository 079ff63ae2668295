"""All settings with their defaults, bounds and descriptions.

The structs are the single source: the configuration file, the environment variables and `config.example.toml` are
derived from them.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from harness.thinking_level import ThinkingLevel

Value: TypeAlias = "str | int | float | bool | tuple[str, ...]"
ApprovalMode: TypeAlias = Literal["on", "smart", "edits", "off"]
HeadlessApproval: TypeAlias = Literal["deny", "allow"]
Concurrency: TypeAlias = Literal["parallel", "sequential"]
SteeringMode: TypeAlias = Literal["interrupt", "after_batch"]
QueueMode: TypeAlias = Literal["one", "all"]
CacheName: TypeAlias = Literal["auto", "off", "manual"]
Motion: TypeAlias = Literal["full", "reduced"]
StatusItem: TypeAlias = Literal[
    "state", "plan", "approval", "queue", "note", "model", "tokens", "cost", "branch", "command", "context"
]
Images: TypeAlias = Literal["auto", "kitty", "blocks", "off"]
CallKind: TypeAlias = Literal["auto", "bell", "osc9", "osc777", "osc99", "desktop", "off"]
Lifetime: TypeAlias = Literal["5m", "1h"]
Compression: TypeAlias = Literal["off", "minimal", "aggressive"]
WebSearch: TypeAlias = Literal["auto", "native", "brave", "searxng", "tavily", "exa", "off"]
Guard: TypeAlias = Literal["open", "held", "tighten"]
"""A project file in an untrusted folder may set the value ("open"), not set it ("held"), or only make it stricter
("tighten")."""


EffectTime: TypeAlias = Literal["at once", "from the next prompt", "from the next start"]
AT_ONCE: EffectTime = "at once"
NEXT_PROMPT: EffectTime = "from the next prompt"
NEXT_START: EffectTime = "from the next start"


class Setting(NamedTuple):
    """Metadata of a setting."""

    doc: str
    """Description in the example file."""
    minimum: float | None = None
    guard: Guard = "open"
    applies: EffectTime | None = None
    """The time when a change applies; None: that of the table."""
    key: str = ""
    """Key in the table, dotted for one in a table of its own; empty: the name of the field."""
    maximum: float | None = None


_held = partial(Setting, guard="held")
_tighten = partial(Setting, guard="tighten")
_share = partial(Setting, minimum=0, maximum=1)


class OpenTable(NamedTuple):
    """Metadata of a table with free keys and text values."""

    doc: str
    """Description in the example file."""
    example: str


class ModelSettings(Struct, frozen=True):
    name: Annotated[str, _held("provider/model; empty: the first provider with a key")] = ""
    base_url: Annotated[str, _held("API base URL; empty: the provider's default")] = ""
    thinking: Annotated[
        ThinkingLevel, _held("thinking level: off, minimal, low, medium, high, extra-high", applies=AT_ONCE)
    ] = "off"
    max_tokens: Annotated[
        int, _held("maximum length of a reply, in tokens; 0: the model's maximum", 0, applies=NEXT_PROMPT)
    ] = 0


class ProviderSettings(Struct, frozen=True):
    fallback: Annotated[
        tuple[str, ...],
        _held("fallback models as provider/model, tried in order when the chosen model fails permanently"),
    ] = ()


class LimitSettings(Struct, frozen=True):
    """Limits of one run; 0 means unlimited."""

    max_turns: Annotated[int, _tighten("turns in one run; 0: unlimited", 0)] = 50
    max_turns_headless: Annotated[int, _tighten("turns in one run in print mode; 0: unlimited", 0)] = 80
    max_tokens: Annotated[int, _tighten("input and output tokens in one run; 0: unlimited", 0)] = 0
    max_duration_s: Annotated[float, _tighten("duration of one run, in seconds; 0: unlimited", 0)] = 0.0
    max_cost_usd: Annotated[
        float, _tighten("cost of one run in US dollars, for models with known prices; 0: unlimited", 0)
    ] = 10.0
    loop_detection: Annotated[
        bool, _tighten("warn the model about calls that it repeats in vain, then block them, then stop")
    ] = True


class RetrySettings(Struct, frozen=True):
    max_retries: Annotated[int, _held("retries of a failed request", 0)] = 3
    max_retry_after_s: Annotated[float, _held("longest Retry-After to honor, in seconds", 0)] = 120.0


class PromptCacheSettings(Struct, frozen=True):
    """Prompt caching by providers."""

    strategy: Annotated[
        CacheName,
        Setting(
            "what to mark for the provider's prompt cache: auto: everything; off: nothing; manual: the parts below"
        ),
    ] = "auto"
    tools: Annotated[bool, Setting("with manual: the tool definitions")] = True
    system: Annotated[bool, Setting("with manual: the system prompt")] = True
    messages: Annotated[bool, Setting("with manual: the conversation")] = True
    lifetime: Annotated[Lifetime, _held("cache lifetime: 5m, or 1h, which costs more to write")] = "5m"


class ContextSettings(Struct, frozen=True):
    """Context of a long conversation, as models see it. Shares, from 0 to 1, are of the window without the reserve."""

    model: Annotated[
        str,
        _held("model that summarizes older messages, as provider/model; empty: the model in use", applies=NEXT_START),
    ] = ""
    window: Annotated[int, Setting("size of the context window, in tokens; 0: that of the model", 0)] = 0
    reserve: Annotated[
        int, Setting("tokens reserved for the reply; 0: its maximum length, but at most 20 % of the window", 0)
    ] = 0
    advise_at: Annotated[float, _share("share from which the model is advised to save tokens; 0: never")] = 0.60
    warn_at: Annotated[
        float, _share("share from which the model is warned that old tool output will be cleared; 0: never")
    ] = 0.80
    critical_at: Annotated[float, _share("share from which you are warned; 0: never")] = 0.95
    evict_at: Annotated[
        float, _share("share from which old tool output is cleared; the model can recall it; 0: never")
    ] = 0.80
    evict_to: Annotated[float, _share("share that clearing old tool output reaches if possible")] = 0.25
    evict_min_age: Annotated[int, Setting("turns for which tool output is not cleared", 0)] = 3
    compact_at: Annotated[
        float, _share("share from which a model summarizes older messages; 0: only with /compact")
    ] = 0.90
    compact_cooldown: Annotated[int, Setting("turns without another automatic summary after one", 0)] = 3
    compact_failures: Annotated[
        int, _held("failed summaries after which the oldest messages are left out instead; 0: unlimited", 0)
    ] = 3
    summary_tokens: Annotated[int, Setting("maximum length of a summary's prose, in tokens", 1)] = 2048
    summary_in_context: Annotated[
        bool,
        Setting(
            "the model in use is asked for a summary at the end of the conversation, which the prompt cache serves; "
            "false: by a request with its text"
        ),
    ] = True
    prompts_tokens: Annotated[
        int, Setting("tokens of your messages that a summary quotes word for word; 0: none", 0)
    ] = 4000
    handoff_at: Annotated[
        float,
        _held(
            "share from which the end of a run starts a new session with a brief of this one; 0: never",
            minimum=0,
            maximum=1,
        ),
    ] = 0.0
    keep_first: Annotated[int, Setting("first messages that are never summarized", 0)] = 1
    keep_recent: Annotated[int, Setting("latest messages that are never summarized", 1)] = 10
    tool_output_lines: Annotated[
        int, Setting("lines that older tool output is truncated to before messages are left out; 0: all", 0)
    ] = 50


class ToolSettings(Struct, frozen=True):
    enabled: Annotated[
        tuple[str, ...],
        _held(
            'tools to offer, as names or globs such as "mcp__github__*"; empty: all. Optional tools need their name: '
            "prun, prun_with_memo, revert_to_state",
            applies=NEXT_START,
        ),
    ] = ()
    disabled: Annotated[
        tuple[str, ...], Setting("tools that are neither offered nor run, as names or globs", applies=NEXT_START)
    ] = ()
    concurrency: Annotated[
        Concurrency, Setting("tool calls of one reply: parallel, as far as they do not conflict, or sequential")
    ] = "parallel"
    batch_size: Annotated[int, Setting("how many run at the same time with parallel; 0: all", 0)] = 0
    timeout_s: Annotated[float, Setting("time limit of a call, in seconds; 0: the tool's own limit", 0)] = 0.0
    max_result_chars: Annotated[
        int, _tighten("longer results are truncated for the model and saved in full to a file; 0: never truncated", 0)
    ] = 30000
    cache_entries: Annotated[int, Setting("results cached for identical calls; 0: no cache", 0, applies=NEXT_START)] = (
        100
    )
    cache_ttl_turns: Annotated[int, Setting("how long a cached result is valid, in turns", 1, applies=NEXT_START)] = 10
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


class WebSettings(Struct, frozen=True):
    """Web pages and web search; see docs/web.md."""

    search: Annotated[
        WebSearch,
        _held(
            "web search: brave, searxng, tavily or exa, with a key; native: by the service of the model; auto: native, "
            "otherwise the first one with a key; off"
        ),
    ] = "auto"
    allow_private: Annotated[
        tuple[str, ...],
        _held(
            'hosts in your network that may be fetched, as names, "*.name", addresses or networks such as '
            '"10.0.0.0/8"; "*": all'
        ),
    ] = ()
    robots: Annotated[bool, _tighten("fetch only what robots.txt of a host allows")] = True


class ApprovalSettings(Struct, frozen=True):
    mode: Annotated[
        ApprovalMode,
        _tighten(
            "on: ask before every call; smart: do not ask before reading; edits: nor before changing files of the "
            "project; off: never ask",
            applies=AT_ONCE,
        ),
    ] = "smart"
    loosest_mode: Annotated[
        ApprovalMode, _tighten("least strict approval mode that can be chosen, for administrators")
    ] = "off"
    headless: Annotated[
        HeadlessApproval,
        _tighten(
            "calls that need approval in print mode: deny, or allow all but dangerous ones and protected paths",
        ),
    ] = "deny"


class PermissionSettings(Struct, frozen=True):
    """Permission rules; see docs/permissions.md."""

    allow: Annotated[
        tuple[str, ...], _held('rules for calls that need no approval, such as "bash(make test:*)" or "edit(src/**)"')
    ] = ()
    ask: Annotated[tuple[str, ...], Setting("rules for calls that need approval in every mode")] = ()
    deny: Annotated[tuple[str, ...], Setting('rules for calls that never run, such as "read(secrets/**)"')] = ()
    import_claude: Annotated[
        bool,
        _held("also use permissions of Claude Code: ~/.claude/settings.json, and .claude in a project that you trust"),
    ] = False
    managed_only: Annotated[bool, _tighten("only managed rules may allow calls, for administrators")] = False


class PlanSettings(Struct, frozen=True):
    enabled: Annotated[bool, _tighten("start in plan mode: read-only until you accept a plan")] = False
    max_turns: Annotated[
        int, _tighten("turns of one run in plan mode, counted apart from limits.max_turns; 0: unlimited", 0)
    ] = 20


class SteeringSettings(Struct, frozen=True):
    mode: Annotated[
        SteeringMode,
        Setting(
            "messages sent during a run: after_batch: deliver when the running tool calls have finished; "
            "interrupt: cancel the others as soon as one has finished"
        ),
    ] = "after_batch"
    queue: Annotated[QueueMode, Setting("steering messages delivered at a time: one or all")] = "one"
    follow_up: Annotated[QueueMode, Setting("follow-up messages delivered at the end of a run: one or all")] = "one"


class SubagentSettings(Struct, frozen=True):
    max_depth: Annotated[int, _held("nesting depth of subagents; 0: no subagents", 0)] = 2
    max_concurrent: Annotated[int, _tighten("subagents that run at the same time", 1)] = 5
    max_turns: Annotated[int, _tighten("turns of one subagent", 1)] = 20
    max_tokens: Annotated[
        int, _tighten("tokens that all subagents of a run may use together; 0: only the run's limit", 0)
    ] = 0
    result_chars: Annotated[int, Setting("characters of a subagent's report returned to the agent; 0: all", 0)] = 4000


class McpSettings(Struct, frozen=True):
    """MCP; the servers are in tables of their own, see `cinch_tui.config.server_keys`."""

    startup_wait_s: Annotated[
        float, _held("seconds that the first prompt waits for MCP servers that are still connecting", 0)
    ] = 3.0


class SessionSettings(Struct, frozen=True):
    titles: Annotated[
        bool, _held("write titles of new sessions: one call to a cheap model after the first exchange")
    ] = True
    title_model: Annotated[
        str, _held("model for titles as provider/model; empty: the cheap model of the provider in use, if known")
    ] = ""


class UiSettings(Struct, frozen=True):
    theme: Annotated[str, Setting("color theme; auto: light or dark to match the terminal; /theme lists all")] = "auto"
    plain: Annotated[
        bool,
        Setting(
            "plain line output instead of the full-screen app, for screen readers and dumb terminals",
            applies=NEXT_START,
        ),
    ] = False
    motion: Annotated[Motion, Setting("full, or reduced: no animations")] = "full"
    status: Annotated[
        tuple[StatusItem, ...], Setting("items of the status bar, from left to right; context is always last")
    ] = ("state", "plan", "approval", "queue", "note", "model", "tokens", "cost", "branch", "command", "context")
    status_command: Annotated[
        str, _held("command for the status bar: receives JSON after each turn and prints one line")
    ] = ""
    status_interval_s: Annotated[float, Setting("minimum time between two runs of it, in seconds", 1)] = 5.0
    title: Annotated[
        bool, Setting("show the project and the agent's state in the window title", applies=NEXT_START)
    ] = True
    timestamps: Annotated[bool, Setting("show the time of each message on the right")] = False
    images: Annotated[
        Images,
        Setting(
            "images: kitty: kitty graphics protocol; blocks: half-block characters; "
            "off: a placeholder; auto: the best the terminal supports",
            applies=NEXT_START,
        ),
    ] = "auto"
    show_thinking: Annotated[bool, Setting("show the model's thinking, where available")] = True
    show_last_exchange: Annotated[bool, Setting("print the last prompt and reply on exit")] = True
    side_by_side_min_columns: Annotated[
        int, Setting("terminal width from which diffs are shown side by side, in columns; 0: only on key press", 0)
    ] = 160
    notify: Annotated[
        tuple[CallKind, ...],
        Setting(
            "notifications while the terminal is unfocused: auto (what the terminal supports), "
            "bell, osc9, osc777, osc99, desktop; off: none",
            applies=NEXT_START,
        ),
    ] = ("auto",)
    notify_after_s: Annotated[
        float, Setting("notify at the end of a run that took at least this long, in seconds", 0, applies=NEXT_START)
    ] = 10.0
    vim: Annotated[bool, Setting("vi key bindings in the prompt; /vim toggles them")] = False
    editor: Annotated[str, _held("command for /editor; empty: $EDITOR, $VISUAL, or vi")] = ""
    editor_sends: Annotated[
        bool, _held("send the prompt when the editor exits with saved changes", applies=NEXT_START)
    ] = False


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
    mcp: Annotated[McpSettings, NEXT_START] = McpSettings()
    sessions: Annotated[SessionSettings, NEXT_PROMPT] = SessionSettings()
    ui: Annotated[UiSettings, AT_ONCE] = UiSettings()
    keys: Annotated[
        dict[str, str],
        OpenTable(
            'keys by id, separated by commas; "cinch keys --list" and docs/keys.md list the ids; "none": no key',
            '"chat.search" = "Ctrl+F, F12"',
        ),
    ] = {}
