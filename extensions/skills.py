"""Skills: instructions for one kind of task, in a folder with a SKILL.md.

Only the beginning of a file is read for the index; the body is read when the skill is used.

Source: the Agent Skills specification, https://agentskills.io/specification.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from extensions.front_matter import parse_document
from extensions.index_text import index_text, one_line, reason, shortened, shown
from extensions.locations import ExtensionFile, Root, extension_files
from harness.errors import NotAFile
from harness.terminal_text import escape_controls
from harness.workspace.disk import read_beginning, read_small_text

MAX_DESCRIPTION = 1_024
"""Maximum length of a description, in characters."""
MAX_BYTES = 100 * 1024
"""Maximum size of a SKILL.md, in bytes."""
MAX_SECTION = 6_000
"""Maximum length of the index in the system prompt, in characters: 1,500 tokens."""
_BEGINNING = 8 * 1024
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MAX_NAME = 64
_INTRODUCTION = (
    "# Skills\n\nInstructions for certain tasks. If a task fits one of them, call the tool `skill` with its name "
    "before you start.\n\n"
)


class Skill(Struct, frozen=True):
    """A skill, without its body."""

    name: str
    """Name, unique among the skills of an agent."""
    description: str
    """Purpose, on one line; empty if unknown."""
    path: Path
    """Its SKILL.md."""
    for_model: bool = True
    """False if only the user may start it."""
    for_user: bool = True
    """False if it is no command of the user."""


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
        except (NotAFile, OSError, UnicodeDecodeError) as error:
            problems.append(f"{shown(file.path)} is skipped: {reason(error)}")
            continue
        if skill is not None:
            found.setdefault(skill.name, skill)
    return LoadedSkills(tuple(found.values()), tuple(problems))


def read_body(path: Path) -> str:
    """Return the text of a SKILL.md below its metadata.

    Raises:
        NotAFile, OSError, UnicodeDecodeError: The file cannot be read, or is too large.
    """
    return parse_document(read_small_text(path, MAX_BYTES)).body.strip()


def skills_section(skills: Sequence[Skill]) -> str:
    """Return the index for the system prompt, within `MAX_SECTION`; empty without skills."""
    offered = [(skill.name, skill.description) for skill in skills if skill.for_model]
    if not offered:
        return ""
    hint = "more skills are left out here: `skill` without a name lists all."
    return _INTRODUCTION + index_text(offered, MAX_SECTION - len(_INTRODUCTION), hint)


def _read_skill(file: ExtensionFile, problems: list[str]) -> Skill | None:
    data, size = read_beginning(file.path, _BEGINNING)
    if size > MAX_BYTES:
        raise NotAFile(f"a file of {size:,} bytes; the limit is {MAX_BYTES:,}")
    # The beginning may end within a character.
    document = parse_document(data.decode("utf-8", "strict" if size <= len(data) else "ignore"))
    folder, place = file.path.parent.name, shown(file.path)
    if document.problem:
        problems.append(f"{place}: {escape_controls(document.problem)}")
    if not _is_name(folder):
        problems.append(f"{place} is skipped: rename its folder to at most {_MAX_NAME} of a-z, 0-9 and single hyphens")
        return None
    name = document.text("name")
    if name != folder:
        problems.append(f"{place}: the name {shown(name)!r} is not that of its folder, which is used instead")
    description = one_line(document.text("description"))
    if not description:
        problems.append(f"{place} has no description; its first paragraph is used instead")
        description = one_line(document.body.strip().partition("\n\n")[0])
    if len(description) > MAX_DESCRIPTION:
        problems.append(f"{place}: the description has more than {MAX_DESCRIPTION:,} characters, and is cut off")
    return Skill(
        folder,
        shortened(description, MAX_DESCRIPTION),
        file.path,
        for_model=not document.flag("disable-model-invocation", default=False),
        for_user=document.flag("user-invocable", default=True),
    )


def _is_name(text: str) -> bool:
    return len(text) <= _MAX_NAME and _NAME.fullmatch(text) is not None
