from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

# Modules that display or create a conversation are imported after the first paint.
NOT_YET = {
    "cinch_tui.assembly",
    "cinch_tui.controller.bridge",
    "cinch_tui.commands.registry",
    "cinch_tui.config.file",
    "cinch_tui.rendering.code",
    "cinch_tui.rendering.diff",
    "cinch_tui.widgets.chat_widgets",
    "cinch_tui.screens.dialog",
    "cinch_tui.transcript.view",
    "cinch_tui.trust",
    "cinch_tui.widgets.tool_panel",
    "harness.agent.agent",
    "harness.messages",
    "harness.views",
    "httpx",
    "importlib.metadata",
    "markdown_it",
    "providers",
    "pydantic",
    "pygments.lexers",
    "tools",
    "tree_sitter_bash",
}
REPORT = """
import os, sys
from textual.drivers.linux_driver import LinuxDriver
from cinch_tui.cli.main import main
write = LinuxDriver.write
def stop_at_paint(driver, data):
    write(driver, data)
    if "sk for a change" in data:
        driver.flush()
        open({names!r}, "w").write("\\n".join(sys.modules))
        os._exit(0)
LinuxDriver.write = stop_at_paint
main(["-m", "demo"])
"""


def test_first_paint_imports_no_conversation_module(tmp_path: Path) -> None:
    names = tmp_path / "names"
    ours, terminal = pty.openpty()

    subprocess.run(
        [sys.executable, "-c", REPORT.format(names=str(names))],
        env={**os.environ, "CINCH_HOME": str(tmp_path), "TERM": "xterm-256color"},
        stdin=terminal,
        stdout=terminal,
        check=False,
        timeout=60,
    )

    os.close(ours)
    os.close(terminal)
    assert NOT_YET & set(names.read_text(encoding="utf-8").split()) == set()
