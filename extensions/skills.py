"""Skills: instructions for one kind of task, in a folder with a SKILL.md.

Only the beginning of a file is read for the index; the body is read when the skill is used.

Source: the Agent Skills specification, https://agentskills.io/specification.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct

from extensions.front_matter import Document, parse_document
from extensions.index_text import FileError, index_text, one_line, reason, shortened, shown
from extensions.locations import ExtensionFile, Level, Root, extension_files, files_below
from extensions.prompt_templates import MAX_BYTES, PromptTemplate, template_of
from harness.errors import ConfigError, NotAFile
from harness.workspace.disk import read_beginning, read_small_text

MAX_DESCRIPTION = 1_024
"""Maximum length of a description, in characters."""
MAX_FILES = 50
"""Maximum number of files of a skill that are listed."""
MAX_SECTION = 6_000
"""Maximum length of the index in the system prompt, in characters: 1,500 tokens."""
# Nearly all metadata is within the first of these, in bytes.
_BEGINNINGS = (2 * 1024, 8 * 1024)
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MAX_NAME = 64
_INTRODUCTION = (
    "# Skills\n\nInstructions for certain tasks. If a task fits one of them, call the tool `skill` with its name "
    "before you start.\n\n"
)


class Skill(Struct, frozen=True):
    """A skill, without its body."""

    name: str
    """Name, unique among the skills of an agent; that of a plugin comes first: `plugin:name`."""
    description: str
    """Purpose, on one line; empty if unknown."""
    path: Path
    """Its SKILL.md."""
    for_model: bool = True
    """False if only the user may start it."""
    for_user: bool = True
    """False if it is no command of the user."""
    hint: str = ""
    """Arguments, as the file describes them; empty if it does not."""
    level: Level = "user"
    """Whose it is."""
    plugin_root: str = ""
    """Folder of the plugin; empty if it is not from one."""

    @property
    def variables(self) -> dict[str, str]:
        """Values of `${NAME}` in its text."""
        plugin = {"CLAUDE_PLUGIN_ROOT": self.plugin_root} if self.plugin_root else {}
        return {"CLAUDE_SKILL_DIR": str(self.path.parent), **plugin}


class LoadedSkills(Struct, frozen=True):
    """Skills of an agent."""

    skills: tuple[Skill, ...] = ()
    """The skills, the strongest root first, by name within it."""
    problems: tuple[str, ...] = ()
    """Problems to report to the user."""


def load_skills(roots: Iterable[Root]) -> LoadedSkills:
    """Read the index of all skills; the first of several with the same name counts. Never raises."""
    found: dict[str, Skill] = {}
    problems: list[str] = []
    for file in extension_files("skill", roots):
        try:
            skill = _read_skill(file, problems)
        except (FileNotFoundError, NotADirectoryError):
            # Not every entry of the folder is a skill.
            continue
        except FileError as error:
            problems.append(f"{shown(file.path)} is skipped: {reason(error)}")
            continue
        found.setdefault(skill.name, skill)
    return LoadedSkills(tuple(found.values()), tuple(problems))


def skill_template(path: Path) -> PromptTemplate:
    """Return the instructions of a skill, with its folder and its other files.

    Args:
        path: Its SKILL.md.

    Raises:
        NotAFile, OSError, UnicodeDecodeError: The file cannot be read, or is too large.
    """
    document = parse_document(read_small_text(path, MAX_BYTES))
    others = (each for each in files_below(path.parent) if each != path)
    listed = [shown(each.relative_to(path.parent)) for each in islice(others, MAX_FILES + 1)]
    more = ["…"] if len(listed) > MAX_FILES else []
    files = f"\nIts other files: {', '.join(listed[:MAX_FILES] + more)}" if listed else ""
    return template_of(document, suffix=f"\n\n[Folder of this skill: {path.parent}{files}]")


def skills_section(skills: Sequence[Skill]) -> str:
    """Return the index for the system prompt, within `MAX_SECTION`; empty without skills."""
    offered = [(skill.name, skill.description) for skill in skills if skill.for_model]
    if not offered:
        return ""
    hint = "more skills are left out here: `skill` without a name lists all."
    return _INTRODUCTION + index_text(offered, MAX_SECTION - len(_INTRODUCTION), hint)


def _read_skill(file: ExtensionFile, problems: list[str]) -> Skill:
    document = _document(file.location)
    folder = file.parts[-1]
    if not _is_name(folder):
        raise ConfigError(f"rename its folder to at most {_MAX_NAME} of a-z, 0-9 and single hyphens")
    found = list[str]()
    if document.problem:
        found.append(f": {shown(document.problem)}")
    name = document.text("name")
    # Others are titles.
    if name != folder and _is_name(name):
        found.append(f": the name {name!r} is not that of its folder, which is used instead")
    description = one_line(document.text("description"))
    if not description:
        found.append(" has no description; its first paragraph is used instead")
        description = one_line(document.body.strip().partition("\n\n")[0])
    problems.extend(f"{shown(file.path)}{problem}" for problem in found)
    return Skill(
        f"{file.root.plugin}:{folder}" if file.root.plugin else folder,
        shortened(description, MAX_DESCRIPTION),
        file.path,
        for_model=not document.flag("disable-model-invocation", default=False),
        for_user=document.flag("user-invocable", default=True),
        hint=document.hint,
        level=file.root.level,
        plugin_root=str(file.root.path) if file.root.plugin else "",
    )


def _document(path: str) -> Document:
    """Return the beginning of a file, with all of its metadata.

    Raises:
        NotAFile, OSError, UnicodeDecodeError: The file cannot be read, or is too large.
    """
    document = Document({}, "")
    for length in _BEGINNINGS:
        data, size = read_beginning(path, length)
        if size > MAX_BYTES:
            raise NotAFile(f"a file of {size:,} bytes; the limit is {MAX_BYTES:,}")
        # The beginning may end within a character.
        document = parse_document(data.decode("utf-8", "strict" if size <= len(data) else "ignore"))
        if document.metadata or size <= length:
            break
    return document


def _is_name(text: str) -> bool:
    return len(text) <= _MAX_NAME and _NAME.fullmatch(text) is not None
