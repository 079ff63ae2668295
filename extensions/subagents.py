"""Subagents in files: a role with its own instructions, tools and model, which the agent may delegate to.

Only the index is kept; the instructions are read when a subagent is used.

Source: https://code.claude.com/docs/en/sub-agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from extensions.front_matter import Document, parse_document
from extensions.index_text import index_text, one_line, reason, shortened, shown
from extensions.locations import Root, extension_files
from extensions.skills import Skill, skill_template
from harness.approval.claude_tools import tools_named
from harness.errors import NotAFile
from harness.messages import JsonValue
from harness.terminal_text import escape_controls
from harness.workspace.disk import read_small_text

MAX_DESCRIPTION = 1_024
"""Maximum length of a description, in characters."""
MAX_BYTES = 100 * 1024
"""Maximum size of a file, in bytes."""
MAX_INDEX = 6_000
"""Maximum length of the index for the model, in characters: 1,500 tokens."""
_MAX_NAME = 64
_WITHOUT_EFFECT = ("mcpServers", "memory", "isolation", "background", "effort", "initialPrompt")
"""Keys of Claude Code that cinch does not use."""


class Subagent(Struct, frozen=True):
    """A subagent, without its instructions."""

    name: str
    """Name, unique among the subagents of an agent; those of a plugin begin with its name and a colon."""
    description: str
    """Purpose, on one line; empty if unknown."""
    path: Path
    """Its file."""
    root: Root
    """The folder that it comes from."""
    tools: tuple[str, ...] | None = None
    """Name patterns of its tools; None for those of its caller."""
    denied_tools: tuple[str, ...] = ()
    """Name patterns of tools that it does not get."""
    model: str = ""
    """Name of its model, or of a family such as `sonnet`; empty for that of its caller."""
    max_turns: int = 0
    """Maximum number of turns; 0 for the limit of the settings."""
    is_read_only: bool = False
    """True if it gets only tools that change nothing."""
    asks: bool = True
    """False if calls that need approval are denied without a question."""
    skills: tuple[str, ...] = ()
    """Names of skills whose instructions it gets."""
    hooks: JsonValue = None
    """Hooks of its runs, as written: groups by event."""
    notes: tuple[str, ...] = ()
    """Keys of its file that have no effect."""


class LoadedSubagents(Struct, frozen=True):
    """Subagents of an agent."""

    subagents: tuple[Subagent, ...] = ()
    """The subagents, the strongest root first."""
    problems: tuple[str, ...] = ()
    """Problems to report to the user."""


def load_subagents(roots: Iterable[Root]) -> LoadedSubagents:
    """Read the metadata of all subagents; the first of several with the same name counts. Never raises."""
    found: dict[str, Subagent] = {}
    problems: list[str] = []
    for file in extension_files("subagent", roots):
        try:
            document = parse_document(read_small_text(file.path, MAX_BYTES))
        except (NotAFile, OSError, UnicodeDecodeError) as error:
            problems.append(f"{shown(file.path)} is skipped: {reason(error)}")
            continue
        # Files without metadata describe the others.
        if document.metadata or document.problem:
            subagent = subagent_of(document, file.path, file.root, problems)
            found.setdefault(subagent.name, subagent)
    return LoadedSubagents(tuple(found.values()), tuple(problems))


def subagent_of(document: Document, path: Path, root: Root, problems: list[str]) -> Subagent:
    """Return the subagent that a document describes.

    Args:
        document: Its metadata and instructions.
        path: Its file.
        root: The folder that it comes from.
        problems: List that receives problems to report to the user.
    """
    place = shown(path)
    if document.problem:
        problems.append(f"{place}: {escape_controls(document.problem)}")
    name = shortened(one_line(document.text("name")) or one_line(path.stem), _MAX_NAME)
    description = one_line(document.text("description"))
    if not description:
        problems.append(f"{place} has no description; its first paragraph is used instead")
        description = one_line(document.body.strip().partition("\n\n")[0])
    tools, denied, notes = _tools(document)
    mode, model = document.text("permissionMode"), one_line(document.text("model"))
    if mode and mode not in ("default", "plan", "dontAsk"):
        notes.append(f"permissionMode {mode}: a subagent is never asked for less than its caller")
    notes += [f"{key} has no effect" for key in _WITHOUT_EFFECT if document.metadata.get(key)]
    return Subagent(
        name=f"{root.plugin}:{name}" if root.plugin else name,
        description=shortened(description, MAX_DESCRIPTION),
        path=path,
        root=root,
        tools=tools,
        denied_tools=denied,
        model="" if model == "inherit" else model,
        max_turns=_turns(document),
        is_read_only=mode == "plan",
        asks=mode != "dontAsk",
        skills=document.words("skills"),
        hooks=document.metadata.get("hooks"),
        notes=tuple(map(shown, notes)),
    )


def read_instructions(path: Path) -> str:
    """Return the instructions in the file of a subagent.

    Raises:
        NotAFile, OSError, UnicodeDecodeError: The file cannot be read, or is too large.
    """
    return parse_document(read_small_text(path, MAX_BYTES)).body.strip()


def with_skills(text: str, names: Sequence[str], skills: Iterable[Skill]) -> str:
    """Return instructions with those of the skills of these names.

    Raises:
        NotAFile, OSError, UnicodeDecodeError: The file of a skill cannot be read.
    """
    found = [(skill.name, skill_template(skill.path).fill("").unexecuted) for skill in skills if skill.name in names]
    return "\n\n".join([text, *(f"# Skill {name}\n\n{body}" for name, body in found)])


def subagent_index(subagents: Sequence[Subagent]) -> str:
    """Return the list of subagents for the model, within `MAX_INDEX`."""
    entries = [(each.name, each.description) for each in subagents]
    return index_text(entries, MAX_INDEX, "more agents are left out here; the user may name them.")


def _tools(document: Document) -> tuple[tuple[str, ...] | None, tuple[str, ...], list[str]]:
    """Return the patterns of allowed and of denied tools, and notes on what has no effect."""
    denied, written = list(document.words("disallowedTools")), document.metadata.get("tools")
    names = document.words("tools")
    if isinstance(written, dict):
        # OpenCode switches tools on and off by name.
        denied += [name for name, is_on in written.items() if is_on is False]
        written = None
    notes = [f"{name}: the part in parentheses has no effect" for name in names if "(" in name]
    is_limited = (bool(names) and "*" not in names) or isinstance(written, list)
    return (_patterns(names) if is_limited else None), _patterns(denied), notes


def _patterns(names: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of our tools for names of Claude Code; `mcp__github` is every tool of that server."""
    tools = [tool for name in names for tool in tools_named(name.partition("(")[0].strip())]
    servers = [f"{tool}__*" for tool in tools if tool.startswith("mcp__") and tool.count("__") == 1]
    return tuple(dict.fromkeys(tools + servers))


def _turns(document: Document) -> int:
    text = document.text("maxTurns")
    return int(text) if text.isdecimal() else 0
