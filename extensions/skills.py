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
from extensions.locations import ExtensionFile, Root, extension_files
from harness.errors import NotAFile
from harness.terminal_text import escape_controls, strip_escapes
from harness.workspace.disk import read_beginning, read_small_text

MAX_DESCRIPTION = 1_024
"""Maximum length of a description, in characters."""
MAX_BYTES = 100 * 1024
"""Maximum size of a SKILL.md, in bytes."""
MAX_SECTION = 6_000
"""Maximum length of the index in the system prompt, in characters: 1,500 tokens."""
_BEGINNING = 8 * 1024
_SHORTEST = 20
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
            problems.append(f"{_shown(file.path)} is skipped: {_reason(error)}")
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
    """Return the index for the system prompt, within `MAX_SECTION`; empty without skills.

    Descriptions are shortened evenly, then left out; then names are left out, and their number is stated.
    """
    offered = [skill for skill in skills if skill.for_model]
    if not offered:
        return ""
    room = MAX_SECTION - len(_INTRODUCTION) - sum(len(f"- {skill.name}: \n") for skill in offered)
    length = _even_length([len(skill.description) for skill in offered], room)
    if length >= _SHORTEST:
        lines = [f"- {each.name}: {_shortened(each.description, length)}".removesuffix(": ") for each in offered]
        return _INTRODUCTION + "\n".join(lines)
    return _INTRODUCTION + _names([skill.name for skill in offered], MAX_SECTION - len(_INTRODUCTION))


def _read_skill(file: ExtensionFile, problems: list[str]) -> Skill | None:
    data, size = read_beginning(file.path, _BEGINNING)
    if size > MAX_BYTES:
        raise NotAFile(f"a file of {size:,} bytes; the limit is {MAX_BYTES:,}")
    # The beginning may end within a character.
    document = parse_document(data.decode("utf-8", "strict" if size <= len(data) else "ignore"))
    folder, shown = file.path.parent.name, _shown(file.path)
    if document.problem:
        problems.append(f"{shown}: {escape_controls(document.problem)}")
    if not _is_name(folder):
        problems.append(f"{shown} is skipped: rename its folder to at most {_MAX_NAME} of a-z, 0-9 and single hyphens")
        return None
    name = document.text("name")
    if name != folder:
        problems.append(f"{shown}: the name {_shown(name)!r} is not that of its folder, which is used instead")
    description = _one_line(document.text("description"))
    if not description:
        problems.append(f"{shown} has no description; its first paragraph is used instead")
        description = _one_line(document.body.strip().partition("\n\n")[0])
    if len(description) > MAX_DESCRIPTION:
        problems.append(f"{shown}: the description has more than {MAX_DESCRIPTION:,} characters, and is cut off")
    return Skill(
        folder,
        _shortened(description, MAX_DESCRIPTION),
        file.path,
        for_model=not document.flag("disable-model-invocation", default=False),
        for_user=document.flag("user-invocable", default=True),
    )


def _is_name(text: str) -> bool:
    return len(text) <= _MAX_NAME and _NAME.fullmatch(text) is not None


def _even_length(lengths: Sequence[int], room: int) -> int:
    """Return the largest length to which all texts can be shortened so that they fit."""
    for done, length in enumerate(sorted(lengths)):
        share = room // (len(lengths) - done)
        if share < length:
            return share
        room -= length
    return MAX_DESCRIPTION


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def _names(names: Sequence[str], room: int) -> str:
    text = ", ".join(names)
    if len(text) <= room:
        return text
    kept = text[: room - 100].rpartition(", ")[0]
    left = len(names) - kept.count(", ") - 1
    return f"{kept}\n\n{left} more skills are left out here: `skill` without a name lists all."


def _one_line(text: str) -> str:
    return " ".join(strip_escapes(text).split())


def _shown(text: str | Path) -> str:
    return escape_controls(str(text)).replace("\n", " ")


def _reason(error: NotAFile | OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return f"it is {error}" if isinstance(error, NotAFile) else f"{error.strerror}".lower()
