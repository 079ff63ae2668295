"""The sandbox finds what it exists to find, and what only reads may run in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from permissions import sandbox

pytestmark = pytest.mark.skipif(bool(sandbox.missing_support()), reason=sandbox.missing_support())


@pytest.fixture(scope="module")
def box(
    trapped: Path, child_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[sandbox.Sandbox]:
    with sandbox.Sandbox(trapped, child_environment, tmp_path_factory.mktemp("temporary")) as opened:
        yield opened


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


def test_command_that_does_not_end_is_killed(trapped: Path, child_environment: dict[str, str], tmp_path: Path) -> None:
    with sandbox.Sandbox(trapped, child_environment, tmp_path, seconds=0.2) as box:
        assert box.run("sleep 100").status is None
        assert box.run("while :; do :; done").status is None
        assert box.run("echo x").output == "x\n"
