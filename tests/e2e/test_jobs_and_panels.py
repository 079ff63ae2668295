from __future__ import annotations

from pathlib import Path

import pytest
from fakes.processes import is_alive
from fakes.script import Reply

pytestmark = pytest.mark.pty

SERVER = "echo $$ > pid; echo listening on 4000; sleep 300"


def bash(command: str, **more: object) -> tuple[str, dict[str, object]]:
    return "bash", {"command": command, **more}


def test_background_command_is_inspected_and_ends_with_the_program(terminal, serve, project: Path):
    server = serve([Reply(calls=[bash(SERVER)]), Reply("The server runs.")])
    app = terminal("--approve", "off", env={"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"})
    app.see("Ask for a change")
    app.enter("start it")
    app.see("listening on 4000.*F9 selects")

    app.type("\x1b[20~")
    app.see("b runs in the background")
    app.type("b")

    app.see("The server runs.")
    app.see("job-1 continues in the background")
    app.enter("/jobs")
    app.see(r"‹Jobs 1›")
    app.type("\r")
    app.see("job-1: running for")
    app.type("\x1b")
    app.miss("job-1: running for")
    pid = int((project / "pid").read_text())
    assert is_alive(pid)

    app.enter("/quit")
    app.see("/quit again quits and stops 1 background job")
    app.enter("/quit")

    app.see("Stopped 1 background job: echo")
    assert app.wait() == 0
    assert not is_alive(pid)
