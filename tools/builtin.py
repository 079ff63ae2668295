"""Loaders of the built-in tools, in the order a model sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.ports.tool import Tool


def loaders(secrets: Callable[[], Iterable[str]] = tuple) -> dict[str, Callable[[], Tool]]:
    """Return a loader for each tool name: pydantic is imported only for tools that are called."""
    return {
        "read_file": _read,
        "write_file": _write,
        "edit_file": _edit,
        "list_files": _list,
        "find_files": _find,
        "grep": _grep,
        "bash": partial(_bash, secrets),
        "job_output": _job_output,
        "job_kill": _job_kill,
        "todo": _todo,
        "ask_user": _ask,
        "delegate_sub_agent": _delegate,
        "submit_plan": _plan,
    }


def _read() -> Tool:
    from tools.read import ReadTool

    return ReadTool()


def _write() -> Tool:
    from tools.write import WriteTool

    return WriteTool()


def _edit() -> Tool:
    from tools.edit import EditTool

    return EditTool()


def _list() -> Tool:
    from tools.list import ListTool

    return ListTool()


def _find() -> Tool:
    from tools.find import FindTool

    return FindTool()


def _grep() -> Tool:
    from tools.grep import GrepTool

    return GrepTool()


def _bash(secrets: Callable[[], Iterable[str]]) -> Tool:
    from tools.bash import BashTool

    return BashTool(secrets())


def _job_output() -> Tool:
    from tools.jobs import JobOutputTool

    return JobOutputTool()


def _job_kill() -> Tool:
    from tools.jobs import JobKillTool

    return JobKillTool()


def _todo() -> Tool:
    from tools.todo import TodoTool

    return TodoTool()


def _ask() -> Tool:
    from tools.ask import AskTool

    return AskTool()


def _delegate() -> Tool:
    from tools.delegate import DelegateTool

    return DelegateTool()


def _plan() -> Tool:
    from tools.plan import PlanTool

    return PlanTool()
