"""Runs commands under a seccomp filter; started by `sandbox.py`, with nothing but the standard library.

The filter stops every system call that opens or changes a file, opens a socket or leaves the sandbox, and asks the
process at the other end of a socket what to do. It needs no privileges and stays in force in all children.

Source: seccomp(2), seccomp_unotify(2), linux/filter.h, linux/audit.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import resource
import signal
import socket
import struct
import subprocess
import sys

# Numbers that differ between the architectures; -1 = the system call does not exist there.
ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
SECCOMP = (317, 277)
STOPPED = {
    "open": (2, -1),
    "openat": (257, 56),
    "creat": (85, -1),
    "truncate": (76, 45),
    "rename": (82, -1),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "mkdir": (83, -1),
    "mkdirat": (258, 34),
    "rmdir": (84, -1),
    "link": (86, -1),
    "linkat": (265, 37),
    "unlink": (87, -1),
    "unlinkat": (263, 35),
    "symlink": (88, -1),
    "symlinkat": (266, 36),
    "mknod": (133, -1),
    "mknodat": (259, 33),
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, -1),
    "fchown": (93, 55),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "utime": (132, -1),
    "utimes": (235, -1),
    "futimesat": (261, -1),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "kill": (62, 129),
    "ptrace": (101, 117),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "sethostname": (170, 161),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "reboot": (169, 142),
    "sync": (162, 81),
    "bpf": (321, 280),
}
# Other ways to the same ends, which programs do without if the kernel lacks them.
MISSING = {"openat2": (437, 437), "io_uring_setup": (425, 425)}

_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _NOTIFY, _NOT_IMPLEMENTED = 0x7FFF0000, 0x7FC00000, 0x00050000 | 38
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET = 0, 4


def filter_program() -> bytes:
    """Return the filter as instructions of the kernel's packet filter."""
    architecture, column = ARCHITECTURES[platform.machine()]
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _NOT_IMPLEMENTED),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
    ]
    for table, action in ((STOPPED, _NOTIFY), (MISSING, _NOT_IMPLEMENTED)):
        for numbers in table.values():
            if numbers[column] >= 0:
                steps += [(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, action)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def install_filter() -> int:
    """Install the filter in this process; return the descriptor of its listener."""
    program = filter_program()
    buffer = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, filter_mode, new_listener = 38, 1, 8
    number = SECCOMP[ARCHITECTURES[platform.machine()][1]]
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    listener = libc.syscall(number, filter_mode, new_listener, header)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return listener


def run(command: str, seconds: float) -> dict[str, object]:
    process = subprocess.Popen(
        ["bash", "--noprofile", "--norc", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        return {"status": process.returncode, "output": output.decode(errors="replace")[:10_000]}
    except subprocess.TimeoutExpired:
        return {"status": None, "output": f"not finished after {seconds} s"}
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    channel = socket.socket(fileno=int(sys.argv[1]))
    # `send_fds` would import a module, and no file can be opened before the other end answers.
    channel.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", install_filter()))])
    for line in sys.stdin:
        sys.stdout.write(json.dumps(run(json.loads(line), float(sys.argv[2]))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
