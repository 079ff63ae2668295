"""What is said on the person's own screen when the app has left it: the last exchange, and how to come back."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from harness.events import Event, RequestStart
from harness.messages import AssistantMessage, Message, UserMessage
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.assembly import Assembly

LINES = 20
"""Of a reply; its end says what came of it."""


def resume_hint(assembly: Assembly) -> str:
    """How to go on with the session, on one line; empty where nothing was said or nothing is kept."""
    if assembly.store is None or not assembly.agent.history.prompts():
        return ""
    if not assembly.store.is_saved:
        return escape_controls(f"The end of this conversation could not be saved in {assembly.store.path}")
    return f"Go on with this session: cinch -r {assembly.agent.session_id}"


def follow_resume_hint(assembly: Assembly, tell: Callable[[str], None]) -> Callable[[Event], None]:
    """Have the way back told from now on: at once, and with each request, before which what was said is kept."""
    tell(resume_hint(assembly))

    def follow(event: Event) -> None:
        if isinstance(event, RequestStart):
            tell(resume_hint(assembly))

    return follow


def last_exchange(messages: Sequence[Message], columns: int) -> str:
    """The last prompt on a line and the end of the last reply to it, wrapped; empty where there is none."""
    since = next((at for at in reversed(range(len(messages))) if _is_prompt(messages[at])), len(messages))
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
    if len(lines) > LINES:
        lines = [f"… {len(lines) - LINES + 1} lines before", *lines[1 - LINES :]]
    return "\n".join((asked.plain, "", *lines))


def stopped_jobs(assembly: Assembly) -> str:
    """What ran in the background until the person left; empty where nothing did."""
    titles = [escape_controls(job.spec.title) for job in assembly.agent.jobs.all if job.killer == "leaving"]
    count = f"{len(titles)} background job{'' if len(titles) == 1 else 's'}"
    return f"Stopped {count}: {', '.join(titles)}" if titles else ""


def print_exit_summary(assembly: Assembly, *, with_exchange: bool) -> None:
    """Write it to stdout.

    Raises:
        OSError: nobody is there to read it.
    """
    exchange = ""
    if with_exchange:
        exchange = last_exchange(assembly.agent.history.messages, shutil.get_terminal_size().columns)
    said = "\n\n".join(part for part in (exchange, stopped_jobs(assembly), resume_hint(assembly)) if part)
    if said:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(said.encode(encoding, "replace").decode(encoding) + "\n")
        sys.stdout.flush()


def _is_prompt(message: Message) -> bool:
    return isinstance(message, UserMessage) and not message.synthetic


def _wrapped(text: str, columns: int) -> list[str]:
    console = Console(width=columns)
    return [line.plain.rstrip() for line in Text(text, tab_size=4).wrap(console, columns)]
