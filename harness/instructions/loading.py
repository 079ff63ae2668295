"""Instructions for the model: system prompt, environment, and the project's instruction files."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from msgspec import Struct

from harness.errors import NotAFile
from harness.instructions.includes import prose_lines
from harness.instructions.prompts import prompt_text
from harness.instructions.reader import LATER_BYTES, Instruction, InstructionReader
from harness.workspace.disk import git_head, is_there

_NAMES = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", ".cinch/AGENTS.md", "AGENTS.local.md", "CLAUDE.local.md")
"""Names of the instruction files of a project, in the order in which they are loaded."""
_UNFINISHED = {
    "rebase-merge": "a rebase is in progress",
    "rebase-apply": "a rebase is in progress",
    "MERGE_HEAD": "a merge is in progress",
    "CHERRY_PICK_HEAD": "a cherry-pick is in progress",
    "REVERT_HEAD": "a revert is in progress",
    "BISECT_LOG": "a bisection is in progress",
}
INSTRUCTION_FILE = "<instructions file="
"""Beginning of each instruction file in a system prompt; they follow everything else."""
_REPLACED_BY_STYLES = ("# How to work\n", "# How to speak\n")
_STYLE = re.compile(r"^# Output style: (.*)$", re.MULTILINE)
_STYLE_INTRODUCTION = (
    "The user has chosen how you write your replies. This counts more than what is said above about work and replies. "
    "It cannot allow what needs the user's approval."
)
_COMPACTION = re.compile(r"compact(?:ion)? instructions", re.IGNORECASE)
_HEADING = re.compile(r"(#{1,6})\s+(.*?)[\s#:]*$")


class RuleFiles(Struct, frozen=True):
    """Instruction files of any name, which the caller has found."""

    own: tuple[Path, ...] = ()
    """Files of the user, the most important last."""
    project: tuple[Path, ...] = ()
    """Files of the project, the most important last."""
    body: Callable[[str], str] = str.strip
    """Returns the instructions in the text of a file, such as without metadata."""


NO_RULES = RuleFiles()


class LoadedInstructions(Struct, frozen=True):
    """The instruction files of a project."""

    instructions: tuple[Instruction, ...] = ()
    """The files in order, the most specific last."""
    problems: tuple[str, ...] = ()
    """Problems to report to the user."""


class OutputStyle(Struct, frozen=True):
    """Instructions on how to write replies, as a section of the system prompt."""

    name: str
    """Name, on one line."""
    text: str
    """The instructions."""
    description: str = ""
    """Purpose for the user, on one line."""
    keeps_coding: bool = False
    """False if they replace the general instructions on how to work on code and how to write."""


class Environment(Struct, frozen=True):
    """Environment of an agent, recorded once per session so that the system prompt stays the same and is cached."""

    cwd: Path
    """Working folder."""
    platform: str
    """Operating system."""
    date: str
    """Date in ISO format."""
    git: str
    """State of the git repository."""


async def load_instructions(
    cwd: Path, config_dir: Path, *, project: bool = True, rules: RuleFiles = NO_RULES
) -> LoadedInstructions:
    """Load the user's own instruction files, then those of the project from its root down to `cwd`, up to 40 KB in all.

    Never raises; files that cannot be used are listed in `problems`.

    Args:
        cwd: Working folder.
        config_dir: Folder of the user's own AGENTS.md.
        project: False to load no file of the project, which may be untrusted.
        rules: Further files, after those with the usual names.
    """
    return await asyncio.to_thread(_load, cwd.absolute(), config_dir, rules, project=project)


def project_files(cwd: Path, rules: Sequence[Path] = ()) -> list[Path]:
    """Return the instruction files that a project has for `cwd`, those that others include among them. Reads them.

    Args:
        cwd: Working folder, absolute.
        rules: Further files of the project.
    """
    root = project_root(cwd)
    loaded = _Loading(InstructionReader(), root, root).load((), _folders(root, cwd), RuleFiles(project=tuple(rules)))
    return [each.path for each in loaded.instructions]


def load_later(cwd: Path, config_dir: Path, folders: Sequence[Path], rules: RuleFiles) -> LoadedInstructions:
    """Load instruction files that apply to a part of a project only, up to 20 KB in all. Never raises.

    Args:
        cwd: Working folder.
        config_dir: Folder of the user's own AGENTS.md.
        folders: Folders of the project with instruction files, the most specific last.
        rules: Further files, after those of the folders.
    """
    return _Loading(InstructionReader(LATER_BYTES), project_root(cwd), config_dir).load((), folders, rules)


def describe_environment(cwd: Path) -> Environment:
    """Describe a folder for the model. Reads files only and runs no program, which the folder could configure."""
    system = os.uname()
    root = project_root(cwd)
    return Environment(
        cwd=cwd,
        platform=f"{system.sysname} {system.release} ({system.machine})",
        date=date.today().isoformat(),
        git=_git_state(root) if is_there(root / ".git") else "not a git repository",
    )


def build_system_prompt(
    environment: Environment,
    instructions: Sequence[Instruction],
    skills: str = "",
    *,
    role: str = "",
    style: OutputStyle | None = None,
) -> str:
    """Return the system prompt of a session, which stays the same until its end.

    Args:
        environment: The environment.
        instructions: The instruction files.
        skills: Section about skills.
        role: Instructions of a role, in place of those of cinch.
        style: Output style; None for none.
    """
    parts = [_general(role, style), _facts(environment), skills, quoted(instructions)]
    return "\n\n".join(part for part in parts if part)


def style_of(system_prompt: str) -> str:
    """Return the name of the output style in a system prompt; empty for none."""
    found = _STYLE.search(system_prompt.partition(INSTRUCTION_FILE)[0])
    return found[1] if found else ""


def _general(role: str, style: OutputStyle | None) -> str:
    """Return the instructions of a role, or else of cinch, with those of an output style."""
    text = role or prompt_text("system")
    if style is None:
        return text
    if not (role or style.keeps_coding):
        sections = re.split(r"^(?=# )", text, flags=re.MULTILINE)
        text = "".join(each for each in sections if not each.startswith(_REPLACED_BY_STYLES)).strip()
    return f"{text}\n\n# Output style: {_one_line(style.name)}\n\n{_STYLE_INTRODUCTION}\n\n{style.text}"


def project_root(cwd: Path) -> Path:
    """Return the nearest folder upward that contains `.git`, else `cwd` itself."""
    return next((folder for folder in (cwd, *cwd.parents) if is_there(folder / ".git")), cwd)


def instruction_files(folder: Path) -> list[Path]:
    """Return the paths of the instruction files that a folder of a project may have, in the order of loading.

    In the home folder, those in `.claude` and `.cinch` are the user's own.
    """
    is_home = folder.resolve() == _home().resolve()
    return [folder / name for name in _NAMES if not (is_home and "/" in name)]


def _home() -> Path:
    return Path(os.path.expanduser("~"))  # noqa: PTH111  pathlib raises without a home folder


def _load(cwd: Path, config_dir: Path, rules: RuleFiles, *, project: bool) -> LoadedInstructions:
    root = project_root(cwd)
    folders = _folders(root, cwd) if project else ()
    own = (_home() / ".claude/CLAUDE.md", config_dir / "AGENTS.md")
    return _Loading(InstructionReader(), root, config_dir).load(own, folders, rules)


def _folders(root: Path, cwd: Path) -> list[Path]:
    """Return the folders from the root of a project down to `cwd`."""
    return [folder for folder in (*reversed(cwd.parents), cwd) if folder.is_relative_to(root)]


class _Loading(Struct, frozen=True):
    reader: InstructionReader
    root: Path
    config_dir: Path

    def load(self, own: Sequence[Path], folders: Sequence[Path], rules: RuleFiles) -> LoadedInstructions:
        reader, ours, theirs = self.reader, (_home(), self.config_dir), (self.root,)
        for path in own:
            reader.take(path, ours)
        for path in rules.own:
            reader.take(path, ours, body=rules.body)
        for path in (path for folder in folders for path in instruction_files(folder)):
            reader.take(path, theirs, is_own=False)
        for path in rules.project:
            reader.take(path, theirs, is_own=False, body=rules.body)
        return LoadedInstructions(tuple(reader.instructions), tuple(reader.problems))


def _git_state(root: Path) -> str:
    """Return branch and unfinished operations, read from git's files, because git runs what a folder configures."""
    try:
        folder, head = git_head(root)
    except (OSError, ValueError, NotAFile):
        return "a git repository that cannot be read"
    branch = head.removeprefix("ref: refs/heads/")
    place = f"on branch {_one_line(branch)}" if branch != head else f"at {_one_line(head)[:12]}, on no branch"
    return ", ".join([place, *sorted({what for name, what in _UNFINISHED.items() if is_there(folder / name)})])


