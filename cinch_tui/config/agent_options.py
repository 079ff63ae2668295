"""Agent options of the harness, built from settings, and changed with them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from msgspec.structs import replace

from cinch_tui.config.names import keys
from cinch_tui.config.setting import NEXT_PROMPT
from cinch_tui.config.settings import Settings
from cinch_tui.config.tables.model import ContextSettings, PromptCacheSettings
from harness.agent.limits import Limits
from harness.agent.options import AgentOptions, Subagents
from harness.agent.policies import LoopDetection
from harness.agent.retry import RetryPolicy
from harness.approval.modes import EXECUTE, PLAN, Planning
from harness.context.policy import ContextPolicy
from harness.execution.context import Execution
from harness.ports.provider import NO_CACHE, CacheStrategy

if TYPE_CHECKING:
    from harness.agent.agent import Agent
    from harness.ports.hooks import Hooks


def agent_options(settings: Settings, hooks: Sequence[Hooks] = (), *, headless: bool) -> AgentOptions:
    """Return the options of settings, with hooks; the caller adds the workspace and the user interaction."""
    limits, tools, subagents = settings.limits, settings.tools, settings.subagents
    is_batched = tools.concurrency == "parallel" and tools.batch_size > 0
    return AgentOptions(
        approval=settings.approval.mode,
        mode=PLAN if settings.plan.enabled else EXECUTE,
        planning=Planning(
            max_turns=settings.plan.max_turns,
            on_limit="execute" if settings.plan.when_exhausted == "execute" else "end",
        ),
        limits=Limits(
            max_turns=limits.max_turns_headless if headless else limits.max_turns,
            max_tokens=limits.max_tokens,
            max_seconds=limits.max_duration_s,
            max_cost=limits.max_cost_usd,
        ),
        retry=RetryPolicy(max_retries=settings.retry.max_retries, max_retry_after=settings.retry.max_retry_after_s),
        cache=_cache_strategy(settings.prompt_cache),
        steering=settings.steering.queue,
        follow_up=settings.steering.follow_up,
        steering_mode=settings.steering.mode,
        execution=Execution(
            concurrency=tools.batch_size if is_batched else tools.concurrency,
            timeout=tools.timeout_s or None,
            max_result_chars=tools.max_result_chars,
            cache_entries=tools.cache_entries,
            cache_turns=tools.cache_ttl_turns,
        ),
        subagents=Subagents(
            max_depth=subagents.max_depth,
            max_concurrent=subagents.max_concurrent,
            max_turns=subagents.max_turns,
            token_budget=subagents.max_tokens,
            result_chars=subagents.result_chars,
        ),
        hooks=(LoopDetection(), *hooks) if limits.loop_detection else tuple(hooks),
        max_tokens=settings.model.max_tokens or None,
        window=context_policy(settings.context),
    )


def context_policy(settings: ContextSettings) -> ContextPolicy:
    """Return the context policy of the settings."""
    return ContextPolicy(
        window=settings.window,
        reserve=settings.reserve or None,
        advise_at=settings.advise_at,
        warn_at=settings.warn_at,
        critical_at=settings.critical_at,
        evict_at=settings.evict_at,
        evict_to=settings.evict_to,
        evict_min_age=settings.evict_min_age,
        compact_at=settings.compact_at,
        compact_cooldown=settings.compact_cooldown,
        compact_failures=settings.compact_failures,
        summary_tokens=settings.summary_tokens,
        summary_in_context=settings.summary_in_context,
        prompts_tokens=settings.prompts_tokens,
        handoff_at=settings.handoff_at,
        keep_first=settings.keep_first,
        keep_recent=settings.keep_recent,
        tool_output_lines=settings.tool_output_lines,
    )


def _cache_strategy(settings: PromptCacheSettings) -> CacheStrategy:
    match settings.strategy:
        case "auto":
            return CacheStrategy(lifetime=settings.lifetime)
        case "manual":
            return CacheStrategy(settings.tools, settings.system, settings.messages, settings.lifetime)
        case "off":
            return NO_CACHE


def apply_to_agent(agent: Agent, settings: Settings, changed: Set[str]) -> None:
    """Apply the settings with these names; what a run reads applies from the next run on."""
    if "model.thinking" in changed:
        agent.set_thinking(settings.model.thinking)
    if "approval.mode" in changed:
        agent.state.approval = settings.approval.mode
    if any(keys()[name].applies == NEXT_PROMPT for name in changed):
        _configure_runs(agent, settings)


def _configure_runs(agent: Agent, settings: Settings) -> None:
    wanted = agent_options(settings, headless=False)
    agent.options = replace(
        agent.options,
        limits=wanted.limits,
        retry=wanted.retry,
        cache=wanted.cache,
        steering_mode=wanted.steering_mode,
        execution=wanted.execution,
        subagents=wanted.subagents,
        hooks=(*wanted.hooks, *(each for each in agent.options.hooks if not isinstance(each, LoopDetection))),
        window=wanted.window,
    )
    agent.state.max_tokens = wanted.max_tokens
    agent.inbox.steering.mode = wanted.steering
    agent.inbox.follow_up.mode = wanted.follow_up
