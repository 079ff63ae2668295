"""Summaries of usage, the session, approvals and keys; the conversation as text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.assembly.assembly import Assembly
from cinch_tui.reports.citations import text_with_sources
from harness.agent.agent import Agent
from harness.context.history import is_prompt
from harness.messages import AssistantMessage, Message, UserMessage
from harness.thinking_level import ThinkingLevel
from providers.installed import each_preset
from tools.web.options import SEARCH_KEYS

TranscriptPart: TypeAlias = Literal["reply", "all", "code"]

# A fence of three or more, closed by one at least as long, as CommonMark has it.
_FENCED = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)^ {0,3}(?P=fence)[`~]*[ \t]*$", re.M | re.S)


def agent_settings(agent: Agent) -> dict[str, object]:
    """Return the values in effect for the agent, which may differ from the settings, by name."""
    spec = agent.state.model.spec
    return {"model.name": spec.name, "model.thinking": spec.thinking, "approval.mode": agent.state.approval}


def thinking_in_effect(agent: Agent) -> ThinkingLevel:
    """Return the thinking level that requests carry: off if the model takes none."""
    model, level = agent.state.model, agent.state.model.spec.thinking
    return level if model.supports_thinking(level, with_tools=bool(agent.state.tools)) else "off"


def source(messages: Sequence[Message], part: TranscriptPart, back: int = 1) -> str:
    """Return part of the conversation as Markdown.

    `reply` is the last reply, or with `back` an earlier one; `code` the fenced code of the last reply. May be empty.
    """
    replies = [message for message in messages if isinstance(message, AssistantMessage) and message.text]
    match part:
        case "reply":
            return text_with_sources(replies[-back]) if back <= len(replies) else ""
        case "code":
            return "\n".join(found["code"] for found in _FENCED.finditer(replies[-1].text)) if replies else ""
        case "all":
            return "\n\n".join(_quoted(messages))


def session_summary(assembly: Assembly) -> str:
    agent = assembly.agent
    messages = agent.history.outline
    prompts = [each for each in messages if is_prompt(each)]
    saved = str(assembly.store.path) if assembly.store else "not saved (--no-session)"
    rows = [
        ("session", agent.session_id),
        ("file", saved),
        ("folder", str(assembly.workspace.root)),
        ("model", agent.state.model.spec.name),
        ("thinking", thinking_in_effect(agent)),
        ("mode", agent.state.mode.name),
        ("approval", agent.state.approval),
        ("prompts", f"{len(prompts)} of {len(messages)} messages"),
    ]
    if messages:
        rows.append(("began", time.strftime("%Y-%m-%d %H:%M", time.localtime(messages[0].time))))
    return "\n".join(f"- {name}: `{value}`" for name, value in rows)


def provider_names() -> tuple[str, ...]:
    """Return the providers and search services that an API key can be stored for."""
    return (*(preset.name for preset in each_preset() if preset.variables), *SEARCH_KEYS)


def model_names() -> tuple[str, ...]:
    """Return a default model of each provider, without asking it."""
    named = [f"{preset.name}/{preset.default_model}" for preset in each_preset() if preset.default_model]
    return (*named, "demo/tour")


def key_summary(keys: KeyStore) -> str:
    lines, without = list[str](), list[str]()
    for preset in each_preset():
        if preset.variables and (found := keys.find(preset.name, preset.variables)):
            lines.append(f"- {preset.name}: key from {found.source}")
        elif preset.variables:
            without.append(preset.name)
    for name, variables in SEARCH_KEYS.items():
        if found := keys.find(name, variables):
            lines.append(f"- {name}: key from {found.source}")
    return "\n".join([*lines, f"- no key: {', '.join(without)}"] if without else lines)


def _quoted(messages: Iterable[Message]) -> Iterable[str]:
    for message in messages:
        if isinstance(message, UserMessage):
            yield f"> {message.text}".replace("\n", "\n> ")
        elif isinstance(message, AssistantMessage) and message.text:
            yield text_with_sources(message)
