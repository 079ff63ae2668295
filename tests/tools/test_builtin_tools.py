from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from harness.modes import EXECUTE, PLAN, tools_of
from tools import builtin_tools

ORDER = [
    "read_file",
    "write_file",
    "edit_file",
    "list_files",
    "find_files",
    "grep",
    "bash",
    "todo",
    "ask_user",
    "submit_plan",
]


def test_tools_come_in_the_order_the_model_sees() -> None:
    assert [tool.name for tool in builtin_tools()] == ORDER


def test_every_tool_describes_itself() -> None:
    for tool in builtin_tools():
        assert len(tool.description) > 100, tool.name
        assert tool.label
        assert tool.parameters["type"] == "object"


def test_a_summary_never_fails_on_half_streamed_arguments() -> None:
    for tool in builtin_tools():
        for arguments in ({}, {"command": None}, {"todos": [1, {"status": "in_progress"}]}, {"prompt": ["x"]}):
            assert isinstance(tool.summary(arguments), str)


def test_plan_mode_can_read_ask_and_submit_only() -> None:
    shown = [tool.name for tool in tools_of(PLAN, builtin_tools())]

    assert shown == ["read_file", "list_files", "find_files", "grep", "todo", "ask_user", "submit_plan"]
    assert [tool.name for tool in tools_of(EXECUTE, builtin_tools())] == ORDER[:-1]


def test_importing_the_tools_folder_loads_no_tool() -> None:
    code = "import sys, tools; print([m for m in sys.modules if m.startswith(('tools.', 'pydantic', 'tree_sitter'))])"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])

    assert loaded.stdout.strip() == "[]"


def test_building_the_tools_does_not_load_the_shell_grammar() -> None:
    code = "import sys, tools; tools.builtin_tools(); print('tree_sitter' in sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])

    assert loaded.stdout.strip() == "False"
