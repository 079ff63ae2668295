"""Applies changed settings to the agent."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import TYPE_CHECKING

from cinch_tui.config.agent_options import agent_options
from cinch_tui.config.effect_time import NEXT_PROMPT, effect_time

if TYPE_CHECKING:
    from cinch_tui.config.settings import Settings
    from harness.agent.agent import Agent


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
