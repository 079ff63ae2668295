"""Tables about requests to models: the model, fallbacks, retries, prompt caching and the context."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Struct

from cinch_tui.config.setting import AT_ONCE, NEXT_PROMPT, NEXT_START, Setting, held, share
from harness.thinking_level import ThinkingLevel

CacheName: TypeAlias = Literal["auto", "off", "manual"]
Lifetime: TypeAlias = Literal["5m", "1h"]


class ModelSettings(Struct, frozen=True):
    name: Annotated[str, held("provider/model; empty: the first provider with a key")] = ""
    base_url: Annotated[str, held("API base URL; empty: the provider's default")] = ""
    thinking: Annotated[
        ThinkingLevel, held("thinking level: off, minimal, low, medium, high, extra-high", applies=AT_ONCE)
    ] = "off"
    max_tokens: Annotated[
        int, held("maximum length of a reply, in tokens; 0: the model's maximum", 0, applies=NEXT_PROMPT)
    ] = 0


class ProviderSettings(Struct, frozen=True):
    fallback: Annotated[
        tuple[str, ...],
        held("fallback models as provider/model, tried in order when the chosen model fails permanently"),
    ] = ()


class RetrySettings(Struct, frozen=True):
    max_retries: Annotated[int, held("retries of a failed request", 0)] = 3
    max_retry_after_s: Annotated[float, held("longest Retry-After to honor, in seconds", 0)] = 120.0


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
    lifetime: Annotated[Lifetime, held("cache lifetime: 5m, or 1h, which costs more to write")] = "5m"


class ContextSettings(Struct, frozen=True):
    """Context of a long conversation, as models see it. Shares, from 0 to 1, are of the window without the reserve."""

    model: Annotated[
        str,
        held("model that summarizes older messages, as provider/model; empty: the model in use", applies=NEXT_START),
    ] = ""
    window: Annotated[int, Setting("size of the context window, in tokens; 0: that of the model", 0)] = 0
    reserve: Annotated[
        int, Setting("tokens reserved for the reply; 0: its maximum length, but at most 20 % of the window", 0)
    ] = 0
    advise_at: Annotated[float, share("share from which the model is advised to save tokens; 0: never")] = 0.60
    warn_at: Annotated[
        float, share("share from which the model is warned that old tool output will be cleared; 0: never")
    ] = 0.80
    critical_at: Annotated[float, share("share from which you are warned; 0: never")] = 0.95
    evict_at: Annotated[
        float, share("share from which old tool output is cleared; the model can recall it; 0: never")
    ] = 0.80
    evict_to: Annotated[float, share("share that clearing old tool output reaches if possible")] = 0.25
    evict_min_age: Annotated[int, Setting("turns for which tool output is not cleared", 0)] = 3
    compact_at: Annotated[float, share("share from which a model summarizes older messages; 0: only with /compact")] = (
        0.90
    )
    compact_cooldown: Annotated[int, Setting("turns without another automatic summary after one", 0)] = 3
    compact_failures: Annotated[
        int, held("failed summaries after which the oldest messages are left out instead; 0: unlimited", 0)
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
        held(
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
