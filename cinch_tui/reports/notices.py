"""Events of the agent as notices for the user, with the same text in all front ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from cinch_tui.reports.formatting import short_count
from harness import events
from harness.agent.retry import format_delay
from harness.context.history import outline_of
from harness.errors import ContextWindowOverflow
from harness.jobs import Jobs
from harness.lost_jobs import lost_jobs
from harness.messages import Message, ToolResult
from harness.views import TerminalView

_STEP = re.compile(r"^ {0,3}\d+[.)] \S", re.MULTILINE)
_ITEM = re.compile(r"^ {0,3}(?:[-*+]|#{1,6}) \S", re.MULTILINE)

NoticeLevel: TypeAlias = Literal["info", "warning", "error"]
_HOOK_CONTEXT = re.compile(r"\[(?P<event>\w+) hook\]\n(?P<text>.*\n.*)", re.DOTALL)


def notice_of(event: events.Event) -> tuple[str, NoticeLevel] | None:
    """Return the text and level of a notice; None if the event is none."""
    match event:
        case events.Notice(text=text, level=level):
            return text, level
        case events.RetryScheduled():
            return retry_text(event), "warning"
        case events.ModelFallback(failed=failed, spec=spec, error=error):
            return f"{sentence(error)} {spec.name} replaces {failed.name}.", "warning"
        case events.InputRejected(reason=reason):
            return f"Message blocked: {reason}", "warning"
        case events.LimitReached(message=message):
            return f"Stopped: {message}. Say “go on” to continue.", "warning"
        case events.JobInputRequested(job_id=job_id, title=title, prompt=prompt):
            asked = f": {prompt.strip()}" if prompt.strip() else ""
            return f"{job_id} ({title}) needs input that only you can type{asked} Type it with /jobs input.", "warning"
        case events.ContextWarning(level="critical"):
            return (
                "The context window is nearly full: /compact summarizes it, /handoff or /new starts afresh.",
                "warning",
            )
        case _:
            return None


def job_notice(event: events.JobEnded, jobs: Jobs) -> tuple[str, NoticeLevel] | None:
    """Return the notice about the end of a job, with its last lines unless a call shows them; None if it is unknown."""
    job = jobs.find(event.job_id)
    if job is None:
        return None
    is_failed = event.state == "failed" or bool(event.exit_code)
    last = "" if job.waiting or job.killer else job.last_lines
    text = "\n".join(filter(None, (f"{job.id} {job.status_text}: {job.spec.title}", last)))
    return text, "warning" if is_failed else "info"


def end_notice(event: events.AgentEnd, reply: str = "", *, accepting: str = "") -> tuple[str, NoticeLevel] | None:
    """Return what the user can do after a run with this end; None for nothing in particular.

    Args:
        event: The end.
        reply: The last reply, if it was written in plan mode.
        accepting: How to accept a plan in it, with a verb; empty for the command.
    """
    if event.error_type == ContextWindowOverflow.__name__:
        return (
            "/new starts afresh, and /model switches to a larger window. Nothing of this conversation is lost.",
            "info",
        )
    if event.limit:
        return None
    if event.stop_reason == "length":
        return "The reply ended at the model's token limit; say “go on” to continue.", "warning"
    if event.stop_reason == "stop" and looks_like_plan(reply):
        return f"Plan mode is on; {accepting or '/plan accept carries out'} the plan in this reply.", "info"
    return None


def looks_like_plan(text: str) -> bool:
    """Return True if a text has a numbered list, or several other items or headings."""
    return bool(_STEP.search(text)) or len(_ITEM.findall(text)) > 1


def hook_context(text: str) -> tuple[str, str]:
    """Return what a hook adds to the context in several lines: a title and the lines; empty for other reminders."""
    found = _HOOK_CONTEXT.fullmatch(text)
    if found is None:
        return "", ""
    lines = found["text"].strip("\n")
    return f"[{found['event']} hook: {lines.count(chr(10)) + 1} lines]", lines


def reminder_title(text: str) -> str:
    """Return what users see of a reminder to the model: its first paragraph if that is in brackets, else all of it.

    Of what a hook adds in several lines, they see their number.
    """
    if title := hook_context(text)[0]:
        return title
    title = text.partition("\n\n")[0]
    if title.startswith("["):
        return title if title.endswith("]") else text
    return f"To the model: {text}"


def retry_text(event: events.RetryScheduled) -> str:
    attempt = f"{event.attempt} of {event.max_retries}"
    return f"{sentence(event.error)} Trying again in {format_delay(event.delay)} ({attempt})."


def trimming_text(event: events.ContextTrimmed) -> str:
    """Return what is left out of the context; empty for nothing."""
    # If nothing could be left out, the provider reports the overflow.
    if not event.tokens < event.tokens_before:
        return ""
    older = "1 older message is" if event.dropped == 1 else f"{event.dropped:,} older messages are"
    omitted = f"{older} left out of what it sees" if event.dropped else "it sees less of the longest messages"
    return f"The conversation was too long for the model: {omitted}."


def context_text(event: events.Event) -> str:
    """Return what changed in the context; empty for nothing the user needs to know."""
    match event:
        case events.CompactionEnd():
            return _compaction_text(event)
        case events.Evicted(ids=ids):
            results = "1 old result" if len(ids) == 1 else f"{len(ids):,} old results"
            return f"Cleared {results}{_tokens(event)}"
        case events.ContextTrimmed():
            return trimming_text(event)
        case _:
            return ""


def _compaction_text(event: events.CompactionEnd) -> str:
    count = f"{event.replaced:,}" if event.replaced else "older"
    messages = "1 message" if event.replaced == 1 else f"{count} messages"
    if event.error and (event.reason == "manual" or event.is_aborted):
        return ""  # the command reports the failure of a manual compaction, and the end of the run an abort
    if event.error:
        return sentence(f"Older messages were not summarized: {event.error}")
    if event.reason == "tool":
        return f"The model removed {messages} from its context{_tokens(event)}. /compact undo"
    what = "The summary was changed" if event.reason == "edit" else f"Summarized {messages}{_tokens(event)}"
    return f"{what}. /compact undo, /compact edit"


def _tokens(event: events.CompactionEnd | events.Evicted) -> str:
    if not event.tokens_before:
        return ""
    return f": {short_count(event.tokens_before)} → {short_count(event.tokens)} tokens"


def sentence(text: str) -> str:
    """Return the text with a full stop, unless it ends a sentence already."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def lost_jobs_notice(messages: Sequence[Message], jobs: Jobs) -> str:
    """Return a notice about background jobs that a resumed conversation started; empty if all still run here."""
    outline = outline_of(messages)
    lost = lost_jobs(outline, jobs)
    if not lost:
        return ""
    commands: dict[str, str] = {}
    for message in outline:
        match message:
            case ToolResult(details={"job_id": str(job_id)}, view=TerminalView(command=command)):
                commands[job_id] = command
            case _:
                pass
    names = (f"{job_id} ({commands[job_id]})" if job_id in commands else job_id for job_id in lost)
    return f"Background jobs that are no longer running: {', '.join(names)}. The next prompt informs the model."
