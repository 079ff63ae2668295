"""Commands that only read, so that they can run at the same time as other readers.

This decides about scheduling alone: a command found here is judged, and asked about, like any other.
"""

from __future__ import annotations

from tools.shell_syntax import Command, parse


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READERS = _words("""
    basename cat cd cmp comm cut df diff dirname du echo false file grep egrep fgrep head id ls md5sum nl od paste
    printf ps pwd readlink realpath rg sha1sum sha256sum sleep sort stat tac tail test [ tr tree true type uname wc
    whereis which whoami
""")
_GIT_READERS = _words("blame cat-file describe diff grep log ls-files ls-tree rev-parse shortlog show status")
_MAY_WRITE = frozenset({"sort", "rg", "tree"})
_WRITING_OPTIONS = ("-o", "--o", "--pre", "--ext", "-O")


def only_reads(command: str) -> bool:
    """True for a command line of plain commands that are known to change no file."""
    script = parse(command)
    writes = [path for path in script.writes if path != "/dev/null"]
    return bool(script.commands) and not writes and all(map(_is_reader, script.commands))


def _is_reader(command: Command) -> bool:
    name, *arguments = command.words or ("",)
    if name == "git":
        return command.plain and arguments[:1] != [] and arguments[0] in _GIT_READERS and not _may_write(arguments)
    return command.plain and name in _READERS and not (name in _MAY_WRITE and _may_write(arguments))


def _may_write(arguments: list[str]) -> bool:
    return any(each.startswith(_WRITING_OPTIONS) for each in arguments)
