"""The sandbox finds what it exists to find, and what only reads may run in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from permissions import sandbox


@pytest.mark.parametrize(
    ("command", "attempt"),
    [
        ("echo x > new.txt", "new.txt"),
        ("echo x >> README.md", "README.md"),
        (": > README.md", "README.md"),
        ("touch README.md", "README.md"),
        ("rm -f README.md", "unlink"),
        ("mv README.md x", "rename"),
        ("ln -s a b", "symlink"),
        ("mkdir new", "mkdir(new)"),
        ("chmod +x README.md", "chmod"),
        ("echo x > /tmp/outside-of-the-workspace", "outside-of-the-workspace"),
        ("./ls", "mkdir(TRAPPED)"),
        ("echo x | (cat; ./bin/evil)", "mkdir(TRAPPED)"),
        ("echo x >/dev/tcp/127.0.0.1/9", "socket of family 2"),
        ("perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => q(/run/x.sock))'", "connect: /run/x.sock"),
        ('echo x > "$TMPDIR/kept"', "left a temporary file: kept"),
        ("cat .env", "reads a secret: .env"),
        ("cat src/../server.pem", "reads a secret: src/../server.pem"),
        ("cat linked/out.txt", "reads a secret: linked/out.txt"),
        ("grep -r secret .", "reads a secret: "),
        ("grep -R secret linked", "reads a secret: "),
        ("rg --hidden secret", "reads a secret: "),
    ],
)
def test_change_or_socket_is_stopped_and_recorded(
    box: sandbox.Sandbox, trapped: Path, command: str, attempt: str
) -> None:
    result = box.run(command)
    assert any(attempt in each for each in result.attempts), result
    assert not (trapped / "TRAPPED").exists()
    assert not (trapped / "new").exists()


@pytest.mark.parametrize(
    "command", ["ls -la", "cat README.md >/dev/null 2>&1", "git log --oneline | head -1", "id -un"]
)
def test_reading_is_not_recorded(box: sandbox.Sandbox, command: str) -> None:
    assert box.run(command).attempts == []


@pytest.mark.usefixtures("box")
def test_command_that_does_not_end_is_killed(trapped: Path, child_environment: dict[str, str], tmp_path: Path) -> None:
    with sandbox.Sandbox(trapped, child_environment, tmp_path, seconds=0.2) as impatient:
        assert impatient.run("sleep 100").status is None
        assert impatient.run("while :; do :; done").status is None
        assert impatient.run("echo x").output == "x\n"
