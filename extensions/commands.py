"""Commands in files: prompts that the user starts by name, in Markdown or TOML.

Source: https://code.claude.com/docs/en/slash-commands for Markdown; the custom commands of Gemini CLI for TOML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from extensions.front_matter import Document, parse_document
from extensions.index_text import FileError, one_line, reason, shortened, shown
from extensions.locations import ExtensionFile, Level, Root, extension_files
from extensions.prompt_templates import MAX_BYTES, PromptTemplate, template_of
from harness.errors import ConfigError
from harness.workspace.disk import read_small_text

MAX_DESCRIPTION = 200
"""Maximum length of a description, in characters."""
_NAME = re.compile(r"[^\W_][\w.-]*(?::[\w.-]+)*")


class FileCommand(Struct, frozen=True):
    """A command in a file, without its text."""

    name: str
    """Name without the slash; folders and the plugin come first: `git:commit`."""
    description: str
    """Purpose, on one line; empty if unknown."""
    hint: str
    """Arguments, as the file describes them: `[pr-number]`; empty if it does not."""
    path: Path
    """The file."""
    level: Level = "user"
    """Whose it is."""
    plugin_root: str = ""
    """Folder of the plugin; empty if it is not from one."""

    @property
    def scoped_name(self) -> str:
        """Name with its scope, `project:review` or `user:review`; empty for a command of a plugin."""
        return f"{self.level}:{self.name}" if self.level in ("project", "user") else ""

    @property
    def variables(self) -> dict[str, str]:
        """Values of `${NAME}` in its text."""
        return {"CLAUDE_PLUGIN_ROOT": self.plugin_root} if self.plugin_root else {}


class LoadedCommands(Struct, frozen=True):
    """Commands in files."""

    commands: tuple[FileCommand, ...] = ()
    """The commands, the strongest root first, by name within it."""
    problems: tuple[str, ...] = ()
    """Problems to report to the user."""


def load_commands(roots: Iterable[Root]) -> LoadedCommands:
    """Read the names and descriptions of all commands; the first of several with the same name counts. Never raises."""
    found: dict[str, FileCommand] = {}
    problems: list[str] = []
    for file in extension_files("command", roots):
        if file.parts[-1].lower() == "readme":
            continue
        try:
            command = _read_command(file, problems)
        except FileError as error:
            problems.append(f"{shown(file.path)} is skipped: {reason(error)}")
            continue
        found.setdefault(command.name.lower(), command)
    return LoadedCommands(tuple(found.values()), tuple(problems))


def command_template(path: Path) -> PromptTemplate:
    """Return the text of a command.

    Raises:
        ConfigError, NotAFile, OSError, UnicodeDecodeError: The file cannot be read, or is not valid.
    """
    return template_of(_document(str(path)), has_braces=path.suffix == ".toml")


def _read_command(file: ExtensionFile, problems: list[str]) -> FileCommand:
    plugin = (file.root.plugin,) if file.root.plugin else ()
    document, name = _document(file.location), ":".join((*plugin, *file.parts))
    if _NAME.fullmatch(name) is None:
        raise ConfigError("a name consists of letters, digits, hyphens, dots and underscores")
    if document.problem:
        problems.append(f"{shown(file.path)}: {shown(document.problem)}")
    if not document.body.strip():
        raise ConfigError("it has no text")
    description = one_line(document.text("description") or document.body.strip().partition("\n")[0].lstrip("# "))
    return FileCommand(
        name,
        shortened(description, MAX_DESCRIPTION),
        document.hint,
        file.path,
        file.root.level,
        str(file.root.path) if plugin else "",
    )


def _document(path: str) -> Document:
    text = read_small_text(path, MAX_BYTES)
    if not path.endswith(".toml"):
        return parse_document(text)
    # Imported here because few commands are in TOML.
    import tomllib

    try:
        loaded = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"it is not valid TOML: {error}") from error
    prompt = loaded.pop("prompt", None)
    if not isinstance(prompt, str):
        raise ConfigError('it has no text: write prompt = "…"')
    return Document({key.replace("_", "-"): value for key, value in loaded.items()}, prompt)
