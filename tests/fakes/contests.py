"""Parallel configurations, a scripted selection strategy, and the recorded events."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.errors import RequestRejected
from harness.events import BranchEvent, Event, MessageUpdate, ParallelStart
from harness.messages import Message, Usage
from harness.parallel.selection import Outcome, Selection, Strategy
from harness.ports.provider import Model
from providers.demo import Break, Reply, Say, scripted

ONE_REPLY = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd", "RequestStart", "MessageStart"]
ITS_END = ["MessageEnd", "UsageUpdate", "TurnEnd", "AgentEnd"]


class Take:
    """Strategy that makes a scripted choice, once it is released."""

    def __init__(self, index: int, *, error: Exception | None = None, usage: Usage = Usage()) -> None:
        self._index = index
        self._error = error
        self._usage = usage
        self.may = asyncio.Event()
        self.may.set()
        self.asked: list[Sequence[Outcome]] = []

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        self.asked.append(outcomes)
        await self.may.wait()
        if self._error:
            raise self._error
        return Selection(self._index, self._usage, "because")


def model(name: str, *script: Reply | str, delay: float = 0.0) -> Model:
    made = scripted(*script, delay=delay)
    return replace(made, spec=replace(made.spec, model_id=name))


def spent(text: str, tokens: int) -> Reply:
    return Reply((Say(text),), usage=Usage(input=tokens, output=1))


def failing(name: str, text: str = "no such model") -> Model:
    return model(name, Reply((Break(RequestRejected(text)),)))


def own(events: Sequence[Event]) -> list[str]:
    """Return the events of the agent itself."""
    return [type(each).__name__ for each in events if not isinstance(each, BranchEvent)]


def of_branch(events: Sequence[Event], run_id: str) -> list[str]:
    inner = [each.event for each in events if isinstance(each, BranchEvent)]
    return [type(each).__name__ for each in inner if each.run_id == run_id and not isinstance(each, MessageUpdate)]


def run_ids(events: Sequence[Event]) -> tuple[str, ...]:
    return next(each.run_ids for each in events if isinstance(each, ParallelStart))


def said(agent: Agent) -> list[str]:
    return [each.text for each in agent.history]


if TYPE_CHECKING:
    _: type[Strategy] = Take
