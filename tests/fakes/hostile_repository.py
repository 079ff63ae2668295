"""Repositories whose configuration names a program, and a check whether that program ran."""

from __future__ import annotations

import subprocess
from pathlib import Path

GIT = "git -c user.name=n -c user.email=n@example.com"


class HostileRepository:
    """Folder `project` with a repository, and a program next to it that leaves a trace when it runs."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.program = folder / "program"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> {folder}/trace\n')
        self.program.chmod(0o755)
        self.trace = folder / "trace"

    @property
    def has_run(self) -> bool:
        return self.trace.exists()

    def shell(self, script: str) -> None:
        subprocess.run(["bash", "-ec", script], cwd=self.root, check=True, capture_output=True)

    def repository(self, **config: str) -> None:
        self.shell(f"git init -q; echo one > f.py; git add f.py; {GIT} commit -qm first; echo two >> f.py")
        for key, value in config.items():
            self.shell(f"git config '{key.replace('__', '.')}' '{value}'")


def bare_layout(root: Path, config: str) -> None:
    for folder in ("objects", "refs"):
        (root / folder).mkdir()
    (root / "HEAD").write_text("ref: refs/heads/main\n")
    (root / "config").write_text(f"[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\n{config}")
