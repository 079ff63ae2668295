"""Risk of a shell command, from its syntax.

Every command is at least `execute`: no result means that a command is harmless. `dangerous` commands need approval each
time, `forbidden` ones never run. `only_reads` decides about scheduling alone.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from msgspec.structs import replace

from harness.risk import PathAccess, Risk, SimpleCommand
from tools.protected_paths import risk_of_change
from tools.shell_git import git_risks
from tools.shell_scope import INTERPRETERS, SHELLS, prefix_of, scopes_of
from tools.shell_syntax import ParsedCommand, Pipe, Script, has_option, parse, words_of

_name = posixpath.basename

_DEEPEST = 4
_FETCHERS = {"curl", "wget", "fetch", "aria2c"}
_PRIVILEGE_COMMANDS = {"sudo", "doas", "su", "pkexec", "run0"}
_COPIERS = {"cp", "mv", "ln", "install", "rsync", "scp"}
_DISK_TOOLS = {"wipefs", "blkdiscard", "shred", "fdisk", "sfdisk", "sgdisk", "parted", "badblocks"}
_DISK = re.compile(r"(of=)?/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|md\d|dm-)")
_SETTINGS = re.compile(r"(~|\$HOME)/\.|/(home|Users)/[^/]+/\.|/(etc|usr|bin|sbin|lib|boot|root)/")
_VITAL = re.compile(
    r"/|~\w*|\$HOME|/(home|Users)/[^/]+"
    r"|/(home|root|etc|usr|bin|sbin|lib|lib64|var|boot|dev|opt|proc|sys|srv|Users|System|Library|Applications)"
)
_TEMPORARY = re.compile(r"/(var/)?tmp/[^/]")

_PHRASES: dict[tuple[str, ...], str] = {
    ("shutdown",): "it shuts the machine down",
    ("reboot",): "it restarts the machine",
    ("halt",): "it shuts the machine down",
    ("poweroff",): "it shuts the machine down",
    ("dropdb",): "it deletes a database",
    ("crontab", "-r"): "it deletes all scheduled jobs",
    ("terraform", "destroy"): "it destroys infrastructure",
    ("kubectl", "delete"): "it deletes from a cluster",
    ("docker", "system", "prune"): "it deletes containers and images",
    ("docker", "volume", "rm"): "it deletes stored data",
    ("docker", "volume", "prune"): "it deletes stored data",
    ("npm", "publish"): "it publishes a package",
    ("cargo", "publish"): "it publishes a package",
    ("twine", "upload"): "it publishes a package",
}


_WRAPPERS = {
    "sudo": "ughpCrtTUDR",
    "doas": "uC",
    "env": "uCS",
    "nice": "n",
    "ionice": "cnp",
    "timeout": "ks",
    "stdbuf": "ioe",
    "xargs": "InPLdEas",
    "time": "fo",
    "exec": "a",
    **dict.fromkeys(("nohup", "setsid", "command", "builtin", "coproc", "busybox"), ""),
}
"""Programs that run the rest of their arguments as a command, with the options that take the next word."""


def assess(command: str) -> Risk:
    """Return the risk of a command line."""
    script = parse(command)
    findings = list(_findings(script, depth=0))
    paths = dict.fromkeys(path for path in _changes(script) if not path.startswith("/dev/"))
    changed, commands = tuple(PathAccess(path, "write") for path in paths), _commands(script)
    for level in ("forbidden", "dangerous"):
        for finding in findings:
            if finding.level == level:
                return replace(finding, subject=command, accesses=changed, commands=commands)
    return Risk("execute", subject=command.strip(), accesses=changed, commands=commands)


def _commands(script: Script) -> tuple[SimpleCommand, ...]:
    """Return the commands of a line with the words that a rule may name; empty if the line is more than commands."""
    if script.simple:
        parsed = script.commands[:1]
    elif scopes_of(script):
        parsed = script.joined
    else:
        return ()
    return tuple(
        SimpleCommand(each.words, prefix=(prefix := prefix_of(each)), is_refused=not prefix) for each in parsed
    )


def _changes(script: Script) -> Iterator[str]:
    """Yield the files that the command line itself names as written."""
    yield from script.writes
    for command in script.commands:
        words, _ = _unwrap(command.words)
        name = _name(words[0]) if words else ""
        if name in ("tee", "sed") or name in _COPIERS:
            yield from _changed(name, list(words[1:]))


def _findings(script: Script, depth: int) -> Iterator[Risk]:
    if script.bombs:
        yield Risk("forbidden", "it starts copies of itself endlessly (fork bomb)")
    for path in script.writes:
        yield from _write_risks(path)
    for pipe in script.pipes:
        yield from _pipe_risks(pipe)
    for command in script.commands:
        yield from _risks(command, depth)


def _risks(command: ParsedCommand, depth: int) -> Iterator[Risk]:
    words, wrappers = _unwrap(command.words)
    if _PRIVILEGE_COMMANDS & {*wrappers, *(_name(word) for word in words[:1])}:
        yield Risk("dangerous", "it runs with the privileges of another user")
    if not words:
        return
    name, arguments = _name(words[0]), list(words[1:])
    for phrase, reason in _PHRASES.items():
        if (name, *arguments)[: len(phrase)] == phrase:
            yield Risk("dangerous", reason)
    yield from _command_risks(name, arguments, command, depth)


def _command_risks(name: str, arguments: list[str], command: ParsedCommand, depth: int) -> Iterator[Risk]:
    if name in SHELLS or name in ("eval", "source", "."):
        yield from _shell_risks(name, arguments, command, depth)
    elif name == "rm":
        yield from _rm_risks(arguments)
    elif name == "git":
        yield from git_risks(arguments)
    elif name == "find":
        yield from _find_risks(arguments, depth)
    elif name in ("tee", "sed") or name in _COPIERS:
        for path in _changed(name, arguments):
            yield from _write_risks(path)
    elif name == "dd" or name in _DISK_TOOLS or name.startswith("mkfs"):
        yield from _disk_risks(name, arguments)
    else:
        yield from _rights_risks(name, arguments)


def _shell_risks(name: str, arguments: list[str], command: ParsedCommand, depth: int) -> Iterator[Risk]:
    text = " ".join(arguments) if name == "eval" else _inline_script(arguments)
    fetched = (*command.reads, *(command.expands if text else ()))
    if any(_is(_FETCHERS, inner) for inner in fetched):
        yield Risk("forbidden", "it runs downloaded code")
    for script in (text, command.stdin):
        if script and depth < _DEEPEST:
            yield from _findings(parse(script), depth + 1)


def _inline_script(arguments: list[str]) -> str:
    """Return the script after `-c`, also if it is one letter of several (`bash -lc …`)."""
    for index, argument in enumerate(arguments):
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", argument):
            return next((word for word in arguments[index + 1 :] if not word.startswith("-")), "")
    return ""


def _pipe_risks(pipe: Pipe) -> Iterator[Risk]:
    words, _ = _unwrap(pipe.sink.words)
    if not words or not _reads_program(_name(words[0]), list(words[1:])):
        return
    if any(_is(_FETCHERS, source) for source in pipe.sources):
        yield Risk("forbidden", "it runs downloaded code")
    else:
        yield Risk("dangerous", "it runs the output of another command")


def _reads_program(name: str, arguments: list[str]) -> bool:
    """Return True if such a command executes its standard input."""
    operands = [word for word in arguments if not word.startswith("-") or word == "-"]
    if name in SHELLS:
        return not _inline_script(arguments) and (not operands or operands == ["-"] or "-s" in arguments)
    return bool(INTERPRETERS.fullmatch(name)) and arguments in ([], ["-"])


def _rm_risks(arguments: list[str]) -> Iterator[Risk]:
    recursive = has_option(arguments, "rR", "--recursive")
    forced = has_option(arguments, "f", "--force")
    targets = [word for word in arguments if not word.startswith("-")]
    if "--no-preserve-root" in arguments or (recursive and any(_is_vital(target) for target in targets)):
        yield Risk("forbidden", "it would delete a system or home folder")
    elif (recursive or forced) and not (targets and all(_is_temporary(target) for target in targets)):
        yield Risk("dangerous", "it deletes files for good")


def _is_vital(target: str) -> bool:
    path = re.sub(r"\$\{HOME\}", "$HOME", target.replace('"', ""))
    path = re.sub(r"(/\.?\*+)+$", "/", path)
    return bool(_VITAL.fullmatch(_normal(path)))


def _is_temporary(target: str) -> bool:
    return bool(_TEMPORARY.match(_normal(target))) and not set("$`") & set(target)


def _normal(path: str) -> str:
    return re.sub(r"^/+", "/", posixpath.normpath(path))


def _find_risks(arguments: list[str], depth: int) -> Iterator[Risk]:
    if "-delete" in arguments:
        yield Risk("dangerous", "it deletes files for good")
    for index, argument in enumerate(arguments):
        if argument in ("-exec", "-execdir", "-ok", "-okdir"):
            yield from _risks(ParsedCommand(tuple(arguments[index + 1 :])), depth)


def _disk_risks(name: str, arguments: list[str]) -> Iterator[Risk]:
    if any(_DISK.match(argument) for argument in arguments if not argument.startswith("if=")):
        yield Risk("forbidden", "it overwrites a disk")
    else:
        yield Risk("dangerous", f"{name} overwrites data for good")


def _rights_risks(name: str, arguments: list[str]) -> Iterator[Risk]:
    if name in ("chmod", "chown", "chgrp"):
        if has_option(arguments, "R", "--recursive"):
            yield Risk("dangerous", "it changes the permissions of a whole folder")
        elif "777" in arguments or "0777" in arguments:
            yield Risk("dangerous", "it makes files writable for everyone")
    elif name in ("kill", "pkill", "killall") and {"-9", "-KILL", "-SIGKILL"} & set(arguments):
        yield Risk("dangerous", "it kills processes, which cannot save their work")


def _write_risks(path: str) -> Iterator[Risk]:
    if _DISK.match(path):
        yield Risk("forbidden", "it overwrites a disk")
    elif _SETTINGS.match(re.sub(r"\$\{HOME\}", "$HOME", path)):
        yield Risk("dangerous", "it writes to settings outside the project")
    else:
        yield risk_of_change(path)


def _changed(name: str, arguments: list[str]) -> list[str]:
    """Return the files that a command changes: its operands, or the last one for copy commands."""
    operands = [word for word in arguments if not word.startswith("-")]
    if name == "sed":
        return operands if has_option(arguments, "i", "--in-place") else []
    return operands[-1:] if name in _COPIERS else operands


def _unwrap(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the command that wrappers (`sudo env A=1 timeout 5 …`) finally run, and the names of the wrappers."""
    names: list[str] = []
    rest = list(words)
    while rest and _name(rest[0]) in _WRAPPERS:
        names.append(_name(rest.pop(0)))
        while rest and (rest[0].startswith("-") or re.match(r"\w+=", rest[0])):
            option = rest.pop(0)
            if len(option) == 2 and option[1] in _WRAPPERS[names[-1]]:
                del rest[:1]
        if names[-1] == "timeout":
            # The duration.
            del rest[:1]
    return tuple(rest), tuple(names)


