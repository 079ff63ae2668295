"""What can be set, with its default, its bounds and its meaning.

The dataclasses are the whole truth: the configuration file, the environment and `config.example.toml` follow from them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import isfinite
from typing import Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from harness.thinking import ThinkingLevel

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
    thinking: ThinkingLevel = setting("off", "off, minimal, low, medium, high, extra-high")
    max_tokens: int = setting(0, "longest reply in tokens; 0: as long as the model allows", minimum=0)


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
    max_retries: int = setting(3, "how often a failed request is sent again", minimum=0)
    max_retry_after_s: float = setting(120.0, "longest wait that a service may ask for", minimum=0)


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """Of prompts, at the services that keep them."""

    strategy: CacheName = setting(
        "auto", "what a service keeps of a prompt for the next one: auto: all; off: nothing; manual: as said below"
    )
    tools: bool = setting(default=True, doc="with manual: what the model is told of the tools")
    system: bool = setting(default=True, doc="with manual: the system prompt")
    messages: bool = setting(default=True, doc="with manual: the conversation")
    lifetime: Lifetime = setting("5m", "how long: 5m, or 1h, which costs more")


@dataclass(frozen=True, slots=True)
class ToolSettings:
    concurrency: Concurrency = setting(
        "parallel", "calls of one reply: parallel, where none gets in another's way, or sequential"
    )
    batch_size: int = setting(0, "how many of them run at once, when parallel; 0: all", minimum=0)
    timeout_s: float = setting(0.0, "longest time of a call; 0: as long as the tool allows", minimum=0)
    max_result_chars: int = setting(
        30_000, "what is longer is cut for the model and kept whole in a file; 0: never cut", minimum=0
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


@dataclass(frozen=True, slots=True)
class SteeringSettings:
    mode: SteeringMode = setting(
        "interrupt", "what is said meanwhile: interrupt stops running calls, after_batch lets them finish"
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
    show_thinking: bool = setting(default=True, doc="show what a model thinks, where it tells")
    show_last_exchange: bool = setting(default=True, doc="on leaving, print the last prompt and reply")
    editor: str = setting("", "command for /editor; empty: $VISUAL, $EDITOR, or vi", guard="held")


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


@dataclass(frozen=True, slots=True)
class Key:
    """One setting by its dotted name, such as `limits.max_turns`."""

    name: str
    kind: type
    default: Value
    doc: str
    guard: Guard
    choices: tuple[str, ...] = ()
    minimum: float | None = None

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "CINCH_" + self.name.replace(".", "_").upper()

    def check(self, value: object) -> Value:
        """The value as this key holds it.

        Raises:
            ValueError: it is of another kind or out of bounds; the text says what would fit.
        """
        checked = self._of_kind(value)
        chosen = checked if isinstance(checked, tuple) else (checked,)
        if self.choices and any(choice not in self.choices for choice in chosen):
            several = "be made of" if isinstance(checked, tuple) else "be one of"
            raise ValueError(f"must {several} {', '.join(self.choices)}")
        if self.minimum is not None and isinstance(checked, int | float) and checked < self.minimum:
            raise ValueError(f"must be {self.minimum:g} or more")
        return checked

    def parse(self, text: str) -> Value:
        """The value that a text stands for, as in an environment variable; a list is written with commas.

        Raises:
            ValueError: as `check`.
        """
        return self.check(_parsed(self.kind, text.strip()))

    def allows_untrusted(self, value: Value, below: Value) -> bool:
        """Whether an untrusted file may set this value where it would be `below` without it."""
        match self.guard:
            case "open":
                return True
            case "held":
                return False
            case "tighten":
                return _is_as_strict(value, below)

    def _of_kind(self, value: object) -> Value:
        if self.kind is tuple:
            return _texts(value)
        if self.kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        # NaN and infinity pass every comparison with a limit, or none.
        is_odd = isinstance(value, float) and not isfinite(value)
        if isinstance(value, str | int | float | bool) and type(value) is self.kind and not is_odd:
            return value
        raise ValueError(f"must be {KIND_NAMES[self.kind]}")


# From strict to loose.
STRICTNESS: tuple[Value, ...] = ("on", "smart", "off")
SWITCHES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
KIND_NAMES: dict[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple: "a list of texts",
}


@cache
def keys() -> dict[str, Key]:
    """Every key, in the order of the example file."""
    return {key.name: key for key in _keys_of(Settings, "")}


def build(values: Mapping[str, Value]) -> Settings:
    """Settings with these values, already checked, and defaults for the rest."""
    built = _build(Settings, "", values)
    assert isinstance(built, Settings)
    return built


def _keys_of(group: type, prefix: str) -> list[Key]:
    hints = get_type_hints(group)
    found: list[Key] = []
    for item in dataclasses.fields(group):
        name, hint = prefix + item.name, hints[item.name]
        if dataclasses.is_dataclass(hint):
            found.extend(_keys_of(hints[item.name], name + "."))
            continue
        origin = get_origin(hint)
        found.append(
            Key(
                name=name,
                kind=str if origin is Literal else origin or hint,
                default=_default(item),
                doc=item.metadata["doc"],
                guard=item.metadata["guard"],
                choices=_choices(hint),
                minimum=item.metadata["minimum"],
            )
        )
    return found


def _build(group: type, prefix: str, values: Mapping[str, Value]) -> object:
    hints = get_type_hints(group)
    chosen: dict[str, object] = {}
    for item in dataclasses.fields(group):
        name = prefix + item.name
        if dataclasses.is_dataclass(hints[item.name]):
            chosen[item.name] = _build(hints[item.name], name + ".", values)
        elif name in values:
            chosen[item.name] = values[name]
    return group(**chosen)


def _choices(hint: type) -> tuple[str, ...]:
    """The words that a Literal allows, or that a list of them may be made of."""
    if get_origin(hint) is tuple:
        return _choices(get_args(hint)[0])
    return get_args(hint) if get_origin(hint) is Literal else ()


def _default(item: dataclasses.Field[Value]) -> Value:
    assert item.default is not dataclasses.MISSING
    return item.default


def _is_as_strict(value: Value, below: Value) -> bool:
    if isinstance(value, bool):
        return value or not below
    if isinstance(value, int | float) and isinstance(below, int | float):
        # Zero is no limit at all.
        return value != 0 and (below == 0 or value <= below)
    return STRICTNESS.index(value) <= STRICTNESS.index(below)


def _parsed(kind: type, text: str) -> object:
    if kind is tuple:
        return [item.strip() for item in text.split(",") if item.strip()]
    if kind is bool:
        return SWITCHES.get(text.lower(), text)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return text
    return text


def _texts(value: object) -> tuple[str, ...]:
    items: tuple[object, ...] = tuple(value) if isinstance(value, list | tuple) else ()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] each item is checked below
    texts = tuple(item for item in items if isinstance(item, str))
    if not isinstance(value, list | tuple) or len(texts) != len(items):
        raise ValueError("must be a list of texts")
    return texts
