"""Commands that act on the conversation and its session file."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.reports.formatting import ago
from harness.errors import CinchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.messages import AssistantMessage, Message, UserMessage
    from harness.session.index import SessionSummary

_MOST = 50
_SHOWN_CHARS = 200
_FRESH_S = 2.0
_FIRST_WAIT_S = 0.05
"""Seconds that the first completion waits for the titles: enough unless the disk is slow."""


@cache
def session_choices(data_dir: Path, cwd: Path) -> SessionChoices:
    """Return the sessions of a folder, read again when they are outdated."""
    return SessionChoices(data_dir, cwd)


class SessionChoices:
    def __init__(self, data_dir: Path, cwd: Path) -> None:
        self._data_dir = data_dir
        self._cwd = cwd
        self._found: list[SessionSummary] = []
        self._reader: threading.Thread | None = None
        self._read_at = 0.0

    def newest_first(self, current: str) -> tuple[Choice, ...]:
        """Return the sessions by id, shown by title, without the open one (`current`)."""
        self._keep_fresh()
        now = time.time()
        return tuple(_choice(summary, now) for summary in self._found if summary.id != current)

    def join(self) -> None:
        """Wait until the reading thread has finished."""
        if self._reader is not None:
            self._reader.join()

    def _keep_fresh(self) -> None:
        first = self._reader is None
        if self._reader is not None and (self._reader.is_alive() or time.monotonic() - self._read_at < _FRESH_S):
            return
        self._reader = threading.Thread(target=self._read, name="session-titles", daemon=True)
        self._reader.start()
        if first:
            self._reader.join(_FIRST_WAIT_S)

    def _read(self) -> None:
        from harness.session.index import list_sessions

        self._found = list_sessions(self._data_dir, self._cwd, limit=_MOST)
        self._read_at = time.monotonic()


def _choice(summary: SessionSummary, now: float) -> Choice:
    detail = f"{summary.id[:8]} · {ago(summary.updated, now)}"
    return Choice(summary.id, detail, shown=one_line(summary.title))


SESSION = CommandGroup("Session")


def is_planning(host: CommandHost) -> bool:
    """Return True in plan mode."""
    from harness.approval.modes import PLAN

    return host.session.agent.state.mode is PLAN


def toggle_plan(host: CommandHost) -> None:
    from harness.approval.modes import EXECUTE, PLAN

    host.session.agent.set_mode(EXECUTE if is_planning(host) else PLAN)


def _plan_choices(host: CommandHost) -> tuple[Choice, ...]:
    return (Choice("accept", "carry out the plan in the last reply"),) if is_planning(host) else ()


@SESSION.command("/plan [accept]", "plan mode on or off: read-only until you accept a plan", arguments=_plan_choices)
async def plan(host: CommandHost, argument: str) -> None:
    if argument == "accept":
        await _accept_plan(host)
    elif argument:
        raise CinchError(f"/plan takes accept or no argument, not {argument}")
    else:
        toggle_plan(host)


async def _accept_plan(host: CommandHost) -> None:
    """Leave plan mode and send the last reply as the plan to carry out."""
    from cinch_tui.reports.summaries import source
    from harness.approval.modes import EXECUTE

    agent = host.session.agent
    if not is_planning(host):
        raise CinchError("plan mode is off: there is no plan to accept")
    if agent.is_running:
        raise CinchError("not available while the agent is running")
    await agent.history.load()
    plan = source(agent.history.messages, "reply").strip()
    if not plan:
        raise CinchError("there is no reply to accept as a plan")
    agent.set_mode(EXECUTE)
    agent.follow_up(f"I accept this plan. Carry it out now, step by step:\n\n{plan}")
    host.continue_run()


SESSION.action(
    "/new",
    "start a new session; the old one is kept",
    lambda host: host.session.new_session(),
    aliases=("/clear",),
    while_running=False,
)


async def choose_session(host: CommandHost, query: str = "") -> None:
    """Let the user choose a saved session and open it; `query` narrows the list."""
    if host.session.is_running:
        stop = f" {host.stop_key} stops it." if host.stop_key else ""
        host.notice(f"The agent is at work.{stop}", "warning")
        return
    chosen = await host.pick_session(query)
    if chosen:
        await host.session.load_session(chosen.name, read_only=chosen.read_only)


def _session_choices(host: CommandHost) -> tuple[Choice, ...]:
    options = host.session.options
    return session_choices(options.paths.data, options.cwd).newest_first(host.session.agent.session_id)


@SESSION.command(
    "/resume [id]",
    "resume an earlier session; ID@MESSAGE shows that message",
    while_running=False,
    arguments=_session_choices,
)
async def resume(host: CommandHost, argument: str) -> None:
    if argument:
        await host.session.load_session(argument)
    else:
        await choose_session(host)


SESSION.command(
    "/sessions [all|text]",
    "list, search, rename, tag, fork, export and delete sessions",
    aliases=("#sessions",),
    while_running=False,
)(choose_session)


@SESSION.command("/fork [n]", "continue in a copy, from a message of your choice", while_running=False)
async def fork(host: CommandHost, argument: str) -> None:
    from cinch_tui.user_input import user_input_of
    from harness.messages import UserMessage

    history = host.session.agent.history
    points = fork_points(history.outline)
    if not points:
        raise CinchError("there is nothing to fork yet")
    point = _numbered(points, argument) if argument else await _pick_point(host, points)
    if point is None:
        return
    # The points have the beginnings of long texts; forking replaces the history.
    prompt = await asyncio.to_thread(history.message_at, point.index)
    if point.kept:
        host.show_progress("copying…")
        try:
            await host.session.fork_session(point.kept)
        finally:
            host.show_progress("")
    else:
        host.session.new_session()
    if isinstance(prompt, UserMessage):
        host.restore_prompt(user_input_of(prompt))


class ForkPoint(Struct, frozen=True):
    """A prompt or reply from which the conversation can be continued in a copy."""

    number: int
    """Its number among the prompts and replies, from 1."""
    index: int
    """Its index in the history."""
    message: UserMessage | AssistantMessage
    """The prompt, which returns to the input, or the reply, which ends the copy; long texts may be truncated."""
    kept: str
    """Uuid of the last message that the copy keeps; empty for none."""


def fork_points(messages: Sequence[Message]) -> list[ForkPoint]:
    """Return the prompts and replies of a conversation."""
    from harness.messages import AssistantMessage, UserMessage

    points: list[ForkPoint] = []
    before = ""
    for index, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            points.append(ForkPoint(len(points) + 1, index, message, message.id))
        elif isinstance(message, UserMessage) and not message.synthetic:
            points.append(ForkPoint(len(points) + 1, index, message, before))
        if isinstance(message, AssistantMessage | UserMessage):
            before = message.id
    return points


def _numbered(points: Sequence[ForkPoint], argument: str) -> ForkPoint:
    if not argument.isdecimal() or not 1 <= int(argument) <= len(points):
        raise CinchError(f"/fork takes a number from 1 to {len(points)}, not {argument}; /fork lists the messages")
    return points[int(argument) - 1]


async def _pick_point(host: CommandHost, points: Sequence[ForkPoint]) -> ForkPoint | None:
    from harness.messages import UserMessage

    named: dict[str, ForkPoint] = {}
    choices: list[tuple[str, str]] = []
    for point in points:
        is_prompt = isinstance(point.message, UserMessage)
        text = one_line(point.message.text)[:_SHOWN_CHARS] or _called(point.message)
        name = f"{point.number} {'>' if is_prompt else '·'} {text}"
        named[name] = point
        choices.append((name, "edit this prompt" if is_prompt else ""))
    chosen = await host.pick("Fork from which message?", choices, choices[-1][0])
    return named[chosen] if chosen is not None else None


def _called(message: UserMessage | AssistantMessage) -> str:
    calls = getattr(message, "tool_calls", ())
    return f"calls {', '.join(one_line(call.name) for call in calls)}" if calls else "(no text)"


def _session_file(host: CommandHost) -> Path:
    if (path := host.session.assembly.session_file) is None:
        raise CinchError("this conversation is not saved (--no-session)")
    return path


@SESSION.command("/rename <title>", "set the title of this session")
async def rename(host: CommandHost, argument: str) -> None:
    from cinch_tui.saved_sessions import SavedSessions

    title = await SavedSessions(host.session).rename(_session_file(host), argument)
    host.notice(f"The title is {one_line(title)}")


@SESSION.command("/tag [tag…]", "add tags to this session; -tag removes one")
async def tag(host: CommandHost, argument: str) -> None:
    from cinch_tui.saved_sessions import SavedSessions
    from harness.session.labels import parse_tags

    words = parse_tags(argument)
    added = [word for word in words if not word.startswith("-")]
    removed = [word[1:].strip("#") for word in words if word.startswith("-")]
    tags = await SavedSessions(host.session).change_tags(_session_file(host), add=added, remove=removed)
    host.notice(f"Tags: {' '.join(f'#{one_line(each)}' for each in tags)}" if tags else "This session has no tags.")


@SESSION.command("#load <id>", "open a session by its id", while_running=False, arguments=_session_choices)
async def load(host: CommandHost, argument: str) -> None:
    await host.session.load_session(argument)


async def _save(host: CommandHost) -> None:
    store = host.session.assembly.store
    if store is None:
        host.notice("This conversation is not saved (--no-session).")
        return
    await asyncio.to_thread(store.flush)
    host.notice(f"Saved in {store.path}")


def _show_session(host: CommandHost) -> None:
    from cinch_tui.reports.summaries import session_summary

    host.show("Session", session_summary(host.session.assembly))


def _show_usage(host: CommandHost) -> None:
    # Imported as a module: the tests of crashes replace the function.
    from cinch_tui.reports import usage

    host.show("Usage", usage.usage_report(host.session.agent))


def _reset(host: CommandHost) -> None:
    host.session.reset()
    host.notice("the context is empty; the session file still contains the conversation")


def _export_choices(host: CommandHost) -> tuple[Choice, ...]:
    del host
    from cinch_tui.reports.export_files import FORMATS

    return tuple(Choice(name, each.title) for name, each in FORMATS.items())


@SESSION.command("/export [format] [file]", "write the session to a file", arguments=_export_choices)
async def export(host: CommandHost, argument: str) -> None:
    from cinch_tui.reports.export_files import FORMATS, export_conversation

    first, _, rest = argument.partition(" ")
    name, target = (first, rest.strip()) if first in FORMATS else ("", argument)
    assembly = host.session.assembly
    host.show_progress("exporting…")
    try:
        if assembly.store is not None:
            await asyncio.to_thread(assembly.store.flush)
        elif assembly.session_file is None:
            await assembly.agent.history.load()
        # A long session takes seconds, in which keys must work.
        path = await asyncio.to_thread(export_conversation, assembly, name, target)
    finally:
        host.show_progress("")
    host.notice(f"Exported to {path}")


SESSION.action("#save", "write the session to disk and show its path", _save, while_running=False)
SESSION.action("#info", "show details of this session", _show_session)
SESSION.action("/usage", "show tokens and cost by turn", _show_usage)
SESSION.action("/reset", "clear the context; the session file keeps the conversation", _reset, while_running=False)


@SESSION.command(
    "/diff [git]",
    "review changed files and revert changes",
    arguments=lambda _: (Choice("git", "since the last commit"),),
)
async def diff(host: CommandHost, argument: str) -> None:
    from cinch_tui.changes import SessionChanges

    if argument not in ("", "git"):
        host.notice(f"/diff takes git or no argument, not {argument!r}", "warning")
        return
    assembly = host.session.assembly
    changes = SessionChanges(assembly.originals, assembly.workspace, assembly.agent.add_reminder)
    await host.show_changes(changes, "git" if argument == "git" else "session")