def _is(names: set[str], command: ParsedCommand) -> bool:
    words, _ = _unwrap(command.words)
    return bool(words) and _name(words[0]) in names


_READERS = words_of("""
    basename cat cd cmp comm cut df diff dirname du echo false file grep egrep fgrep head id ls md5sum nl od paste
    printf ps pwd readlink realpath rg sha1sum sha256sum sleep sort stat tac tail test [ tr tree true type uname wc
    whereis which whoami
""")
_GIT_READERS = words_of("blame cat-file describe diff grep log ls-files ls-tree rev-parse shortlog show status")
_MAY_WRITE = frozenset({"sort", "rg", "tree"})
_WRITING_OPTIONS = ("-o", "--o", "--pre", "--ext", "-O")


def only_reads(command: str) -> bool:
    """Return True for a command line of plain commands that are known to change no file."""
    script = parse(command)
    writes = [path for path in script.writes if path != "/dev/null"]
    return bool(script.commands) and not writes and all(map(_is_reader, script.commands))


def _is_reader(command: ParsedCommand) -> bool:
    name, *arguments = command.words or ("",)
    if name == "git":
        return command.plain and arguments[:1] != [] and arguments[0] in _GIT_READERS and not _may_write(arguments)
    return command.plain and name in _READERS and not (name in _MAY_WRITE and _may_write(arguments))


def _may_write(arguments: list[str]) -> bool:
    return any(each.startswith(_WRITING_OPTIONS) for each in arguments)
