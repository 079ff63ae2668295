"""What a model can do: each tool in a file of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.tool import Tool


def builtin_tools(*, secrets: Iterable[str] = ()) -> list[Tool]:
    """Every built-in tool, in the order a model sees them.

    `secrets` names environment variables that a command must not see, beside the keys of known model services.
    """
    # Tools bring pydantic and more: only who builds an agent pays for them.
    from tools.ask import AskTool
    from tools.bash import BashTool
    from tools.edit import EditTool
    from tools.find import FindTool
    from tools.grep import GrepTool
    from tools.list import ListTool
    from tools.plan import PlanTool
    from tools.read import ReadTool
    from tools.todo import TodoTool
    from tools.write import WriteTool

    return [
        ReadTool(),
        WriteTool(),
        EditTool(),
        ListTool(),
        FindTool(),
        GrepTool(),
        BashTool(secrets),
        TodoTool(),
        AskTool(),
        PlanTool(),
    ]
