"""Scripted model for an agent and its subagents, and the events of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.events import Event, MessageUpdate, SubagentEvent
from harness.messages import ModelSpec, Usage, UserMessage
from harness.ports.provider import Model, ModelInfo, Price, Request, StaticModelInfo
from providers.demo import Call, DemoProvider, Reply, Say


def cast(roles: dict[str, Sequence[Reply | str]]) -> Model:
    """Return a model that recognizes each agent by its first message; each token costs a dollar."""
    waiting = {first: list(replies) for first, replies in roles.items()}

    def play(request: Request) -> Reply:
        first = request.messages[0]
        assert isinstance(first, UserMessage)
        reply = waiting[first.text].pop(0)
        return reply if isinstance(reply, Reply) else Reply((Say(reply),))

    price = Price(1_000_000.0, 1_000_000.0)
    return Model(DemoProvider(play), ModelSpec("demo", "cast"), StaticModelInfo(ModelInfo(price=price)))


def delegates(*tasks: str, tools: Sequence[str] = ()) -> Reply:
    """Return a reply that delegates each task to a subagent of that name."""
    return Reply(tuple(Call("delegate_subagent", {"task": task, "name": task, "tools": list(tools)}) for task in tasks))


def said(text: str, *, tokens: int) -> Reply:
    return Reply((Say(text),), usage=Usage(input=tokens))


def outline(events: Iterable[Event]) -> list[str]:
    """Return the names of the events, with a `>` per generation; streaming events are left out."""
    return [_name(event) for event in events if not isinstance(event, MessageUpdate)]


def _name(event: Event) -> str:
    return f">{_name(event.event)}" if isinstance(event, SubagentEvent) else type(event).__name__


def inside(events: Iterable[Event], kind: type, depth: int = 1) -> list:
    """Return the events of that kind from a generation."""
    for _ in range(depth):
        events = [event.event for event in events if isinstance(event, SubagentEvent)]
    return [event for event in events if isinstance(event, kind)]


def one(*script: Reply | str) -> Model:
    """Return a model that delegates one task to a subagent, which plays the script."""
    return cast({"go": [delegates("dig"), "ok"], "dig": script})


def heard(events: Iterable[Event], *, depth: int = 1) -> list[str]:
    """Return the progress texts of a subagent of that generation."""
    mark = ">" * depth
    return [name[depth:] for name in outline(events) if name.startswith(mark) and not name.startswith(f"{mark}>")]
