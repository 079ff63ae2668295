"""Channels of the transcript that are shown or hidden: thinking, and reminders to the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cinch_tui.controller.controller import SessionController
    from cinch_tui.transcript.block import Channel

_THOUGHTS: frozenset[Channel] = frozenset(("thinking",))
_REMINDERS: frozenset[Channel] = frozenset(("reminder",))


def shows_thinking(controller: SessionController) -> bool:
    return "thinking" not in controller.screen.widgets.transcript.hidden_channels


def show_thinking(controller: SessionController, *, shown: bool) -> None:
    """Show or hide the thinking of the model."""
    others = controller.screen.widgets.transcript.hidden_channels - _THOUGHTS
    _hide(controller, others if shown else others | _THOUGHTS)


def toggle_channels(controller: SessionController) -> None:
    """Show all channels, or, where all are shown, the conversation alone."""
    shown = bool(controller.screen.widgets.transcript.hidden_channels)
    _hide(controller, frozenset() if shown else _THOUGHTS | _REMINDERS)
    state = "shown" if shown else "hidden"
    controller.app.notify(f"Thoughts and what the program tells the model are {state}.", markup=False)


def _hide(controller: SessionController, channels: frozenset[Channel]) -> None:
    controller.screen.widgets.transcript.hidden_channels = channels
    bar = controller.screen.widgets.status
    bar.status = replace(bar.status, hides=bool(channels & _THOUGHTS))
