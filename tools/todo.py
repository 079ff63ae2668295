"""todo: the model's list of steps, shown to the user. Each call replaces the whole list."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.views import TodoItem, TodoView
from tools.typed import Parameters, TypedTool


class TodoEntry(Parameters):
    content: Annotated[str, Meta(min_length=1, description="The step, in a few words.")]
    status: Annotated[
        Literal["pending", "in_progress", "completed"],
        Meta(description="Keep one step in progress.", extra_json_schema={"type": "string"}),
    ]


class TodoArguments(Parameters):
    todos: Annotated[
        list[TodoEntry], Meta(max_length=100, description="The complete list; it replaces the previous one.")
    ]


class TodoTool(TypedTool[TodoArguments]):
    name = "todo"
    label = "Steps"
    risk_level = "none"
    Arguments = TodoArguments

    def summary(self, arguments: JsonObject) -> str:
        todos = arguments.get("todos")
        entries = [entry for entry in todos if isinstance(entry, dict)] if isinstance(todos, list) else []
        done = sum(entry.get("status") == "completed" for entry in entries)
        current = next((entry.get("content") for entry in entries if entry.get("status") == "in_progress"), None)
        count = f"{done} of {len(entries)} done"
        return f"{count}, now: {current}" if isinstance(current, str) else count

    async def execute(self, arguments: TodoArguments, context: ToolContext) -> ToolOutput:
        items = tuple(TodoItem(entry.content, entry.status) for entry in arguments.todos)
        return ToolOutput.text(_state(items), view=TodoView(items))


def _state(items: tuple[TodoItem, ...]) -> str:
    if not items:
        return "The list is empty."
    done = sum(item.status == "completed" for item in items)
    if done == len(items):
        return f"All {done} steps are done."
    return f"Updated: {done} of {len(items)} steps are done."
