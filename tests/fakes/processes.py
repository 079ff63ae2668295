"""State of other processes, read from /proc."""

from __future__ import annotations

from pathlib import Path

PROC = Path("/proc")


def is_alive(pid: int) -> bool:
    """Return False for a zombie too."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def running(command: str) -> int:
    """Return the number of processes whose command line contains `command`."""
    return sum(command in _command_line(each) for each in PROC.iterdir() if each.name.isdecimal())


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
