"""What can be set, with its default, its bounds and its meaning.

The dataclasses are the whole truth: the configuration file, the environment and `config.example.toml` follow from them.
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
"""Before its folder is trusted, a project's file may: set it · not set it · set it, but only to a stricter value."""

T = TypeVar("T")


def setting(default: T, doc: str, *, minimum: float | None = None, guard: Guard = "open") -> T:
    """A field of a settings dataclass; `doc` is what the example file says about it."""
    return field(default=default, metadata={"doc": doc, "minimum": minimum, "guard": guard})


@dataclass(frozen=True, slots=True)
class ModelSettings:
    name: str = setting("", "provider/model; empty: the first provider that has a key", guard="held")
    base_url: str = setting("", "where that provider's API is, when not at its usual address", guard="held")
    thinking: ThinkingLevel = setting("off", "off, minimal, low, medium, high, extra-high", guard="held")
    max_tokens: int = setting(0, "longest reply in tokens; 0: as long as the model allows", minimum=0, guard="held")


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    fallback: tuple[str, ...] = setting(
        (), "models to ask in this order, as provider/model, when the chosen one fails for good", guard="held"
    )


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """Of one run. Zero means unlimited."""

    max_turns: int = setting(50, "replies of the model in one run; 0: no limit", minimum=0, guard="tighten")
    max_turns_headless: int = setting(80, "the same in print mode", minimum=0, guard="tighten")
    max_tokens: int = setting(0, "tokens read and written in one run; 0: no limit", minimum=0, guard="tighten")
    max_seconds: float = setting(0.0, "length of one run; 0: no limit", minimum=0, guard="tighten")
    max_cost_usd: float = setting(
        10.0, "cost of one run, where prices are known; 0: no limit", minimum=0, guard="tighten"
    )


@dataclass(frozen=True, slots=True)
class RetrySettings:
    max_retries: int = setting(3, "how often a failed request is sent again", minimum=0, guard="held")
    max_retry_after_s: float = setting(120.0, "longest Retry-After to honor, in seconds", minimum=0, guard="held")


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """Of prompts, at the services that keep them."""

    strategy: CacheName = setting(
        "auto", "what a service keeps of a prompt for the next one: auto: all; off: nothing; manual: as said below"
    )
    tools: bool = setting(default=True, doc="with manual: what the model is told of the tools")
    system: bool = setting(default=True, doc="with manual: the system prompt")
    messages: bool = setting(default=True, doc="with manual: the conversation")
    lifetime: Lifetime = setting("5m", "how long: 5m, or 1h, which costs more", guard="held")


@dataclass(frozen=True, slots=True)
class ToolSettings:
    concurrency: Concurrency = setting(
        "parallel", "calls of one reply: parallel, where none gets in another's way, or sequential"
    )
    batch_size: int = setting(0, "how many of them run at once, when parallel; 0: all", minimum=0)
    timeout_s: float = setting(0.0, "longest time of a call; 0: as long as the tool allows", minimum=0)
    max_result_chars: int = setting(
        30_000,
        "what is longer is cut for the model and kept whole in a file; 0: never cut",
        minimum=0,
        guard="tighten",
    )
    cache_entries: int = setting(100, "results kept so that the same call need not run again; 0: none", minimum=0)
    cache_ttl_rounds: int = setting(10, "for how many replies of the model they are kept", minimum=1)


@dataclass(frozen=True, slots=True)
class ApprovalSettings:
    mode: ApprovalMode = setting(
        "smart", "on: ask before every call; smart: not before reading; off: never ask", guard="tighten"
    )
    allow: tuple[str, ...] = setting(
        (), 'what needs no asking: "tool" or "tool:prefix", as "bash:make test"', guard="held"
    )


@dataclass(frozen=True, slots=True)
class PlanSettings:
    first: bool = setting(default=False, doc="start in plan mode: read only, until you accept a plan", guard="tighten")
    max_turns: int = setting(
        20,
        "turns of one run in plan mode, counted apart from limits.max_turns; 0: no limit",
        minimum=0,
        guard="tighten",
    )


