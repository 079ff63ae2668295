"""Instructions for the model: system prompt, environment, and the project's instruction files."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from msgspec import Struct

from harness.errors import NotAFile
from harness.instructions.prompts import prompt_text
from harness.workspace.disk import git_head, is_there, read_beginning

LIMIT_BYTES = 40_000

INSTRUCTION_NAMES = ("AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md")
"""Names of the instruction files of a project, in the order in which they are loaded."""
_UNFINISHED = {
    "rebase-merge": "a rebase is in progress",
    "rebase-apply": "a rebase is in progress",
    "MERGE_HEAD": "a merge is in progress",
    "CHERRY_PICK_HEAD": "a cherry-pick is in progress",
    "REVERT_HEAD": "a revert is in progress",
    "BISECT_LOG": "a bisection is in progress",
}
_COMPACTION = re.compile(r"compact(?:ion)? instructions", re.IGNORECASE)
_HEADING = re.compile(r"(#{1,6})\s+(.*?)[\s#:]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class Instruction(Struct, frozen=True):
    """An instruction file."""

    path: Path
    """Path of the file."""
    text: str
    """Its text, truncated to the size limit."""


class LoadedInstructions(Struct, frozen=True):
    """The instruction files of a project."""

    instructions: tuple[Instruction, ...] = ()
    """The files in order, the most specific last."""
    problems: tuple[str, ...] = ()
    """Problems to report to the user."""


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


async def load_instructions(cwd: Path, config_dir: Path, *, project: bool = True) -> LoadedInstructions:
    """Load the user's own AGENTS.md, then those of the project from its root down to `cwd`, up to 40 KB in all.

    Never raises; files that cannot be used are listed in `problems`.

    Args:
        cwd: Working folder.
        config_dir: Folder of the user's own AGENTS.md.
        project: False to load no file of the project, which may be untrusted.
    """
    return await asyncio.to_thread(_load, cwd.absolute(), config_dir, project=project)


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


def build_system_prompt(environment: Environment, instructions: Sequence[Instruction]) -> str:
    """Return the system prompt of a session, which stays the same until its end."""
    parts = [prompt_text("system"), _facts(environment), quoted(instructions)]
    return "\n\n".join(part for part in parts if part)


def project_root(cwd: Path) -> Path:
    """Return the nearest folder upward that contains `.git`, else `cwd` itself."""
    return next((folder for folder in (cwd, *cwd.parents) if is_there(folder / ".git")), cwd)


def _load(cwd: Path, config_dir: Path, *, project: bool) -> LoadedInstructions:
    reader = _Reader()
    reader.take(config_dir / "AGENTS.md", within=None)
    root = project_root(cwd)
    folders = [folder for folder in (*reversed(cwd.parents), cwd) if project and folder.is_relative_to(root)]
    for folder in folders:
        for name in INSTRUCTION_NAMES:
            reader.take(folder / name, within=root)
    return LoadedInstructions(tuple(reader.instructions), tuple(reader.problems))


class _Reader:
    """Reads instruction files, each file and each text once, up to the size limit."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.problems: list[str] = []
        self._room = LIMIT_BYTES
        self._taken: set[Path] = set()

    def take(self, path: Path, *, within: Path | None) -> None:
        """Read the file at `path`, if it exists. `within` is the folder that links must not leave."""
        try:
            real = path.resolve(strict=True)
            if real in self._taken:
                return
            self._taken.add(real)
            if within is not None and not real.is_relative_to(within.resolve()):
                self.problems.append(f"{path} was not read: it is a link that leaves the project")
                return
            data, size = read_beginning(real, LIMIT_BYTES + 1)
            self._add(path, _decoded(data, is_whole=size <= len(data)).strip(), size)
        except FileNotFoundError:
            return
        except UnicodeDecodeError:
            self.problems.append(f"{path} was not read: it is not UTF-8 text")
        except NotAFile as error:
            self.problems.append(f"{path} was not read: it is {error}")
        except (OSError, RuntimeError) as error:
            self.problems.append(f"{path} was not read: {getattr(error, 'strerror', None) or error}")

    def _add(self, path: Path, text: str, size: int) -> None:
        if not text or any(text == each.text for each in self.instructions):
            return
        kept = _decoded(text.encode()[: self._room], is_whole=False)
        self._room -= len(kept.encode())
        if kept == text and size <= LIMIT_BYTES:
            self.instructions.append(Instruction(path, text))
            return
        dropped = max(size - len(kept.encode()), 1)
        note = f"{dropped:,} bytes of {path} were left out: the limit for instruction files is {LIMIT_BYTES:,} bytes"
        self.problems.append(note)
        self.instructions.append(Instruction(path, f"{kept}\n[{note}]".strip()))


def _decoded(data: bytes, *, is_whole: bool) -> str:
    """Decode a text; unless `is_whole`, an incomplete character at the end is dropped.

    Raises:
        UnicodeDecodeError: The data is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if is_whole or error.start < len(data) - 3:
            raise
        return data[: error.start].decode("utf-8-sig")


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
    return f'<instructions file="{path}">\n{text}\n</instructions>'


def compaction_instructions(prompt: str) -> str:
    """Return the sections "Compaction Instructions" of the instruction files that a system prompt quotes.

    A system prompt that quotes no files may have such a section itself. Empty if no section exists.
    """
    files = re.findall(r'^<instructions file="[^\n]*">\n(.*?)\n</instructions>$', prompt, re.MULTILINE | re.DOTALL)
    return "\n\n".join(section for text in files or [prompt] for section in _sections(text, _COMPACTION))


def _sections(text: str, title: re.Pattern[str]) -> list[str]:
    """Return the content of the Markdown sections with such a title; a `#` in a code fence begins no section."""
    sections: list[list[str]] = []
    level, fence = 0, ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        heading = None if fence or mark else _HEADING.match(line)
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
