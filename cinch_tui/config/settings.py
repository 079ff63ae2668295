"""All settings with their defaults, bounds and descriptions.

The dataclasses are the single source: the configuration file, the environment variables and `config.example.toml` are
derived from them.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias, TypeVar

from harness.lazy_dataclass import dataclass
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

T = TypeVar("T")


def setting(default: T, doc: str, *, minimum: float | None = None, guard: Guard = "open") -> T:
    """Return a field of a settings dataclass; `doc` is its description in the example file."""
    return field(default=default, metadata={"doc": doc, "minimum": minimum, "guard": guard})


@dataclass(frozen=True, slots=True)
class ModelSettings:
    name: str = setting("", "provider/model; empty: the first provider with a key", guard="held")
    base_url: str = setting("", "API base URL; empty: the provider's default", guard="held")
    thinking: ThinkingLevel = setting(
        "off", "thinking level: off, minimal, low, medium, high, extra-high", guard="held"
    )
    max_tokens: int = setting(
        0, "maximum length of a reply, in tokens; 0: the model's maximum", minimum=0, guard="held"
    )


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    fallback: tuple[str, ...] = setting(
        (), "fallback models as provider/model, tried in order when the chosen model fails permanently", guard="held"
    )


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """Limits of one run; 0 means unlimited."""

    max_turns: int = setting(50, "turns in one run; 0: unlimited", minimum=0, guard="tighten")
    max_turns_headless: int = setting(80, "turns in one run in print mode; 0: unlimited", minimum=0, guard="tighten")
    max_tokens: int = setting(0, "input and output tokens in one run; 0: unlimited", minimum=0, guard="tighten")
    max_duration_s: float = setting(0.0, "duration of one run, in seconds; 0: unlimited", minimum=0, guard="tighten")
    max_cost_usd: float = setting(
        10.0,
        "cost of one run in US dollars, for models with known prices; 0: unlimited",
        minimum=0,
        guard="tighten",
    )


@dataclass(frozen=True, slots=True)
class RetrySettings:
    max_retries: int = setting(3, "retries of a failed request", minimum=0, guard="held")
    max_retry_after_s: float = setting(120.0, "longest Retry-After to honor, in seconds", minimum=0, guard="held")


@dataclass(frozen=True, slots=True)
class PromptCacheSettings:
    """Prompt caching by providers."""

    strategy: CacheName = setting(
        "auto", "what to mark for the provider's prompt cache: auto: everything; off: nothing; manual: the parts below"
    )
    tools: bool = setting(default=True, doc="with manual: the tool definitions")
    system: bool = setting(default=True, doc="with manual: the system prompt")
    messages: bool = setting(default=True, doc="with manual: the conversation")
    lifetime: Lifetime = setting("5m", "cache lifetime: 5m, or 1h, which costs more to write", guard="held")


@dataclass(frozen=True, slots=True)
class ToolSettings:
    concurrency: Concurrency = setting(
        "parallel", "tool calls of one reply: parallel, as far as they do not conflict, or sequential"
    )
    batch_size: int = setting(0, "how many run at the same time with parallel; 0: all", minimum=0)
    timeout_s: float = setting(0.0, "time limit of a call, in seconds; 0: the tool's own limit", minimum=0)
    max_result_chars: int = setting(
        30_000,
        "longer results are truncated for the model and saved in full to a file; 0: never truncated",
        minimum=0,
        guard="tighten",
    )
    cache_entries: int = setting(100, "results cached for identical calls; 0: no cache", minimum=0)
    cache_ttl_turns: int = setting(10, "how long a cached result is valid, in turns", minimum=1)


@dataclass(frozen=True, slots=True)
class ApprovalSettings:
    mode: ApprovalMode = setting(
        "smart", "on: ask before every call; smart: do not ask before reading; off: never ask", guard="tighten"
    )
    allow: tuple[str, ...] = setting(
        (), 'calls to allow without asking: "tool" or "tool:prefix", such as "bash:make test"', guard="held"
    )


@dataclass(frozen=True, slots=True)
class PlanSettings:
    enabled: bool = setting(default=False, doc="start in plan mode: read-only until you accept a plan", guard="tighten")
    max_turns: int = setting(
        20,
        "turns of one run in plan mode, counted apart from limits.max_turns; 0: unlimited",
        minimum=0,
        guard="tighten",
    )


@dataclass(frozen=True, slots=True)
class SteeringSettings:
    mode: SteeringMode = setting(
        "after_batch",
        "messages sent during a run: after_batch: deliver when the running tool calls have finished; "
        "interrupt: cancel the others as soon as one has finished",
    )
    queue: QueueMode = setting("one", "steering messages delivered at a time: one or all")
    follow_up: QueueMode = setting("one", "follow-up messages delivered at the end of a run: one or all")


@dataclass(frozen=True, slots=True)
class SubagentSettings:
    max_depth: int = setting(2, "nesting depth of subagents; 0: no subagents", minimum=0, guard="held")
    max_concurrent: int = setting(5, "subagents that run at the same time", minimum=1, guard="tighten")
    max_turns: int = setting(20, "turns of one subagent", minimum=1, guard="tighten")
    max_tokens: int = setting(
        0, "tokens that all subagents of a run may use together; 0: only the run's limit", minimum=0, guard="tighten"
    )
    result_chars: int = setting(4_000, "characters of a subagent's report returned to the agent; 0: all", minimum=0)


@dataclass(frozen=True, slots=True)
class UiSettings:
    theme: str = setting("auto", "color theme; auto: light or dark to match the terminal; /theme lists all")
    plain: bool = setting(
        default=False, doc="plain line output instead of the full-screen app, for screen readers and dumb terminals"
    )
    motion: Motion = setting("full", "full, or reduced: no animations")
    status: tuple[StatusItem, ...] = setting(
        ("state", "plan", "approval", "queue", "note", "model", "tokens", "cost", "branch", "command", "context"),
        "items of the status bar, from left to right; context is always last",
    )
    status_command: str = setting(
        "", "command for the status bar: receives JSON after each turn and prints one line", guard="held"
    )
    status_interval_s: float = setting(5.0, "minimum time between two runs of it, in seconds", minimum=1)
    title: bool = setting(default=True, doc="show the project and the agent's state in the window title")
    timestamps: bool = setting(default=False, doc="show the time of each message on the right")
    images: Images = setting(
        "auto",
        "images: kitty: kitty graphics protocol; blocks: half-block characters; off: a placeholder; "
        "auto: the best the terminal supports",
    )
    show_thinking: bool = setting(default=True, doc="show the model's thinking, where available")
    show_last_exchange: bool = setting(default=True, doc="print the last prompt and reply on exit")
    side_by_side_min_columns: int = setting(
        160, "terminal width from which diffs are shown side by side, in columns; 0: only on key press", minimum=0
    )
    notify: tuple[CallKind, ...] = setting(
        ("auto",),
        "notifications while the terminal is unfocused: auto (what the terminal supports), bell, osc9, osc777, osc99, "
        "desktop; off: none",
    )
    notify_after_s: float = setting(
        10.0, "notify at the end of a run that took at least this long, in seconds", minimum=0
    )
    vim: bool = setting(default=False, doc="vi key bindings in the prompt; /vim toggles them")
    editor: str = setting("", "command for /editor; empty: $EDITOR, $VISUAL, or vi", guard="held")
    editor_sends: bool = setting(
        default=False, doc="send the prompt when the editor exits with saved changes", guard="held"
    )


@dataclass(frozen=True, slots=True)
class Settings:
    model: ModelSettings = field(default_factory=ModelSettings)
    providers: ProviderSettings = field(default_factory=ProviderSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    retry: RetrySettings = field(default_factory=RetrySettings)
    prompt_cache: PromptCacheSettings = field(default_factory=PromptCacheSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    approval: ApprovalSettings = field(default_factory=ApprovalSettings)
    plan: PlanSettings = field(default_factory=PlanSettings)
    steering: SteeringSettings = field(default_factory=SteeringSettings)
    subagents: SubagentSettings = field(default_factory=SubagentSettings)
    ui: UiSettings = field(default_factory=UiSettings)
    # An open table: any key with a text value.
    keys: dict[str, str] = field(
        default_factory=dict[str, str],
        metadata={
            "doc": 'keys by id, separated by commas; "cinch keys --list" and docs/keys.md list the ids; "none": no key',
            "example": '"chat.search" = "Ctrl+F, F12"',
        },
    )
