"""Appending to a session file: milliseconds until a line is in it, compared with writing the same bytes."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from measure import report  # noqa: E402  the path comes first

from harness.events import Event, MessageEnd, ToolExecutionEnd, ToolExecutionStart, TurnEnd  # noqa: E402
from harness.messages import AssistantMessage, Text, ToolCall, ToolResult, new_id, user  # noqa: E402
from harness.session.recorder import SessionRecorder  # noqa: E402

TURNS = 2_000
RESULT = "One line of a file that was read, as long as such lines are.\n" * 65


def turn(number: int) -> list[Event]:
    call = ToolCall(f"call-{number}", "read_file", {"path": f"module{number}.py"})
    reply = AssistantMessage((Text("I read the module **first**, and then I change it."), call), "m-1", "scripted")
    return [
        MessageEnd(message=user(f"Look at module {number}.")),
        MessageEnd(message=reply),
        ToolExecutionStart(call=call, label="Read file", summary=""),
        ToolExecutionEnd(result=ToolResult(call.id, call.name, (Text(RESULT),))),
        TurnEnd(message=reply),
    ]


def appended(folder: Path) -> list[float]:
    """Return the duration of each append in a long conversation, in milliseconds."""
    recorder = SessionRecorder(folder, folder, new_id())
    took: list[float] = []
    for number in range(TURNS):
        for event in turn(number):
            took.append(timed(lambda event=event: recorder.store(event)))
    recorder.close()
    return took[100:]  # without imports and the creation of the file


def written(folder: Path) -> list[float]:
    """Return the duration of writing as many bytes as a result has."""
    fd = os.open(folder / "reference", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    line = RESULT.encode() + b"x" * 400
    took = [timed(lambda: os.write(fd, line)) for _ in range(TURNS * 5)]
    os.close(fd)
    return took[100:]


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        ours, plain = appended(Path(folder)), written(Path(folder))
    for name, percent in (("p50", 50), ("p99", 99)):
        cut = [statistics.quantiles(each, n=100)[percent - 1] for each in (ours, plain)]
        report(f"append to a session, {name}", *cut, unit="ms", than="os.write", goal="p99 ≤ 1 ms")
    print(f"longest: {max(ours):.2f} ms")


if __name__ == "__main__":
    main()
