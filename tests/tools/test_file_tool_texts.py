from __future__ import annotations

import json

import pytest
from syrupy.assertion import SnapshotAssertion

from harness.ports.tool import Tool
from tools.edit import EditTool
from tools.find import FindTool
from tools.grep import GrepTool
from tools.list import ListTool
from tools.read import ReadTool
from tools.write import WriteTool

FILE_TOOLS: list[Tool] = [ReadTool(), WriteTool(), EditTool(), ListTool(), FindTool(), GrepTool()]


@pytest.mark.parametrize("tool", FILE_TOOLS, ids=lambda tool: tool.name)
def test_text_for_the_model_of_each_tool(tool: Tool, snapshot: SnapshotAssertion):
    reported = f"{tool.description}\n\n{json.dumps(tool.parameters, indent=2)}"

    assert reported == snapshot
    assert "$ref" not in reported
    assert '"title"' not in reported
