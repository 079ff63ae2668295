"""Classification of prompts: which task type one has, and why."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Protocol

from msgspec import Struct

from extensions.lifecycle.task_types import TaskType

logger = logging.getLogger(__name__)

MAX_PROMPT = 20_000
"""Maximum length of the beginning of a prompt that rules look at, in characters."""
TIMEOUT_S = 10.0
"""Seconds that one classifier may take."""
_PATHS = re.compile(r"[\w.~/-]*(?:/[\w.-]+|\.\w+)")
_REASONS = 3


class Classification(Struct, frozen=True):
    """The task type of a prompt."""

    name: str
    """Name of the task type."""
    reason: str = ""
    """Reason, shown to users."""


class TaskClassifier(Protocol):
    """Finds the task type of a prompt.

    Packages add one with an entry point of the group `cinch.task_classifiers`, which names an instance or a class
    without arguments. Classifiers are asked in order, after the rules of the task types; the first answer counts.
    """

    async def classify(self, prompt: str, types: Sequence[TaskType]) -> Classification | None:
        """Return the task type of a prompt, or None if it is not known.

        Cancelled after `TIMEOUT_S` seconds, or when the user stops the run. An exception counts as None.

        Args:
            prompt: Text of the prompt.
            types: Task types to choose from.
        """
        ...


class TaskRules:
    """Classifier by the keywords, patterns and files of the task types: the most matches win, then the first type."""

    async def classify(self, prompt: str, types: Sequence[TaskType]) -> Classification | None:
        text = prompt[:MAX_PROMPT]
        paths = mentioned_paths(text)
        found = [(each, matches_of(each, text, paths)) for each in types]
        task, matches = max(found, key=lambda each: len(each[1]), default=(None, ()))
        if task is None or not matches:
            return None
        more = ", …" if len(matches) > _REASONS else ""
        return Classification(task.name, f"matches {', '.join(matches[:_REASONS])}{more}")


async def classify(
    prompt: str, types: Sequence[TaskType], classifiers: Sequence[TaskClassifier] = ()
) -> Classification | None:
    """Return the task type of a prompt by rules, then by classifiers, else the default one; None if it has none.

    A classifier that fails is logged, and the next one is asked.
    """
    for each in (TaskRules(), *classifiers):
        found = await _attempt(each, prompt, types)
        if found is not None:
            return found
    default = next((each for each in types if each.is_default), None)
    return Classification(default.name, "the default type") if default else None


async def _attempt(classifier: TaskClassifier, prompt: str, types: Sequence[TaskType]) -> Classification | None:
    name = type(classifier).__name__
    try:
        async with asyncio.timeout(TIMEOUT_S):
            found = await classifier.classify(prompt, types)
    except Exception as error:  # noqa: BLE001  code of another package; may raise
        logger.warning("the task classifier %s failed: %r", name, error)
        return None
    if found is not None and not any(each.name == found.name for each in types):
        logger.warning("the task classifier %s named an unknown type: %r", name, found.name)
        return None
    return found


def matches_of(task: TaskType, text: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a prompt that fit the rules of a task type, each rule once."""
    words = (found[0] for each in task.keywords if (found := each.search(text)))
    files = (path for each in task.files if (path := _first_fitting(each, paths)))
    return tuple(dict.fromkeys(" ".join(each.split())[:40] for each in (*words, *files)))


def mentioned_paths(text: str) -> tuple[str, ...]:
    """Return what looks like a path in a text: `src/app.py`, `README.md`, `tests/`."""
    return tuple(dict.fromkeys(found[0].rstrip(".") for found in _PATHS.finditer(text)))


def _first_fitting(pattern: str, paths: Sequence[str]) -> str:
    """Return the first path that fits a pattern; one without a slash is compared with names."""
    wanted = pattern.removeprefix("./")
    return next((path for path in paths if fnmatchcase(path if "/" in wanted else PurePath(path).name, wanted)), "")