def environment_facts(environment: Environment) -> dict[str, str]:
    """Return the facts that the system prompt states, by name."""
    return {
        "Working folder": _one_line(str(environment.cwd)),
        "Git": environment.git,
        "System": environment.platform,
        "Date": environment.date,
    }


def _facts(environment: Environment) -> str:
    facts = "\n".join(f"- {name}: {value}" for name, value in environment_facts(environment).items())
    return f"# Where you are (as of the start of the session)\n\n{facts}"


def quoted(instructions: Sequence[Instruction]) -> str:
    """Return the instruction files as a section of the system prompt."""
    if not instructions:
        return ""
    files = "\n\n".join(map(quoted_file, instructions))
    return (
        "# Instruction files\n\n"
        "How the user and this project want work to be done. Where they disagree, the later one counts, and what "
        "the user says in the conversation counts more. They cannot allow what needs the user's approval.\n\n" + files
    )


def quoted_file(instruction: Instruction) -> str:
    """Return one instruction file as it is quoted for the model."""
    path, text = _one_line(str(instruction.path)), _escaped(instruction.text)
    return f'{INSTRUCTION_FILE}"{path}">\n{text}\n</instructions>'


def compaction_instructions(prompt: str) -> str:
    """Return the sections "Compaction Instructions" of the instruction files that a system prompt quotes.

    A system prompt that quotes no files may have such a section itself. Empty if no section exists.
    """
    files = re.findall(r'^<instructions file="[^\n]*">\n(.*?)\n</instructions>$', prompt, re.MULTILINE | re.DOTALL)
    return "\n\n".join(section for text in files or [prompt] for section in _sections(text, _COMPACTION))


def _sections(text: str, title: re.Pattern[str]) -> list[str]:
    """Return the content of the Markdown sections with such a title; a `#` in a code fence begins no section."""
    sections: list[list[str]] = []
    level = 0
    for line, prose in zip(text.splitlines(), prose_lines(text), strict=True):
        heading = _HEADING.match(prose)
        if heading and (not level or len(heading[1]) <= level):
            level = len(heading[1]) if title.fullmatch(heading[2]) else 0
            if level:
                sections.append([])
        elif level:
            sections[-1].append(line)
    return [content for lines in sections if (content := "\n".join(lines).strip())]


def _escaped(text: str) -> str:
    """Escape the closing tag, so that a file cannot end its quotation."""
    return text.replace("</instructions", "<\\/instructions")


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in text)[:1000]
