"""A model that plays a part for each agent of a family, and what happened in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.events import Event, MessageUpdate, SubagentEvent
from harness.messages import ModelSpec, Usage, UserMessage
from harness.ports.provider import Model, ModelInfo, Price, Request, StaticModelInfo
from providers.demo import Call, DemoProvider, Reply, Say


def cast(roles: dict[str, Sequence[Reply | str]]) -> Model:
    """Each agent is known by what it was first told; a dollar for each token."""
    waiting = {first: list(replies) for first, replies in roles.items()}

    def play(request: Request) -> Reply:
        first = request.messages[0]
        assert isinstance(first, UserMessage)
        reply = waiting[first.text].pop(0)
        return reply if isinstance(reply, Reply) else Reply((Say(reply),))

    price = Price(1_000_000.0, 1_000_000.0)
    return Model(DemoProvider(play), ModelSpec("demo", "cast"), StaticModelInfo(ModelInfo(price=price)))


def delegates(*tasks: str, tools: Sequence[str] = ()) -> Reply:
    """A reply that hands each task to a sub-agent named like it."""
    return Reply(
        tuple(Call("delegate_sub_agent", {"task": task, "name": task, "tools": list(tools)}) for task in tasks)
    )


def said(text: str, *, tokens: int) -> Reply:
    return Reply((Say(text),), usage=Usage(input=tokens))


def outline(events: Iterable[Event]) -> list[str]:
    """The names of what happened, a `>` for each generation; without what is streamed."""
    return [_name(event) for event in events if not isinstance(event, MessageUpdate)]


def _name(event: Event) -> str:
    return f">{_name(event.event)}" if isinstance(event, SubagentEvent) else type(event).__name__


def inside(events: Iterable[Event], kind: type, depth: int = 1) -> list:
    """The events of that kind that happened so many generations below."""
    for _ in range(depth):
        events = [event.event for event in events if isinstance(event, SubagentEvent)]
    return [event for event in events if isinstance(event, kind)]


def one(*script: Reply | str) -> Model:
    """A model that hands one task to a sub-agent, which plays the script."""
    return cast({"go": [delegates("dig"), "ok"], "dig": script})


def heard(events: Iterable[Event], *, depth: int = 1) -> list[str]:
    """What a sub-agent of that generation told."""
    mark = ">" * depth
    return [name[depth:] for name in outline(events) if name.startswith(mark) and not name.startswith(f"{mark}>")]
