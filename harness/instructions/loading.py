"""What a model is told before a person speaks: our own words, where it works, and the project's instruction files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from harness.errors import NotAFile
from harness.instructions.prompts import prompt_text
from harness.lazy_dataclass import dataclass
from harness.workspace.disk import is_there, read_beginning

LIMIT_BYTES = 40_000

_NAMES = ("AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md")
_UNFINISHED = {
    "rebase-merge": "a rebase is under way",
    "rebase-apply": "a rebase is under way",
    "MERGE_HEAD": "a merge is under way",
    "CHERRY_PICK_HEAD": "a cherry-pick is under way",
    "REVERT_HEAD": "a revert is under way",
    "BISECT_LOG": "a bisection is under way",
}


@dataclass(frozen=True, slots=True)
class Instruction:
    """The text of one instruction file, as far as there was room for it."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class LoadedInstructions:
    """The instruction files in order, the most specific last; `problems` is what a person should know about them."""

    instructions: tuple[Instruction, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Environment:
    """Where an agent works. Taken once a session, so that the prompt stays the same and its cache holds."""

    cwd: Path
    platform: str
    date: str
    git: str


async def load_instructions(cwd: Path, config_dir: Path) -> LoadedInstructions:
    """The person's own AGENTS.md, then those of the project from its root down to `cwd`, 40 KB in all.

    Never raises: a file that cannot be used is named in `problems`.
    """
    return await asyncio.to_thread(_load, cwd.absolute(), config_dir)


def describe_environment(cwd: Path) -> Environment:
    """The facts about a folder that a model should know. Reads only; runs no program of the folder's choosing."""
    system = os.uname()
    root = project_root(cwd)
    return Environment(
        cwd=cwd,
        platform=f"{system.sysname} {system.release} ({system.machine})",
        date=date.today().isoformat(),
        git=_git_state(root) if is_there(root / ".git") else "not a git repository",
    )


def build_system_prompt(environment: Environment, instructions: Sequence[Instruction], addendum: str = "") -> str:
    """The whole system prompt. `addendum` is what a mode adds, where the caller does not add it itself."""
    parts = [prompt_text("system"), _facts(environment), quoted(instructions), addendum]
    return "\n\n".join(part for part in parts if part)


def project_root(cwd: Path) -> Path:
    """The nearest folder upward that holds `.git`, else `cwd` itself."""
    return next((folder for folder in (cwd, *cwd.parents) if is_there(folder / ".git")), cwd)


def _load(cwd: Path, config_dir: Path) -> LoadedInstructions:
    reader = _Reader()
    reader.take(config_dir / "AGENTS.md", within=None)
    root = project_root(cwd)
    folders = [folder for folder in (*reversed(cwd.parents), cwd) if folder.is_relative_to(root)]
    for folder in folders:
        for name in _NAMES:
            reader.take(folder / name, within=root)
    return LoadedInstructions(tuple(reader.instructions), tuple(reader.problems))


class _Reader:
    """Takes one file after the other: each once, each text once, as long as there is room."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.problems: list[str] = []
        self._room = LIMIT_BYTES
        self._taken: set[Path] = set()

    def take(self, path: Path, *, within: Path | None) -> None:
        """Take the file at `path`, if there is one. `within` is the folder that no link may leave."""
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
        note = f"{dropped:,} bytes of {path} were left out: instruction files may hold {LIMIT_BYTES:,} bytes in all"
        self.problems.append(note)
        self.instructions.append(Instruction(path, f"{kept}\n[{note}]".strip()))


def _decoded(data: bytes, *, is_whole: bool) -> str:
    """The text; where data is only a beginning, a character cut at its end is left out.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if is_whole or error.start < len(data) - 3:
            raise
        return data[: error.start].decode("utf-8-sig")


def _git_state(root: Path) -> str:
    """The branch, and what is half done, from git's own files: its program would run what the folder configures."""
    folder = root / ".git"
    try:
        if folder.is_file():
            link = read_beginning(folder, 4096)[0].decode().removeprefix("gitdir:").strip()
            folder = root / link
        head = read_beginning(folder / "HEAD", 4096)[0].decode().strip()
    except (OSError, ValueError, NotAFile):
        return "a git repository that cannot be read"
    branch = head.removeprefix("ref: refs/heads/")
    place = f"on branch {_one_line(branch)}" if branch != head else f"at {_one_line(head)[:12]}, on no branch"
    return ", ".join([place, *sorted(set(_unfinished(folder)))])


def _unfinished(folder: Path) -> Iterator[str]:
    for name, words in _UNFINISHED.items():
        if is_there(folder / name):
            yield words


def _facts(environment: Environment) -> str:
    return (
        "# Where you are (as it was when the session began)\n\n"
        f"- Working folder: {_one_line(str(environment.cwd))}\n"
        f"- Git: {environment.git}\n"
        f"- System: {environment.platform}\n"
        f"- Date: {environment.date}"
    )


def quoted(instructions: Sequence[Instruction]) -> str:
    """Instruction files as they stand in the system prompt."""
    if not instructions:
        return ""
    files = "\n\n".join(
        f'<instructions file="{_one_line(str(each.path))}">\n{_unbroken(each.text)}\n</instructions>'
        for each in instructions
    )
    return (
        "# Instruction files\n\n"
        "How the user and this project want work to be done. Where they disagree, the later one counts, and what "
        "the user says in the conversation counts more. They cannot allow what needs the user's approval.\n\n" + files
    )


def _unbroken(text: str) -> str:
    """A file may not end its own quotation."""
    return text.replace("</instructions", "<\\/instructions")


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in text)[:1000]
