"""Status command: a user's command whose first line of output is shown in the status bar.

It receives JSON on stdin. It runs at most once per configured interval, after a turn, without a terminal, and is killed
with all its children when its time is up.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

from cinch_tui.controller.controller import SessionController
from harness.events import AgentEnd, Event, TurnEnd

StatusInput: TypeAlias = Mapping[str, str | int | float | None]

TIMEOUT_S = 3.0
MAX_CHARS = 200


class StatusCommand:
    def __init__(self, command: str, cwd: Path, interval: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Create a command that runs at most once in `interval` seconds."""
        self._command = command
        self._cwd = cwd
        self._interval = interval
        self._clock = clock
        self._ran_at: float | None = None
        self._is_running = False

    async def line(self, status: StatusInput) -> str | None:
        """Run the command and return its first line; None if it is not due, fails to start, or times out."""
        now = self._clock()
        is_early = self._ran_at is not None and now - self._ran_at < self._interval
        if not self._command or self._is_running or is_early:
            return None
        self._ran_at, self._is_running = now, True
        try:
            return await self._run(json.dumps(status).encode())
        except OSError:
            return None
        finally:
            self._is_running = False

    async def _run(self, stdin: bytes) -> str | None:
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
            async with asyncio.timeout(TIMEOUT_S):
                with suppress(ConnectionError):
                    process.stdin.write(stdin + b"\n")
                    process.stdin.close()
                line = await process.stdout.readline()
        except (TimeoutError, ValueError):
            # ValueError: the line is longer than the buffer of the stream.
            return None
        finally:
            # The process group outlives its leader if the command left something in the background.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        return line.decode(errors="replace").strip()[:MAX_CHARS]


def status_line_updater(controller: SessionController) -> Callable[[Event], None]:
    """Return a subscriber that runs the configured status command after turns and shows its line."""
    # The setting may change at any time; each command remembers when it ran.
    commands: dict[tuple[str, float], StatusCommand] = {}

    async def show(command: StatusCommand) -> None:
        line = await command.line(status_input(controller))
        if line is not None:
            controller.view.widgets.set_status(command_line=line)

    def receive(event: Event) -> None:
        ui = controller.settings.ui
        if ui.status_command and isinstance(event, TurnEnd | AgentEnd):
            wanted = (ui.status_command, ui.status_interval_s)
            command = commands.setdefault(wanted, StatusCommand(wanted[0], controller.options.cwd, wanted[1]))
            controller.app.run_worker(partial(show, command), group="status")

    return receive


def status_input(controller: SessionController) -> StatusInput:
    """Return what the command receives as JSON."""
    agent, status = controller.agent, controller.view.widgets.status.status
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
        "context_tokens": controller.context_tokens,
        "context_window": controller.context_window,
    }
