"""Agents whose commands go on in the background, and what is said of them."""

from __future__ import annotations

from pathlib import Path

from fakes.runs import results_of, texts_of

from harness.agent.agent import Agent
from providers.demo import Call, Reply


def background(command: str) -> Reply:
    return Reply((Call("bash", {"command": command, "background": True}),))


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def answers(agent: Agent) -> list[str]:
    """What the model was answered, call by call."""
    return [result.text for result in results_of(agent)]


def news(agent: Agent) -> list[str]:
    """What the model was told of jobs without asking."""
    return [text for text in texts_of(agent) if text.startswith("[Background")]


class Silent:
    """A job that prints nothing."""

    def latest(self, limit: int) -> str:
        return ""

    def whole(self) -> str:
        return ""

    def news(self) -> str:
        return ""
