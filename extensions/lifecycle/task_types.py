"""Task types: what runs of one kind get besides the prompt, such as instructions, fewer tools and lower limits.

A file `tasks/NAME.toml` in a folder of extensions is one task type. The first of several with the same name counts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, ValidationError, convert

from extensions.lifecycle.templates import Template, TemplateError, parse_template
from extensions.lifecycle.variables import TASK_VARIABLES
from extensions.locations import ExtensionFile, Root, extension_files
from harness.agent.limits import Limits
from harness.errors import NotAFile
from harness.terminal_text import escape_controls
from harness.workspace.disk import read_small_text

MAX_BYTES = 64 * 1024
"""Maximum size of a file, in bytes."""
_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,63}")


class TaskType(Struct, frozen=True):
    """A kind of task."""

    name: str
    """Name of its file, without the suffix."""
    description: str = ""
    """Purpose, for users and for models that classify prompts."""
    keywords: tuple[re.Pattern[str], ...] = ()
    """Words that prompts of this type contain, and other regular expressions."""
    files: tuple[str, ...] = ()
    """Patterns of files that prompts of this type mention."""
    is_default: bool = False
    """True if prompts that fit no type have this one."""
    template: Template | None = None
    """Instructions for the model; None for none."""
    tools: tuple[str, ...] = ()
    """Name patterns of the tools that runs may use; empty: all."""
    limits: Limits = Limits(max_turns=0)
    """Limits of a run, besides those of the settings."""
    markers: tuple[str, ...] = ()
    """Texts of which the last reply of a run must contain one; empty: a run ends with any reply without tool calls."""
    max_continuations: int = 3
    """Maximum number of times that a run is continued because its last reply has no marker."""
    source: str = ""
    """Path of its file; empty for one of a program."""


class LoadedTaskTypes(Struct, frozen=True):
    """Task types of an agent."""

    types: tuple[TaskType, ...] = ()
    """The task types, the strongest root first, by name within it."""
    problems: tuple[str, ...] = ()
    """Problems to report to the user."""


def load_task_types(roots: Iterable[Root]) -> LoadedTaskTypes:
    """Read all task types. Never raises."""
    found: dict[str, TaskType] = {}
    problems: list[str] = []
    for file in extension_files("task", roots):
        try:
            task = _read(file)
        except (NotAFile, OSError, ValueError) as error:
            problems.append(f"{escape_controls(str(file.path))} is skipped: {escape_controls(_reason(error))}")
        else:
            found.setdefault(task.name, task)
    return LoadedTaskTypes(tuple(found.values()), tuple(problems))


class _Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[limits]`, with the names of the settings."""

    max_turns: int = 0
    max_tokens: int = 0
    max_duration_s: float = 0.0
    max_cost_usd: float = 0.0


class _Completion(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[completion]`."""

    markers: tuple[str, ...] = ()
    max_continuations: int = 3


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a file."""

    description: str = ""
    keywords: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    default: bool = False
    template: str = ""
    tools: tuple[str, ...] = ()
    limits: _Limits = _Limits()
    completion: _Completion = _Completion()


def _read(file: ExtensionFile) -> TaskType:
    """Read one file.

    Raises:
        NotAFile, OSError, ValueError: It cannot be read, or has an invalid value.
    """
    name = "-".join(file.parts)
    if _NAME.fullmatch(name) is None:
        raise ValueError("its name may have letters, digits, hyphens and underscores, 64 at most")
    values = convert(tomllib.loads(read_small_text(file.path, MAX_BYTES)), _File)
    limits = values.limits
    return TaskType(
        name=f"{file.root.plugin}:{name}" if file.root.plugin else name,
        description=values.description,
        keywords=(*map(keyword_pattern, values.keywords), *map(_pattern, values.patterns)),
        files=values.files,
        is_default=values.default,
        template=_template(values.template, file.path),
        tools=values.tools,
        limits=Limits(limits.max_turns, limits.max_tokens, limits.max_duration_s, limits.max_cost_usd),
        markers=tuple(filter(None, map(str.strip, values.completion.markers))),
        max_continuations=values.completion.max_continuations,
        source=str(file.path),
    )


def keyword_pattern(keyword: str) -> re.Pattern[str]:
    """Return the pattern of a word or phrase in any case; `*` stands for any letters: `crash*`."""
    words = r"\s+".join(re.escape(word).replace(r"\*", r"\w*") for word in keyword.split())
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE | re.MULTILINE)
    except re.error as error:
        raise ValueError(f"the regular expression {text!r} is not valid: {error}") from error


def _template(text: str, path: Path) -> Template | None:
    return parse_template(text, str(path), TASK_VARIABLES) if text.strip() else None


def _reason(error: Exception) -> str:
    match error:
        case tomllib.TOMLDecodeError():
            return f"it is not valid TOML: {error}"
        case TemplateError():
            return str(error)
        case ValidationError():
            return f"{error}".replace("$.", "")
        case UnicodeDecodeError():
            return "it is not UTF-8 text"
        case NotAFile():
            return f"it is {error}"
        case OSError():
            return f"{error.strerror}".lower()
        case _:
            return str(error)
