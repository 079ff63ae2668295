"""Spawn to the last message painted, for a session of 10,000 messages (100 MB) against a short one; and its memory."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from measure import in_turn, report  # noqa: E402  the path comes first
from terminal import watched  # noqa: E402

from cinch_tui.paths import find_paths  # noqa: E402
from harness.messages import new_id  # noqa: E402
from harness.session.places import session_path  # noqa: E402

RUNS = 5
MESSAGES = 10_000
BYTES = 100_000_000
LAST = "Thatisall."
"""What is looked for on the screen."""


def lines(count: int, size: int) -> Iterable[dict[str, object]]:
    """Turns of four messages as they are written down, each result with so many bytes of text, and a short last one."""
    filler = "One line of a file that was read, as long as such lines are.\n" * (size // 61)
    for number in range(count // 4):
        call = {"type": "tool_use", "id": f"call-{number}", "name": "read_file", "input": {"path": f"m{number}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"call-{number}", "content": filler}
        yield message("user", f"Look at module {number}.")
        yield message("assistant", [{"type": "text", "text": "I read it **first**."}, call])
        yield message("user", [result])
        yield message("assistant", [{"type": "text", "text": f"Module {number} is fine:\n\n- short\n- tested"}])
    yield message("user", "And?")
    yield message("assistant", [{"type": "text", "text": LAST}])


def message(role: str, content: object) -> dict[str, object]:
    return {"type": role, "message": {"role": role, "id": new_id(), "model": "scripted", "content": content}}


def write_session(home: str, session_id: str, count: int, size: int) -> None:
    path = session_path(find_paths({"CINCH_HOME": home}).data, Path(home), session_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    parent: str | None = None
    with path.open("w", encoding="utf-8") as file:
        for line in lines(count, size):
            own = new_id()
            head = {"parentUuid": parent, "isSidechain": False, **line, "uuid": own, "sessionId": session_id}
            file.write(json.dumps({**head, "cwd": home, "timestamp": "2026-01-02T03:04:05.678Z"}) + "\n")
            parent = own


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "CINCH_HOME": home, "CINCH_KEYRING": "off", "TERM": "xterm-256color"}
        env["PYTHONPATH"] = str(ROOT)
        write_session(home, "short", 0, 0)
        write_session(home, "long", MESSAGES, BYTES * 4 // MESSAGES)
        memories: dict[str, float] = {}

        def opened(session_id: str) -> float:
            command = [sys.executable, "-m", "cinch_tui", "-m", "demo", "-r", session_id]
            with watched(command, env, home) as cinch:
                took = cinch.see(LAST.encode())
                cinch.settle()
                memories[session_id] = cinch.memory()
            return took

        long, short = in_turn(RUNS, partial(opened, "long"), partial(opened, "short"))
        report("10,000 messages opened", long, short, unit="ms", than="two messages", goal="≤ 300 ms more")
        report("its memory", memories["long"], memories["short"], unit="MB", than="two messages", goal="≤ 30 MB more")


if __name__ == "__main__":
    main()
