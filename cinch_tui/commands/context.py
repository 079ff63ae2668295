"""Commands that show and change what the model sees of the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from harness.errors import Aborted, CinchError

if TYPE_CHECKING:
    from cinch_tui.context_edits import EditAction

CONTEXT = CommandGroup("Context")
EDITS = (
    Choice("pin", "never clear or summarize a message"),
    Choice("unpin", "end the pin of a message"),
    Choice("drop", "remove a message; a reply with its calls and results"),
    Choice("restore", "show a removed or cleared message again"),
)
_DONE: dict[EditAction, str] = {"pin": "Pinned", "unpin": "Unpinned", "drop": "Removed", "restore": "Restored"}


@CONTEXT.command(
    "/context [pin|unpin|drop|restore N]",
    "show what fills the context window; pin, remove or restore message N",
    arguments=lambda _: EDITS,
)
async def context(host: CommandHost, argument: str) -> None:
    if not argument:
        await host.show_context()
        return
    name, *references = argument.split()
    action: EditAction | None = next((each for each in _DONE if each == name.lower()), None)
    if action is None or not references:
        raise CinchError(f"/context {'|'.join(_DONE)} N takes numbers of messages, which /context lists, or ids")
    await _edit_messages(host, action, references)


async def _edit_messages(host: CommandHost, action: EditAction, references: Sequence[str]) -> None:
    from cinch_tui.context_edits import ContextEdits
    from cinch_tui.reports.context import message_title, subjects_of, summary

    session = host.session
    session.check_writable()
    edits = await ContextEdits.open(session.agent)
    # A mistyped number must not change a part of the messages.
    messages, subjects = [edits.find(each) for each in references], subjects_of(session.agent.history.outline)
    for message in messages:
        before = edits.mark(message)
        edits.apply(action, message)
        done = _DONE[action] if edits.mark(message) != before else "Unchanged"
        host.notice(f"{done}: {message_title(message, subjects)}")
    host.notice(f"The context has {summary(edits.usage())}.")


def _compact_choices(host: CommandHost) -> tuple[Choice, ...]:
    if not host.session.agent.state.context.overlay.compactions:
        return ()
    return (
        Choice("undo", "show the model the original messages again"),
        Choice("edit", "edit the last summary in your editor"),
    )


@CONTEXT.command(
    "/compact [focus|undo|edit]",
    "summarize older messages to free context; a focus says what to keep",
    while_running=False,
    arguments=_compact_choices,
)
async def compact(host: CommandHost, argument: str) -> None:
    host.session.check_writable()
    match argument:
        case "undo":
            _undo_summary(host)
        case "edit":
            await _edit_summary(host)
        case focus:
            await _summarize(host, focus)


async def _summarize(host: CommandHost, focus: str) -> None:
    agent = host.session.agent
    try:
        compaction = await agent.compact(focus)
    except Aborted:
        host.notice("Stopped. The context is unchanged.")
        host.session.return_queued()
    except CinchError:
        host.session.return_queued()
        raise
    else:
        if compaction is None:
            host.notice("Not summarized: a summary would not make the context shorter.")
        if agent.has_pending:
            host.continue_run()


def _undo_summary(host: CommandHost) -> None:
    if not host.session.agent.undo_compaction():
        raise CinchError("there is no summary to undo")
    host.notice("The model sees the original messages again, instead of their summary.")


async def _edit_summary(host: CommandHost) -> None:
    from harness.context.summary_text import prose_of

    agent = host.session.agent
    if not (compactions := agent.state.context.overlay.compactions):
        raise CinchError("there is no summary to edit")
    if edited := await host.edit_text(prose_of(compactions[-1].summary), "summary.md"):
        agent.replace_summary(edited)
    else:
        host.notice("The summary is unchanged.")


@CONTEXT.command(
    "/handoff [focus]", "start a new session with a brief of this one; a focus names its task", while_running=False
)
async def handoff(host: CommandHost, argument: str) -> None:
    host.show_activity("Writing a brief")
    try:
        brief = await host.session.agent.handoff(argument)
    except Aborted:
        host.notice("Stopped. This session continues unchanged.")
        return
    finally:
        host.show_activity("")
        host.session.return_queued()
    if accepted := await host.review_brief(brief):
        _start_with(host, accepted)


def _start_with(host: CommandHost, brief: str) -> None:
    from cinch_tui.user_input import UserInput

    host.session.new_session()
    if host.full_screen:
        host.restore_prompt(UserInput(brief))
        host.notice("This is a new session: Enter sends the brief, and /resume returns to the former session.")
    else:
        # A line of plain mode cannot start with a text.
        host.session.agent.follow_up(brief)
        host.continue_run()
