"""Variables of templates: facts about the system and the project, and what is known of a run."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from extensions.lifecycle.templates import Record, Values, Variables
from harness.errors import NotAFile
from harness.instructions.loading import describe_environment, project_root
from harness.workspace.disk import git_head, is_there

if TYPE_CHECKING:
    from harness.ports.tool import Tool

_SYSTEM = frozenset({"os", "shell", "user", "cwd", "project", "git", "git_branch", "date"})
SYSTEM_VARIABLES = Variables(_SYSTEM, frozenset({"languages"}))
"""Variables of every template."""
TASK_VARIABLES = Variables(_SYSTEM | {"prompt", "task", "model"}, frozenset({"languages", "tools", "tool_names"}))
"""Variables of the template of a task type."""
MAX_PROMPT = 20_000
"""Maximum length of the variable `prompt`, in characters."""
_LANGUAGES: Mapping[str, str] = {
    "pyproject.toml": "Python",
    "setup.py": "Python",
    "requirements.txt": "Python",
    "tsconfig.json": "TypeScript",
    "package.json": "JavaScript",
    "Cargo.toml": "Rust",
    "go.mod": "Go",
    "pom.xml": "Java",
    "build.gradle": "Java",
    "build.gradle.kts": "Kotlin",
    "Gemfile": "Ruby",
    "composer.json": "PHP",
    "mix.exs": "Elixir",
    "Package.swift": "Swift",
    "build.sbt": "Scala",
    "CMakeLists.txt": "C++",
    "build.zig": "Zig",
    "stack.yaml": "Haskell",
}
"""Languages of projects by files in their root."""


class RunFacts(Struct, frozen=True):
    """Values of a run for its template."""

    prompt: str
    """Text of the prompt."""
    task: str
    """Name of the task type."""
    model: str
    """Name of the model, as `provider/model`."""
    tools: tuple[Tool, ...]
    """Tools that the run may use."""


def system_values(cwd: Path, environ: Mapping[str, str]) -> Values:
    """Return the values of `SYSTEM_VARIABLES`. Reads files, and runs no program."""
    here, root = describe_environment(cwd), project_root(cwd)
    return {
        "os": here.platform,
        "shell": Path(environ.get("SHELL", "sh")).name,
        "user": _user(),
        "cwd": str(cwd),
        "project": root.name,
        "git": here.git,
        "git_branch": _branch(root),
        "date": here.date,
        "languages": tuple(dict.fromkeys(language for name, language in _LANGUAGES.items() if is_there(root / name))),
    }


def run_values(run: RunFacts) -> Values:
    """Return the values of the variables that describe a run."""
    tools: list[Record] = [{"name": tool.name, "description": _first_line(tool.description)} for tool in run.tools]
    return {
        "prompt": run.prompt[:MAX_PROMPT],
        "task": run.task,
        "model": run.model,
        "tools": tools,
        "tool_names": [tool["name"] for tool in tools],
    }


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def _branch(root: Path) -> str:
    try:
        head = git_head(root)[1] if is_there(root / ".git") else ""
    except (OSError, ValueError, NotAFile):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else ""
