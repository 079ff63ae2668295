"""Files of a git repository at one commit, without a work tree.

Files are read from git's database: no hook, filter, submodule or attribute of the repository has an effect.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from msgspec import Struct

from extensions.plugins.source import Source
from extensions.plugins.staging import MOST_BYTES, MOST_FILES
from harness.errors import ConfigError
from harness.terminal_text import strip_escapes
from tools.environment import command_environment, git_environment

LONGEST_FETCH_S = 300.0
"""Maximum duration of a download in seconds."""
_LARGEST_PACK_BLOCKS = 1_000_000
"""Maximum size of a downloaded file in blocks of 512 or 1,024 bytes, whichever the shell uses."""
_OPTIONS = (
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "fetch.recurseSubmodules=false"),
    *("-c", "maintenance.auto=false"),
    *("-c", "gc.auto=0"),
)
_FETCH = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--")
_OF_REPOSITORY = frozenset(
    f"GIT_{name}"
    for name in (
        *("ALTERNATE_OBJECT_DIRECTORIES", "COMMON_DIR", "INDEX_FILE", "NAMESPACE"),
        *("OBJECT_DIRECTORY", "PREFIX", "SHALLOW_FILE", "WORK_TREE"),
    )
)
"""Variables that name parts of another repository, as a hook of git has them."""
_FILE, _PROGRAM, _LINK = "100644", "100755", "120000"


class _Entry(Struct, frozen=True):
    """A file in a tree."""

    mode: str
    id: str
    size: int
    path: str


def export(source: Source, target: Path, environ: Mapping[str, str]) -> str:
    """Write the files of a repository to a new folder, and return the commit. Links stay links, inside the folder.

    Args:
        source: The repository.
        target: The folder, which does not exist yet.
        environ: Environment variables; the user's configuration of git applies.

    Raises:
        ConfigError: The repository cannot be downloaded, or is too large.
    """
    with tempfile.TemporaryDirectory(prefix=".git-", dir=target.parent) as folder:
        repository = _Repository(Path(folder), environ)
        repository.run("init", "--quiet", "--bare", "--template=")
        repository.run(*_FETCH, source.place, source.ref or "HEAD", about=str(source))
        commit = repository.run("rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
        entries = list(repository.entries(commit))
        _check(source, entries)
        target.mkdir()
        # Links last, so that no file is written through one.
        entries.sort(key=lambda each: each.mode == _LINK)
        try:
            repository.write(entries, target)
        except (OSError, ValueError) as error:
            raise ConfigError(f"the files of {source} cannot be written: {error}") from error
    return commit


class _Repository:
    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        own = {name: value for name, value in environ.items() if name not in _OF_REPOSITORY}
        self._environment = {
            **git_environment(command_environment(own), (), "none"),
            "GIT_ALLOW_PROTOCOL": "https:ssh:file",
            "GIT_DIR": str(folder),
        }

    def run(self, *arguments: str, about: str = "") -> bytes:
        """Run git and return its output.

        Raises:
            ConfigError: git fails, is missing or takes too long.
        """
        limited = f'ulimit -f {_LARGEST_PACK_BLOCKS} 2> /dev/null; exec git "$@"'
        try:
            done = subprocess.run(
                ("/bin/sh", "-c", limited, "git", *_OPTIONS, *arguments),
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LONGEST_FETCH_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ConfigError(f"{about} was not downloaded within {LONGEST_FETCH_S:g} seconds") from error
        if done.returncode == 127:
            raise ConfigError("plugins from a repository need git, which is not installed")
        if done.returncode != 0:
            lines = strip_escapes(done.stderr.decode("utf-8", "replace")).strip().splitlines()
            raise ConfigError(f"{about or 'the repository'} cannot be read: {lines[-1] if lines else 'git failed'}")
        return done.stdout

    def entries(self, commit: str) -> Iterator[_Entry]:
        for line in self.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit).split(b"\0"):
            if not line:
                continue
            about, _, path = line.partition(b"\t")
            mode, _, object_id, size = about.decode().split()
            if mode in (_FILE, _PROGRAM, _LINK):
                yield _Entry(mode, object_id, int(size), path.decode("utf-8", "surrogateescape"))

    def write(self, entries: Sequence[_Entry], target: Path) -> None:
        with subprocess.Popen(
            ("git", *_OPTIONS, "cat-file", "--batch"),
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for entry in entries:
                process.stdin.write(f"{entry.id}\n".encode())
                process.stdin.flush()
                _write(entry, _content(process.stdout), target / entry.path)


def _content(stream: IO[bytes]) -> bytes:
    """Read one object: a line `ID TYPE SIZE`, the content, and a newline."""
    *_, size = stream.readline().split()
    data = stream.read(int(size))
    stream.read(1)
    return data


def _write(entry: _Entry, data: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if entry.mode == _LINK:
        link = data.decode("utf-8", "surrogateescape")
        if not link.startswith("/") and "\0" not in link:
            path.symlink_to(link)
        return
    path.write_bytes(data)
    path.chmod(0o700 if entry.mode == _PROGRAM else 0o600)


def _check(source: Source, entries: Sequence[_Entry]) -> None:
    size = sum(each.size for each in entries)
    if len(entries) > MOST_FILES or size > MOST_BYTES:
        raise ConfigError(
            f"{source} is too large: {len(entries):,} files with {size // 2**20:,} MB; the limits are {MOST_FILES:,} "
            f"files and {MOST_BYTES // 2**20} MB"
        )
    if any(part.lower() in ("", ".", "..", ".git") for each in entries for part in each.path.split("/")):
        raise ConfigError(f"{source} contains a file with an illegal name")
