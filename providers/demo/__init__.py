"""The demo provider: a scripted model, plainly labelled as one."""

from __future__ import annotations

from harness.messages import ModelSpec
from harness.ports.provider import Model, ModelInfo, Price, StaticModelInfo
from providers.demo.provider import Break, Call, DemoProvider, Hang, Reply, Say, Script, Think, replies

__all__ = [
    "Break",
    "Call",
    "DemoProvider",
    "Hang",
    "Reply",
    "Say",
    "Script",
    "Think",
    "demo_model",
    "replies",
    "scripted",
]


def scripted(*sequence: Reply | str, delay: float = 0.0, name: str = "script") -> Model:
    """Return a model, `demo/<name>`, that plays these replies in order; `delay` is the pause between fragments, in
    seconds."""
    return _model(DemoProvider(replies(*sequence), delay=delay), name)


def demo_model() -> Model:
    """Return the model of the tour."""
    # Imported here: custom scripts do not need the tour.
    from providers.demo.tour import tour

    return _model(DemoProvider(tour, delay=0.012), "tour")


def _model(provider: DemoProvider, name: str) -> Model:
    return Model(provider, ModelSpec("demo", name), StaticModelInfo(ModelInfo(price=Price(0.0, 0.0))))