@dataclass(frozen=True, slots=True)
class SteeringSettings:
    mode: SteeringMode = setting(
        "after_batch",
        "messages sent during a run: after_batch lets running tool calls finish; interrupt cancels them once one has",
    )
    queue: QueueMode = setting("one", "messages that wait to steer: one is heard at a time, or all")
    follow_up: QueueMode = setting("one", "the same for those that wait for the end of a run")


@dataclass(frozen=True, slots=True)
class AgentsSettings:
    """Of sub-agents."""

    max_depth: int = setting(2, "how deep sub-agents nest; 0: there are none", minimum=0, guard="held")
    max_concurrent: int = setting(5, "how many work at once; the others wait", minimum=1, guard="tighten")
    max_turns: int = setting(20, "replies of the model in one of them", minimum=1, guard="tighten")
    max_tokens: int = setting(
        0, "tokens that all of one run may use together; 0: no limit but that of the run", minimum=0, guard="tighten"
    )
    result_chars: int = setting(4_000, "how much of its last words is handed back; 0: all", minimum=0)


@dataclass(frozen=True, slots=True)
class UiSettings:
    theme: str = setting("auto", "colours of the app; auto: light or dark as the terminal is; /theme shows all")
    plain: bool = setting(default=False, doc="lines in place of the screen: for screen readers and dumb terminals")
    motion: Motion = setting("full", "reduced: nothing turns or glides; a word says that the agent works")
    status: tuple[StatusItem, ...] = setting(
        ("state", "plan", "approval", "queue", "note", "model", "tokens", "cost", "branch", "command", "context"),
        "what the status line shows, from left to right; context is always at its end",
    )
    status_command: str = setting(
        "", "a command that gets JSON and prints one line for the status line, after each turn", guard="held"
    )
    status_seconds: float = setting(5.0, "it runs no more often than this", minimum=1)
    title: bool = setting(default=True, doc="name the project and what the agent does in the title of the window")
    timestamps: bool = setting(default=False, doc="show at the right when things were said")
    images: Images = setting(
        "auto", "pictures: kitty, by its protocol; blocks, of half characters; off, a frame; auto: the best there is"
    )
    show_thinking: bool = setting(default=True, doc="show what a model thinks, where it tells")
    show_last_exchange: bool = setting(default=True, doc="on leaving, print the last prompt and reply")
    side_by_side: int = setting(
        160, "columns of the screen from which a diff stands side by side; 0: only by key", minimum=0
    )
    notify: tuple[CallKind, ...] = setting(
        ("auto",),
        "how you are called when you look elsewhere: auto (what the terminal knows), bell, osc9, osc777, osc99, "
        "desktop; off: never",
    )
    notify_after_s: float = setting(10.0, "you are called at the end of a run that took so many seconds", minimum=0)
    vim: bool = setting(default=False, doc="the keys of vi edit the prompt; /vim turns that on and off")
    editor: str = setting("", "command for /editor; empty: $EDITOR, $VISUAL, or vi", guard="held")
    editor_sends: bool = setting(default=False, doc="send what was saved in the editor at once", guard="held")


@dataclass(frozen=True, slots=True)
class Settings:
    model: ModelSettings = field(default_factory=ModelSettings)
    providers: ProviderSettings = field(default_factory=ProviderSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    retry: RetrySettings = field(default_factory=RetrySettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    approval: ApprovalSettings = field(default_factory=ApprovalSettings)
    plan: PlanSettings = field(default_factory=PlanSettings)
    steering: SteeringSettings = field(default_factory=SteeringSettings)
    agents: AgentsSettings = field(default_factory=AgentsSettings)
    ui: UiSettings = field(default_factory=UiSettings)
    # Open: whatever texts a file puts under the name of the table.
    keys: dict[str, str] = field(
        default_factory=dict[str, str],
        metadata={
            "doc": 'keys for an id that "cinch keys --list" and docs/keys.md name, with commas between; "none": no key',
            "example": '"chat.search" = "Ctrl+F, F12"',
        },
    )
