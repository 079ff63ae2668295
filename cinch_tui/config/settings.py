"""All settings with their defaults, bounds and descriptions.

The structs are the single source: the configuration file, the environment variables and `config.example.toml` are
derived from them.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from harness.thinking_level import ThinkingLevel

Value: TypeAlias = "str | int | float | bool | tuple[str, ...]"
ApprovalMode: TypeAlias = Literal["on", "smart", "off"]
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
Guard: TypeAlias = Literal["open", "held", "tighten"]
"""A project file in an untrusted folder may set the value ("open"), not set it ("held"), or only make it stricter
("tighten")."""


class Setting(NamedTuple):
    """Metadata of a setting."""

    doc: str
    """Description in the example file."""
    minimum: float | None = None
    guard: Guard = "open"


class OpenTable(NamedTuple):
    """Metadata of a table with free keys and text values."""

    doc: str
    """Description in the example file."""
    example: str


class ModelSettings(Struct, frozen=True):
    name: Annotated[str, Setting("provider/model; empty: the first provider with a key", guard="held")] = ""
    base_url: Annotated[str, Setting("API base URL; empty: the provider's default", guard="held")] = ""
    thinking: Annotated[
        ThinkingLevel, Setting("thinking level: off, minimal, low, medium, high, extra-high", guard="held")
    ] = "off"
    max_tokens: Annotated[
        int, Setting("maximum length of a reply, in tokens; 0: the model's maximum", minimum=0, guard="held")
    ] = 0


class ProviderSettings(Struct, frozen=True):
    fallback: Annotated[
        tuple[str, ...],
        Setting(
            "fallback models as provider/model, tried in order when the chosen model fails permanently", guard="held"
        ),
    ] = ()


class LimitSettings(Struct, frozen=True):
    """Limits of one run; 0 means unlimited."""

    max_turns: Annotated[int, Setting("turns in one run; 0: unlimited", minimum=0, guard="tighten")] = 50
    max_turns_headless: Annotated[
        int, Setting("turns in one run in print mode; 0: unlimited", minimum=0, guard="tighten")
    ] = 80
    max_tokens: Annotated[
        int, Setting("input and output tokens in one run; 0: unlimited", minimum=0, guard="tighten")
    ] = 0
    max_duration_s: Annotated[
        float, Setting("duration of one run, in seconds; 0: unlimited", minimum=0, guard="tighten")
    ] = 0.0
    max_cost_usd: Annotated[
        float,
        Setting(
            "cost of one run in US dollars, for models with known prices; 0: unlimited", minimum=0, guard="tighten"
        ),
    ] = 10.0


class RetrySettings(Struct, frozen=True):
    max_retries: Annotated[int, Setting("retries of a failed request", minimum=0, guard="held")] = 3
    max_retry_after_s: Annotated[
        float, Setting("longest Retry-After to honor, in seconds", minimum=0, guard="held")
    ] = 120.0


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
    lifetime: Annotated[Lifetime, Setting("cache lifetime: 5m, or 1h, which costs more to write", guard="held")] = "5m"


class ToolSettings(Struct, frozen=True):
    concurrency: Annotated[
        Concurrency, Setting("tool calls of one reply: parallel, as far as they do not conflict, or sequential")
    ] = "parallel"
    batch_size: Annotated[int, Setting("how many run at the same time with parallel; 0: all", minimum=0)] = 0
    timeout_s: Annotated[float, Setting("time limit of a call, in seconds; 0: the tool's own limit", minimum=0)] = 0.0
    max_result_chars: Annotated[
        int,
        Setting(
            "longer results are truncated for the model and saved in full to a file; 0: never truncated",
            minimum=0,
            guard="tighten",
        ),
    ] = 30000
    cache_entries: Annotated[int, Setting("results cached for identical calls; 0: no cache", minimum=0)] = 100
    cache_ttl_turns: Annotated[int, Setting("how long a cached result is valid, in turns", minimum=1)] = 10


class ApprovalSettings(Struct, frozen=True):
    mode: Annotated[
        ApprovalMode,
        Setting("on: ask before every call; smart: do not ask before reading; off: never ask", guard="tighten"),
    ] = "smart"
    allow: Annotated[
        tuple[str, ...],
        Setting('calls to allow without asking: "tool" or "tool:prefix", such as "bash:make test"', guard="held"),
    ] = ()


class PlanSettings(Struct, frozen=True):
    enabled: Annotated[bool, Setting("start in plan mode: read-only until you accept a plan", guard="tighten")] = False
    max_turns: Annotated[
        int,
        Setting(
            "turns of one run in plan mode, counted apart from limits.max_turns; 0: unlimited",
            minimum=0,
            guard="tighten",
        ),
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
    max_depth: Annotated[int, Setting("nesting depth of subagents; 0: no subagents", minimum=0, guard="held")] = 2
    max_concurrent: Annotated[int, Setting("subagents that run at the same time", minimum=1, guard="tighten")] = 5
    max_turns: Annotated[int, Setting("turns of one subagent", minimum=1, guard="tighten")] = 20
    max_tokens: Annotated[
        int,
        Setting(
            "tokens that all subagents of a run may use together; 0: only the run's limit", minimum=0, guard="tighten"
        ),
    ] = 0
    result_chars: Annotated[
        int, Setting("characters of a subagent's report returned to the agent; 0: all", minimum=0)
    ] = 4000


class UiSettings(Struct, frozen=True):
    theme: Annotated[str, Setting("color theme; auto: light or dark to match the terminal; /theme lists all")] = "auto"
    plain: Annotated[
        bool, Setting("plain line output instead of the full-screen app, for screen readers and dumb terminals")
    ] = False
    motion: Annotated[Motion, Setting("full, or reduced: no animations")] = "full"
    status: Annotated[
        tuple[StatusItem, ...], Setting("items of the status bar, from left to right; context is always last")
    ] = ("state", "plan", "approval", "queue", "note", "model", "tokens", "cost", "branch", "command", "context")
    status_command: Annotated[
        str, Setting("command for the status bar: receives JSON after each turn and prints one line", guard="held")
    ] = ""
    status_interval_s: Annotated[float, Setting("minimum time between two runs of it, in seconds", minimum=1)] = 5.0
    title: Annotated[bool, Setting("show the project and the agent's state in the window title")] = True
    timestamps: Annotated[bool, Setting("show the time of each message on the right")] = False
    images: Annotated[
        Images,
        Setting(
            "images: kitty: kitty graphics protocol; blocks: half-block characters; "
            "off: a placeholder; auto: the best the terminal supports"
        ),
    ] = "auto"
    show_thinking: Annotated[bool, Setting("show the model's thinking, where available")] = True
    show_last_exchange: Annotated[bool, Setting("print the last prompt and reply on exit")] = True
    side_by_side_min_columns: Annotated[
        int,
        Setting("terminal width from which diffs are shown side by side, in columns; 0: only on key press", minimum=0),
    ] = 160
    notify: Annotated[
        tuple[CallKind, ...],
        Setting(
            "notifications while the terminal is unfocused: auto (what the terminal supports), "
            "bell, osc9, osc777, osc99, desktop; off: none"
        ),
    ] = ("auto",)
    notify_after_s: Annotated[
        float, Setting("notify at the end of a run that took at least this long, in seconds", minimum=0)
    ] = 10.0
    vim: Annotated[bool, Setting("vi key bindings in the prompt; /vim toggles them")] = False
    editor: Annotated[str, Setting("command for /editor; empty: $EDITOR, $VISUAL, or vi", guard="held")] = ""
    editor_sends: Annotated[bool, Setting("send the prompt when the editor exits with saved changes", guard="held")] = (
        False
    )


class Settings(Struct, frozen=True):
    model: ModelSettings = ModelSettings()
    providers: ProviderSettings = ProviderSettings()
    limits: LimitSettings = LimitSettings()
    retry: RetrySettings = RetrySettings()
    prompt_cache: PromptCacheSettings = PromptCacheSettings()
    tools: ToolSettings = ToolSettings()
    approval: ApprovalSettings = ApprovalSettings()
    plan: PlanSettings = PlanSettings()
    steering: SteeringSettings = SteeringSettings()
    subagents: SubagentSettings = SubagentSettings()
    ui: UiSettings = UiSettings()
    keys: Annotated[
        dict[str, str],
        OpenTable(
            'keys by id, separated by commas; "cinch keys --list" and docs/keys.md list the ids; "none": no key',
            '"chat.search" = "Ctrl+F, F12"',
        ),
    ] = {}
