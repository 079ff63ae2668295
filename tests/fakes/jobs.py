"""Helpers for tests of background jobs."""

from __future__ import annotations

from fakes.runs import results_of, texts_of

from harness.agent.agent import Agent
from providers.demo import Call, Reply


def background(command: str) -> Reply:
    return Reply((Call("bash", {"command": command, "background": True}),))


def answers(agent: Agent) -> list[str]:
    """Return the text of each tool result."""
    return [result.text for result in results_of(agent)]


def news(agent: Agent) -> list[str]:
    """Return the job notices the model received."""
    return [text for text in texts_of(agent) if text.startswith("[Background")]


class Silent:
    """A job that prints nothing."""

    def latest(self, limit: int) -> str:
        return ""

    def full_text(self) -> str:
        return ""

    def new_text(self) -> str:
        return ""
