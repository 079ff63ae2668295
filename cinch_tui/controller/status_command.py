"""A person's own command that has a line in the status bar: it gets JSON, and the first line that it prints is shown.

Harmless whatever it does: it runs after a turn and no more often than is set, gets no terminal, and is killed with all
that it started when its time is up.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from harness.events import AgentEnd, Event, TurnEnd

if TYPE_CHECKING:
    from cinch_tui.controller.controller import SessionController

Facts: TypeAlias = Mapping[str, str | int | float | None]

PATIENCE = 3.0
SHOWN = 200


class StatusCommand:
    def __init__(self, command: str, cwd: Path, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._command = command
        self._cwd = cwd
        self._seconds = seconds
        self._clock = clock
        self._ran_at: float | None = None
        self._is_on = False

    async def line(self, facts: Facts) -> str | None:
        """What it says now; None where it is not its time, or it does not end."""
        now = self._clock()
        is_early = self._ran_at is not None and now - self._ran_at < self._seconds
        if not self._command or self._is_on or is_early:
            return None
        self._ran_at, self._is_on = now, True
        try:
            return await self._said(json.dumps(facts).encode())
        except OSError:
            return None
        finally:
            self._is_on = False

    async def _said(self, facts: bytes) -> str | None:
        process = await asyncio.create_subprocess_shell(
            self._command,
            cwd=self._cwd,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE):
                with suppress(ConnectionError):
                    process.stdin.write(facts + b"\n")
                    process.stdin.close()
                said = await process.stdout.readline()
        except (TimeoutError, ValueError):
            # Its time was up, or its line had no end.
            return None
        finally:
            # The group outlives its leader where something was left in the background.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        return said.decode(errors="replace").strip()[:SHOWN]


def show_after_turns(controller: SessionController) -> Callable[[Event], None]:
    """Hears the agent, and has the command's line shown."""
    # What is set may change at any time; what is set has one command that remembers when it ran.
    commands: dict[tuple[str, float], StatusCommand] = {}

    async def show(command: StatusCommand) -> None:
        line = await command.line(facts_of(controller))
        if line is not None:
            bar = controller.screen.widgets.status
            bar.status = replace(bar.status, told=line)

    def hear(event: Event) -> None:
        ui = controller.settings.ui
        if ui.status_command and isinstance(event, TurnEnd | AgentEnd):
            wanted = (ui.status_command, ui.status_seconds)
            command = commands.setdefault(wanted, StatusCommand(wanted[0], controller.options.cwd, wanted[1]))
            controller.screen.run_worker(show(command), group="status")

    return hear


def facts_of(controller: SessionController) -> Facts:
    """What the command is told."""
    agent, status = controller.agent, controller.screen.widgets.status.status
    return {
        "session_id": agent.session_id,
        "cwd": str(controller.options.cwd),
        "branch": status.branch,
        "state": status.state,
        "mode": agent.state.mode.name,
        "model": agent.state.model.spec.name,
        "tokens_in": status.tokens_in,
        "tokens_out": status.tokens_out,
        "cost_usd": status.cost,
        "context_tokens": agent.history.context,
        "context_window": agent.state.model_info.context_window,
    }
