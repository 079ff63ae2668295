"""Spawn to the last message painted, for a session of 10,000 messages (100 MB) against a short one; and its memory."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from measure import in_turn, report  # noqa: E402  the path comes first
from terminal import watched  # noqa: E402

from cinch_tui.paths import find_paths  # noqa: E402
from harness.events import MessageEnd, ToolExecutionEnd  # noqa: E402
from harness.messages import AssistantMessage, Text, ToolCall, ToolResult, user  # noqa: E402
from harness.session.store import SessionStore  # noqa: E402

RUNS = 5
MESSAGES = 10_000
BYTES = 100_000_000
LAST = "Thatisall."
"""What is looked for on the screen."""

SHORT, LONG = "short", "long"


def write_session(home: str, session_id: str, turns: int, size: int) -> None:
    """A session as the app writes it: turns of four messages, each result with so many bytes, and a short last one."""
    store = SessionStore(find_paths({"CINCH_HOME": home}).data, Path(home), session_id)
    filler = "One line of a file that was read, as long as such lines are.\n" * (size // 61)
    for number in range(turns):
        call = ToolCall(f"call-{number}", "read_file", {"path": f"m{number}.py"})
        store.store(MessageEnd(message=user(f"Look at module {number}.")))
        store.store(MessageEnd(message=AssistantMessage((Text("I read it **first**."), call), model="scripted")))
        store.store(ToolExecutionEnd(result=ToolResult(call.id, call.name, (Text(filler),))))
        store.store(MessageEnd(message=AssistantMessage((Text(f"Module {number} is fine:\n\n- short\n- tested"),))))
    store.store(MessageEnd(message=user("And?")))
    store.store(MessageEnd(message=AssistantMessage((Text(LAST),), model="scripted")))
    store.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "CINCH_HOME": home, "CINCH_KEYRING": "off", "TERM": "xterm-256color"}
        env["PYTHONPATH"] = str(ROOT)
        write_session(home, SHORT, 0, 0)
        write_session(home, LONG, MESSAGES // 4, BYTES * 4 // MESSAGES)
        memories: dict[str, float] = {}

        def opened(session_id: str) -> float:
            command = [sys.executable, "-m", "cinch_tui", "-m", "demo", "-r", session_id]
            with watched(command, env, home) as cinch:
                took = cinch.see(LAST.encode())
                cinch.settle()
                memories[session_id] = cinch.memory()
            return took

        long, short = in_turn(RUNS, partial(opened, LONG), partial(opened, SHORT))
        report("10,000 messages opened", long, short, unit="ms", than="two messages", goal="≤ 300 ms more")
        report("its memory", memories[LONG], memories[SHORT], unit="MB", than="two messages", goal="≤ 30 MB more")


if __name__ == "__main__":
    main()
