"""Script tools: programs that a TOML file offers to the model as tools."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from extensions.locations import ExtensionFile, Root, extension_files
from harness.errors import NotAFile
from harness.function_tools.names import LONGEST_NAME, is_remote_name, legal_tool_name
from harness.messages import JsonObject, JsonValue
from harness.terminal_text import escape_controls
from harness.workspace.disk import read_small_text

MAX_BYTES = 64 * 1024
"""Maximum size of a file in bytes."""
MAX_TIMEOUT_S = 3_600.0
"""Maximum time limit in seconds."""
PLACES = ("CINCH_PROJECT_DIR", "CINCH_TOOL_DIR", "CLAUDE_PLUGIN_ROOT")
"""Folders that a command may name as it names parameters."""
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}")
_VARIABLE = re.compile(r"[a-z][A-Za-z0-9_]*")


class _File(Struct, forbid_unknown_fields=True):
    """Content of a file."""

    description: str
    command: str | list[str]
    name: str = ""
    parameters: dict[str, object] = {}
    shell: bool = False
    read_only: bool = False
    timeout_s: float = 120.0
    cwd: str = ""
    env: dict[str, str] = {}


class Script(Struct, frozen=True):
    """A script tool."""

    name: str
    """Name of the tool."""
    description: str
    """Description for the model."""
    command: tuple[str, ...]
    """Program and arguments with placeholders `${parameter}`; one text for a shell."""
    parameters: JsonObject
    """JSON Schema of the arguments."""
    path: Path
    """The file that declares it."""
    is_shell: bool = False
    """True if a shell runs the command."""
    read_only: bool = False
    """True if it changes nothing, so that it needs no approval."""
    timeout_s: float = 120.0
    """Time limit in seconds."""
    cwd: str = ""
    """Working folder, relative to the project; may begin with a placeholder for a folder."""
    env: dict[str, str] = {}
    """Environment variables in addition to those of all commands."""
    plugin_root: str = ""
    """Folder of its plugin; empty for none."""

    def places(self, project: Path) -> dict[str, str]:
        """Return the folders in `PLACES`."""
        folders = (str(project), str(self.path.parent), self.plugin_root)
        return {name: folder for name, folder in zip(PLACES, folders, strict=True) if folder}

    def subject(self, arguments: JsonObject) -> str:
        """Return the arguments as the patterns of permission rules see them: `environment=staging force=true`."""
        names = [name for name in _properties(self.parameters) if name in arguments]
        return shlex.join(f"{name}={_text(arguments[name])}" for name in names)

    def words(self, arguments: JsonObject, project: Path) -> tuple[str, ...]:
        """Return the program with its arguments. No argument of the call is read as code, by a shell either."""
        if self.is_shell:
            # Variables of the shell, whose values it does not parse again.
            names = [name for name in _properties(self.parameters) if _VARIABLE.fullmatch(name)]
            assignments = "".join(f'{name}="${{{number}}}"\n' for number, name in enumerate(names, 1))
            values = (_text(arguments.get(name)) for name in names)
            return ("sh", "-c", f"{assignments}{self.command[0]}", "sh", *values)
        places = self.places(project)
        return tuple(word for each in self.command for word in _expanded(each, arguments, places))

    def shown(self, arguments: JsonObject, project: Path) -> str:
        """Return the command line for users."""
        if not self.is_shell:
            return shlex.join(self.words(arguments, project))
        values = self.subject(arguments)
        return f"{values}\n{self.command[0]}" if values else self.command[0]


class LoadedScripts(Struct, frozen=True):
    """Script tools in files."""

    scripts: tuple[Script, ...] = ()
    """The tools, the strongest root first."""
    problems: tuple[str, ...] = ()
    """Files that are not used, with the reason."""


def load_scripts(roots: Iterable[Root], known: Mapping[Path, Script] | None = None) -> LoadedScripts:
    """Read all script tools; the first of several with the same name counts. Never raises.

    Args:
        roots: Folders with extensions.
        known: Tools by file, which stay if the file has become invalid.
    """
    found: dict[str, Script] = {}
    problems: list[str] = []
    for file in extension_files("script tool", roots):
        # Folders named tools may contain anything further down.
        if len(file.parts) > 1:
            continue
        try:
            script = _read(file)
        except (NotAFile, OSError, ValueError, RecursionError) as error:
            script = (known or {}).get(file.path)
            effect = "its last valid version is used" if script else "it is not used"
            problems.append(f"{escape_controls(str(file.path))}: {_reason(error)}; {effect}")
        if script is not None and script.name in found:
            problems.append(f"{file.path} is not used: {found[script.name].path} has a tool of the same name")
        elif script is not None:
            found[script.name] = script
    return LoadedScripts(tuple(found.values()), tuple(problems))


def _read(file: ExtensionFile) -> Script:
    """Return the tool in a file.

    Raises:
        NotAFile, OSError, ValueError: It is not valid.
    """
    content = msgspec.convert(tomllib.loads(read_small_text(file.path, MAX_BYTES)), _File)
    parameters = _schema(content.parameters)
    script = Script(
        name=_tool_name(content.name or file.parts[0], file.root.plugin),
        description=content.description.strip(),
        command=_command(content),
        parameters=parameters,
        path=file.path,
        is_shell=content.shell,
        read_only=content.read_only,
        timeout_s=content.timeout_s,
        cwd=content.cwd,
        env=content.env,
        plugin_root=str(file.root.path) if file.root.plugin else "",
    )
    if not script.description:
        raise ValueError("description is empty")
    if not 0 < script.timeout_s <= MAX_TIMEOUT_S:
        raise ValueError(f"timeout_s must be more than 0 and at most {MAX_TIMEOUT_S:g}")
    for name in () if script.is_shell else _placeholders((*script.command, script.cwd)):
        if name not in _properties(parameters) and name not in script.places(Path()):
            raise ValueError(f"command names ${{{name}}}, which is not a parameter")
    return script


def _command(content: _File) -> tuple[str, ...]:
    match content.command, content.shell:
        case str() as line, True:
            command = (line,)
        case str() as line, False:
            command = tuple(shlex.split(line))
        case words, False:
            command = tuple(words)
        case _:
            raise ValueError("command must be a text if shell is true")
    if not command or not command[0].strip():
        raise ValueError("command is empty")
    return command


def _schema(parameters: dict[str, object]) -> JsonObject:
    """Return a JSON Schema; its details are checked when the tool is first called."""
    schema = msgspec.convert(parameters, JsonObject) if parameters else {}
    properties = schema.setdefault("properties", {})
    if schema.setdefault("type", "object") != "object":
        raise ValueError('parameters must be a schema of type "object"')
    if not isinstance(properties, dict) or not all(isinstance(each, dict) for each in properties.values()):
        raise ValueError("parameters.properties must be tables, one for each parameter")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(each in properties for each in required):
        raise ValueError("parameters.required must list names of parameters.properties")
    # A misspelled argument would be ignored otherwise.
    return {"additionalProperties": False, **schema}


def _tool_name(name: str, plugin: str) -> str:
    if not _NAME.fullmatch(name) or is_remote_name(name):
        raise ValueError(f"{name!r} is not a name of a tool: use at most {LONGEST_NAME} letters, digits, _ and -")
    return legal_tool_name(plugin, name) if plugin else name


def _placeholders(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        yield from _PLACEHOLDER.findall(word)


def _expanded(word: str, arguments: JsonObject, places: Mapping[str, str]) -> Iterator[str]:
    """Yield what a word of a command becomes: a placeholder alone may be none, or several for a list."""
    alone = _PLACEHOLDER.fullmatch(word)
    if alone and alone[1] not in places:
        value = arguments.get(alone[1])
        if isinstance(value, list):
            yield from map(_text, value)
        elif value is not None:
            yield _text(value)
        return
    yield _PLACEHOLDER.sub(lambda found: places.get(found[1]) or _text(arguments.get(found[1])), word)


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _reason(error: Exception) -> str:
    if isinstance(error, NotAFile | RecursionError):
        return f"it is {error if isinstance(error, NotAFile) else 'nested too deeply'}"
    return escape_controls(getattr(error, "strerror", None) or str(error))
