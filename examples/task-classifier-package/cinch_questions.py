"""A task classifier that recognizes questions."""

from __future__ import annotations

from collections.abc import Sequence

from extensions.lifecycle.classification import Classification
from extensions.lifecycle.task_types import TaskType


class Questions:
    """Finds the task type `question` for prompts that end with a question mark."""

    async def classify(self, prompt: str, types: Sequence[TaskType]) -> Classification | None:
        is_known = any(each.name == "question" for each in types)
        return Classification("question", "ends with ?") if is_known and prompt.rstrip().endswith("?") else None
