"""Summary printed after the app has exited: the last exchange, and how to resume the session."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from cinch_tui.agent_session import resume_hint
from cinch_tui.assembly.assembly import Assembly
from harness.context.history import is_prompt
from harness.events import Event, RequestStart
from harness.messages import AssistantMessage, Message, UserMessage
from harness.terminal_text import escape_controls

MAX_REPLY_LINES = 20
"""Lines of the reply; the end is shown, since it has the conclusion."""


def follow_resume_hint(assembly: Assembly, on_hint: Callable[[str], None]) -> Callable[[Event], None]:
    """Pass the resume hint to `on_hint` now and with each request, before which the session is saved."""
    on_hint(escape_controls(resume_hint(assembly)))

    def follow(event: Event) -> None:
        if isinstance(event, RequestStart):
            on_hint(escape_controls(resume_hint(assembly)))

    return follow


def last_exchange(messages: Sequence[Message], columns: int) -> str:
    """Return the last prompt on one line and the end of the last reply, wrapped; empty without a reply."""
    since = next((at for at in reversed(range(len(messages))) if is_prompt(messages[at])), len(messages))
    replies = [each.text.strip() for each in messages[since:] if isinstance(each, AssistantMessage)]
    reply = next((text for text in reversed(replies) if text), "")
    if not reply:
        return ""
    prompt = messages[since]
    first, *more = (escape_controls(prompt.text).strip() if isinstance(prompt, UserMessage) else "").splitlines() or [
        ""
    ]
    asked = Text(f"> {first}{' …' if more else ''}")
    asked.truncate(columns, overflow="ellipsis")
    lines = _wrapped(escape_controls(reply), columns)
    if len(lines) > MAX_REPLY_LINES:
        lines = [f"… {len(lines) - MAX_REPLY_LINES + 1} more lines", *lines[1 - MAX_REPLY_LINES :]]
    return "\n".join((asked.plain, "", *lines))


def stopped_jobs(assembly: Assembly) -> str:
    """Return the background jobs that were stopped on exit; empty if there were none."""
    titles = [escape_controls(job.spec.title) for job in assembly.agent.jobs.all if job.killer == "leaving"]
    count = f"{len(titles)} background job{'' if len(titles) == 1 else 's'}"
    return f"Stopped {count}: {', '.join(titles)}" if titles else ""


def print_exit_summary(assembly: Assembly, *, with_exchange: bool) -> None:
    """Print the summary to stdout.

    Raises:
        OSError: stdout is closed.
    """
    exchange = ""
    if with_exchange:
        exchange = last_exchange(assembly.agent.history.outline, shutil.get_terminal_size().columns)
    text = "\n\n".join(
        part for part in (exchange, stopped_jobs(assembly), escape_controls(resume_hint(assembly))) if part
    )
    if text:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        sys.stdout.flush()


def _wrapped(text: str, columns: int) -> list[str]:
    console = Console(width=columns)
    return [line.plain.rstrip() for line in Text(text, tab_size=4).wrap(console, columns)]
