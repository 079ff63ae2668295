"""Task types in a session: the one of each prompt, by its rules, by classifiers, or as the user chose."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.fuzzy_match import did_you_mean
from extensions.locations import Root, extension_files
from harness.entry_points import PackageObjects, created
from harness.errors import ConfigError
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.config.options import Options
    from cinch_tui.config.tables.tasks import TaskSettings
    from extensions.lifecycle.classification import Classification, TaskClassifier
    from extensions.lifecycle.run_task import ChosenTask, RunTask
    from extensions.lifecycle.task_types import TaskType
    from harness.agent.agent import Agent
    from harness.messages import ModelSpec, Usage, UserMessage
    from harness.ports.provider import Model

GROUP = "cinch.task_classifiers"
NONE = "none"
"""Name that chooses no task type."""

ConnectCheap: TypeAlias = Callable[[str], Awaitable["Model | None"]]
"""Function that connects a model for small tasks by its name; empty for the cheap model of the provider in use."""


class ClassifiedPrompt(Struct, frozen=True):
    """A prompt with its task type."""

    message_id: str
    """Id of its message."""
    found: Classification | None
    """The task type; None if it has none."""


class TaskSession:
    """Task types of an agent. Without any, its runs have no hook.

    Args:
        agent: The agent.
        options: Options of the start.
    """

    def __init__(self, agent: Agent, options: Options) -> None:
        self.types: tuple[TaskType, ...] = ()
        self.chosen = ""
        """Task type that the user chose for the next prompt; empty for none."""
        self.latest: ClassifiedPrompt | None = None
        """The latest prompt with its task type."""
        self.classifiers: tuple[TaskClassifier, ...] = ()
        """Classifiers of packages, asked after the rules of the task types and before a model."""
        self._agent = agent
        self._options = options
        self._models: tuple[TaskClassifier, ...] = ()
        self._hook: RunTask | None = None
        self._lock = asyncio.Lock()

    async def load(self, roots: Sequence[Root], settings: TaskSettings, connect: ConnectCheap) -> list[str]:
        """Use the task types in these folders from the next run on, and return problems for the user.

        Args:
            roots: Folders with extensions.
            settings: Settings.
            connect: Connects the model that classifies prompts.
        """
        problems: list[str] = []
        self.types = ()
        if settings.enabled and await asyncio.to_thread(_has_files, roots):
            # Imported here because many users have no task types.
            from extensions.lifecycle.task_types import load_task_types

            loaded = await asyncio.to_thread(load_task_types, roots)
            self.types, problems = loaded.types, list(loaded.problems)
            packages = package_classifiers()
            self.classifiers = tuple(await asyncio.to_thread(packages.usable))
            problems += packages.problems()
        self._attach()
        self._models = self._model_classifiers(settings.model, connect)
        if self.chosen not in ("", NONE, *(each.name for each in self.types)):
            self.chosen = ""
        return problems

    def choose(self, name: str) -> None:
        """Use a task type for the next prompt; `none` for no type, empty to find it from the prompt.

        Raises:
            ConfigError: it does not exist.
        """
        names = [each.name for each in self.types]
        if name and name != NONE and name not in names:
            raise ConfigError(f"there is no task type {name!r}{did_you_mean(name, names, otherwise=_known(names))}")
        self.chosen = name

    def _attach(self) -> None:
        """Give the runs of the agent a hook, or remove it."""
        options = self._agent.options
        others = tuple(each for each in options.hooks if each is not self._hook)
        self._hook = None
        if self.types:
            from extensions.lifecycle.run_task import RunTask

            self._hook = RunTask(self._task_of)
            others = (*others, self._hook)
        if others != tuple(options.hooks):
            self._agent.options = replace(options, hooks=others)

    def _model_classifiers(self, name: str, connect: ConnectCheap) -> tuple[TaskClassifier, ...]:
        if not name or not self.types:
            return ()
        from extensions.lifecycle.model_classifier import ModelClassifier

        wanted = "" if name == "small" else name
        return (ModelClassifier(lambda: connect(wanted), self._count),)

    def _count(self, spec: ModelSpec, usage: Usage) -> None:
        from harness.events import UsageAdded

        self._agent.state.ledger.add(spec.name, usage)
        self._agent.publish(UsageAdded(model=spec.name, usage=usage, source="task"))

    async def _task_of(self, prompt: UserMessage) -> ChosenTask | None:
        """Return the task type of a prompt with its instructions."""
        from cinch_tui.user_input import user_input_of
        from extensions.lifecycle.run_task import ChosenTask

        text = user_input_of(prompt).text
        # Several models may get the same prompt at once.
        async with self._lock:
            if self.latest is None or self.latest.message_id != prompt.id:
                self.latest = ClassifiedPrompt(prompt.id, await self._find(text))
                self.chosen = ""
            found = self.latest.found
        task = next((each for each in self.types if found and each.name == found.name), None)
        if task is None or found is None:
            return None
        return ChosenTask(task, escape_controls(found.reason), await self._instructions(task, text))

    async def _find(self, text: str) -> Classification | None:
        from extensions.lifecycle.classification import Classification, classify

        if self.chosen:
            return None if self.chosen == NONE else Classification(self.chosen, "chosen by the user")
        return await classify(text, self.types, (*self.classifiers, *self._models))

    async def _instructions(self, task: TaskType, text: str) -> str:
        """Return the text of a template; empty, and a notice, if it cannot be rendered."""
        from extensions.lifecycle.run_task import allows_tool
        from extensions.lifecycle.templates import TemplateError
        from extensions.lifecycle.variables import RunFacts, run_values, system_values

        if task.template is None or task.template.is_plain:
            return task.template.source if task.template else ""
        state, options = self._agent.state, self._options
        tools = tuple(tool for tool in state.available_tools if allows_tool(task, tool.name))
        facts = RunFacts(text, task.name, state.model.spec.name, tools)
        try:
            system = await asyncio.to_thread(system_values, self._agent.workspace.root, options.environ)
            return await asyncio.to_thread(task.template.render, {**system, **run_values(facts)})
        except TemplateError as error:
            self._agent.notify(escape_controls(f"The instructions of the task type are not used: {error}"), "warning")
            return ""


def package_classifiers() -> PackageObjects[TaskClassifier]:
    """Return the task classifiers of packages."""
    return PackageObjects(GROUP, _classifier)


def _classifier(found: object, name: str) -> TaskClassifier:
    del name
    classifier = created(found)
    if not callable(getattr(classifier, "classify", None)):
        raise ConfigError("it has no method classify")
    return cast("TaskClassifier", classifier)  # checked when it answers


def _has_files(roots: Sequence[Root]) -> bool:
    return next(extension_files("task", roots), None) is not None


def _known(names: Sequence[str]) -> str:
    return f"; there are {', '.join(names)}" if names else "; .cinch/tasks/ has none"
