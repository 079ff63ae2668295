"""`cinch permissions explain` gives the same decisions for the corpora as the policy does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from permissions.decisions import corpus, decision
from permissions.test_corpus import OTHERS, READ


@pytest.mark.usefixtures("rg_on_path")
def test_commands_of_all_corpora_are_explained_in_order(trapped: Path) -> None:
    # `test_corpus` decides about all of them.
    commands = [command for name in (*READ, *OTHERS) for command in corpus(name)[::5]]
    calls = [json.dumps({"tool": "bash", "arguments": {"command": command}}) for command in commands]
    done = subprocess.run(
        [sys.executable, "-m", "cinch_tui", "permissions", "explain", "--mode", "smart"],
        cwd=trapped,
        input="\n".join(calls),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    explained = [json.loads(line) for line in done.stdout.splitlines()]
    decided = [decision(command, trapped) for command in commands]
    different = [
        (command, line["why"], one.why)
        for command, line, one in zip(commands, explained, decided, strict=True)
        if line["decision"] != one.kind
    ]
    assert different == []
    assert not (trapped / "TRAPPED").exists()
