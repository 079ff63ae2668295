"""Agent options of the harness, built from settings, and changed with them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import TYPE_CHECKING

from cinch_tui.config.effect_time import NEXT_PROMPT, effect_time
from cinch_tui.config.settings import (
    LimitSettings,
    PromptCacheSettings,
    RetrySettings,
    Settings,
    SubagentSettings,
    ToolSettings,
)
from harness.agent.limits import Limits
from harness.agent.options import AgentOptions, Subagents
from harness.agent.retry import RetryPolicy
from harness.approval.modes import EXECUTE, PLAN, Planning
from harness.execution.context import Concurrency, Execution
from harness.ports.provider import NO_CACHE, CacheStrategy

if TYPE_CHECKING:
    from harness.agent.agent import Agent


def agent_options(settings: Settings, *, headless: bool) -> AgentOptions:
    """Return the options that come from settings; the caller adds the workspace and the user interaction."""
    return AgentOptions(
        approval=settings.approval.mode,
        mode=PLAN if settings.plan.enabled else EXECUTE,
        planning=Planning(max_turns=settings.plan.max_turns),
        limits=limits_of(settings.limits, headless=headless),
        retry=retry_of(settings.retry),
        cache=cache_of(settings.prompt_cache),
        steering=settings.steering.queue,
        follow_up=settings.steering.follow_up,
        steering_mode=settings.steering.mode,
        execution=execution_of(settings.tools),
        subagents=subagents_of(settings.subagents),
        max_tokens=settings.model.max_tokens or None,
    )


def limits_of(settings: LimitSettings, *, headless: bool) -> Limits:
    return Limits(
        max_turns=settings.max_turns_headless if headless else settings.max_turns,
        max_tokens=settings.max_tokens,
        max_seconds=settings.max_duration_s,
        max_cost=settings.max_cost_usd,
    )


def retry_of(settings: RetrySettings) -> RetryPolicy:
    return RetryPolicy(max_retries=settings.max_retries, max_retry_after=settings.max_retry_after_s)


def cache_of(settings: PromptCacheSettings) -> CacheStrategy:
    match settings.strategy:
        case "auto":
            return CacheStrategy(lifetime=settings.lifetime)
        case "manual":
            return CacheStrategy(settings.tools, settings.system, settings.messages, settings.lifetime)
        case "off":
            return NO_CACHE


def execution_of(settings: ToolSettings) -> Execution:
    return Execution(
        concurrency=_concurrency(settings),
        timeout=settings.timeout_s or None,
        max_result_chars=settings.max_result_chars,
        cache_entries=settings.cache_entries,
        cache_turns=settings.cache_ttl_turns,
    )


def subagents_of(settings: SubagentSettings) -> Subagents:
    return Subagents(
        max_depth=settings.max_depth,
        max_concurrent=settings.max_concurrent,
        max_turns=settings.max_turns,
        token_budget=settings.max_tokens,
        result_chars=settings.result_chars,
    )


def _concurrency(settings: ToolSettings) -> Concurrency:
    batched = settings.concurrency == "parallel" and settings.batch_size > 0
    return settings.batch_size if batched else settings.concurrency


def apply_to_agent(agent: Agent, settings: Settings, changed: Set[str]) -> None:
    """Apply the settings with these names; what a run reads applies from the next run on."""
    if "model.thinking" in changed:
        agent.set_thinking(settings.model.thinking)
    if "approval.mode" in changed:
        agent.state.approval = settings.approval.mode
    if any(effect_time(name) == NEXT_PROMPT for name in changed):
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
    )
    agent.state.max_tokens = wanted.max_tokens
    agent.inbox.steering.mode = wanted.steering
    agent.inbox.follow_up.mode = wanted.follow_up
