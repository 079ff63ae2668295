"""Input into the terminal of a background job in plain mode, a line at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.plain.menus import InputClosed
from tools.terminal_keys import typed_characters

if TYPE_CHECKING:
    from cinch_tui.plain.line_writer import LineWriter
    from cinch_tui.plain.menus import Menus
    from harness.job_spec import JobInput
    from harness.jobs import Job

_OUTPUT_CHARS = 2_000
_ANSWER_TIMEOUT_S = 3.0
"""Seconds that a program has to answer what the user typed."""


async def type_into(job: Job, terminal: JobInput, menus: Menus, writer: LineWriter) -> None:
    """Show what a program has printed or drawn, type a line into it, and show its answer.

    While the program draws on its terminal, keys are written as `<escape>`, and Enter is not pressed after the line.
    """
    async with menus.lock:
        writer.write(job.id, _visible(job, terminal))
        is_drawn = terminal.screen is not None
        how = "not shown, and not seen by the model" if terminal.hides_input else "the model sees it"
        keys = "; keys as <escape>, <up>, <ctrl-c>, <enter>" if is_drawn else ""
        try:
            typed = await menus.line(f"Type ({how}{keys}): ", opens=True, hidden=terminal.hides_input)
        except InputClosed:
            return
    application = terminal.uses_application_keys
    terminal.type((typed_characters(typed, application=application) if is_drawn else f"{typed}\r").encode())
    await job.owner.wait_until_settled(job, _ANSWER_TIMEOUT_S)
    writer.write(job.id, _visible(job, terminal))


def _visible(job: Job, terminal: JobInput) -> str:
    screen = terminal.screen
    return screen.text if screen else job.spec.output.latest(_OUTPUT_CHARS).rstrip("\n")
