"""`/hooks`: the hooks of the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from harness.errors import CinchError

if TYPE_CHECKING:
    from extensions.hooks.config import HookEvent

HOOKS = CommandGroup("Hooks")


def _choices(host: CommandHost) -> Sequence[Choice]:
    loaded = host.session.assembly.hooks.loaded
    events = dict.fromkeys(each.event for each in loaded.usable) if loaded else ()
    return [Choice(f"test {event}", "run the hooks with a sample event") for event in events]


@HOOKS.command("/hooks [test EVENT tool]", "list hooks, or run those of an event with a sample", arguments=_choices)
async def hooks(host: CommandHost, argument: str) -> None:
    # Imported here because few users have hooks.
    from cinch_tui.reports.hooks import hooks_text, trials_text

    own = host.session.assembly.hooks
    if not argument:
        host.show("Hooks", hooks_text(own.loaded))
        return
    action, _, rest = argument.partition(" ")
    name, _, tool = rest.strip().partition(" ")
    if action != "test" or not name:
        raise CinchError(
            "/hooks takes nothing, or test with an event and, for calls, a tool: /hooks test PreToolUse Edit"
        )
    event = _event(name)
    if own.session is None:
        raise CinchError("no hook is used; /hooks lists why")
    host.show_progress(f"testing the {event} hooks")
    try:
        trials = await own.session.dispatcher.test(event, tool.strip())
    finally:
        host.show_progress("")
    host.show(f"{event} hooks", trials_text(trials) or f"No hook of {event} matches {tool.strip() or 'the sample'}.")


def _event(name: str) -> HookEvent:
    """Return an event by its name in any case.

    Raises:
        CinchError: There is no such event.
    """
    from cinch_tui.fuzzy_match import did_you_mean
    from extensions.hooks.config import EVENTS

    for event in EVENTS:
        if event.lower() == name.lower():
            return event
    raise CinchError(f"{name!r} is not an event of hooks{did_you_mean(name, EVENTS)}")
