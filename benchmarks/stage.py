"""Fixtures of the app benchmarks: cinch with a conversation and a scripted model, and the smallest app."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fakes.model_server import Item, ModelServer  # noqa: E402  the path comes first
from measure import as_installed  # noqa: E402
from terminal import Watched, watched  # noqa: E402

from cinch_tui.config.paths import find_paths  # noqa: E402
from harness.events import MessageEnd, ToolExecutionEnd  # noqa: E402
from harness.messages import AssistantMessage, Text, ToolCall, ToolResult, Usage, user  # noqa: E402
from harness.session.recorder import SessionRecorder  # noqa: E402

MODEL = "openai-chat/m"
READY = b"Ask for a change"
LAST = "§Thatisall§"
"""The last words of every conversation. Unchanged cells are not painted again, so a sign begins and ends with a letter
that occurs nowhere else."""
TURN_BYTES = 3_050
"""Bytes that a turn takes in a session file besides its result."""
LINES_EACH = 3
"""Lines of the smallest app per message of cinch."""


@dataclass
class Script:
    """Model script that answers with `items` and records the time of each request."""

    items: list[Item] = field(default_factory=list["Item"])
    asked: list[float] = field(default_factory=list[float])

    def __call__(self, body: dict[str, Any]) -> Item:
        del body
        self.asked.append(time.perf_counter())
        return self.items.pop(0)


def environment(home: str) -> dict[str, str]:
    return {
        **as_installed(),
        "CINCH_HOME": home,
        "CINCH_KEYRING": "off",
        "OPENAI_API_KEY": "none",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PYTHONPATH": str(ROOT),
    }


def write_session(home: str, session_id: str, turns: int, size: int, usage: Usage = Usage()) -> None:
    """Write a session like the app: turns of four messages, each of this size in the file, and a short last turn.

    The last reply reports this usage.
    """
    store = SessionRecorder(find_paths({"CINCH_HOME": home}).data, Path(home), session_id)
    # A newline takes two bytes in the file.
    filler = "One line of a file that was read, as long as such lines are.\n" * max(0, (size - TURN_BYTES) // 62)
    for number in range(turns):
        call = ToolCall(f"call-{number}", "read_file", {"path": f"m{number}.py"})
        store.store(MessageEnd(message=user(f"Look at module {number}.")))
        store.store(MessageEnd(message=AssistantMessage((Text("I read it **first**."), call), model="scripted")))
        store.store(ToolExecutionEnd(result=ToolResult(call.id, call.name, (Text(filler),))))
        store.store(MessageEnd(message=AssistantMessage((Text(f"Module {number} is fine:\n\n- short\n- tested"),))))
    store.store(MessageEnd(message=user("And?")))
    store.store(MessageEnd(message=AssistantMessage((Text(LAST),), model="scripted", usage=usage)))
    store.close()


@contextmanager
def cinch(script: Script, messages: int = 0) -> Generator[Watched]:
    """Run the app with a conversation of this many messages; yield when it is idle."""
    with tempfile.TemporaryDirectory() as home, ModelServer(script) as server:
        (Path(home) / "module.py").write_text("def load():\n    return 1\n" * 20, encoding="utf-8")
        command = [sys.executable, "-m", "cinch_tui", "-m", MODEL, "--base-url", server.openai_url]
        if messages:
            write_session(home, "behind", messages // 4, TURN_BYTES + 600)
            command += ["-r", "behind"]
        with watched(command, environment(home), home) as app:
            app.see(LAST.encode() if messages else MODEL.encode())
            app.settle(1)
            yield app


@contextmanager
def smallest(messages: int = 0, rate: int = 0, *, takes_lines: bool = False) -> Generator[Watched]:
    """Run the smallest app with a conversation of that length, streaming at this rate."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, str(ROOT / "benchmarks" / "smallest.py")]
        command += ["--lines", str(messages * LINES_EACH), "--rate", str(rate)]
        if takes_lines:
            command.append("--takes-lines")
        with watched(command, environment(home), home) as app:
            app.see(READY)
            app.watch(1)
            yield app
