from __future__ import annotations

import asyncio
import logging
import signal
from asyncio.subprocess import PIPE

import pytest

from harness.concurrency import end_process

OFTEN = 100
"""The race occurs for every fourth process that is killed while it exits."""


async def test_exited_process_keeps_its_exit_code_silently(caplog: pytest.LogCaptureFixture):
    codes: set[int | None] = set()
    with caplog.at_level(logging.WARNING, "asyncio"):
        for _ in range(OFTEN):
            process = await asyncio.create_subprocess_exec("true", stdout=PIPE)
            assert process.stdout is not None
            await process.stdout.read()
            await end_process(process)
            codes.add(process.returncode)

    assert codes <= {0, -signal.SIGKILL}
    assert caplog.records == []


async def test_running_process_is_killed():
    process = await asyncio.create_subprocess_exec("sleep", "300")

    await end_process(process)
    await end_process(process)

    assert process.returncode == -signal.SIGKILL
