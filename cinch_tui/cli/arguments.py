"""Command-line arguments."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any, Literal, NoReturn

from cinch_tui import __version__

COMMANDS = (
    "sessions",
    "config",
    "models",
    "doctor",
    "keys",
    "permissions",
    "mcp",
    "plugin",
    "openapi",
    "reset-terminal",
)
_VERBS = {
    "sessions": (
        "list",
        "show",
        "search",
        "export",
        "import",
        "rename",
        "tag",
        "fork",
        "rm",
        "restore",
        "trash",
        "doctor",
    ),
    "config": ("show", "path", "edit", "trust"),
    "permissions": ("explain", "list", "suggest", "import"),
    "openapi": ("list",),
    "plugin": ("add", "list", "show", "update", "enable", "disable", "remove"),
    "mcp": (
        "add",
        "add-json",
        "list",
        "test",
        "remove",
        "enable",
        "disable",
        "import",
        "login",
        "logout",
        "serve",
    ),
}
IMAGE_FLAGS = ("-i", "--image")
FOR_COMMANDS = ("--cwd", "--verbose", "-h", "--help")
"""Flags that are accepted before a subcommand."""
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")

_FLAG: dict[str, Any] = {"action": "store_true"}
_SETTING: dict[str, Any] = {"action": "store_true", "default": None}
_LIST: dict[str, Any] = {"action": "append", "default": []}
_TEXT: dict[str, Any] = {"default": ""}
OPTIONS: dict[str, dict[str, Any]] = {  # Any: each argument of `add_argument` has a type of its own
    "-i --image": {
        **_LIST,
        "dest": "images",
        "metavar": "FILE",
        "help": "attach an image to the prompt: PNG, JPEG, GIF or WebP; repeatable",
    },
    "--plain": {**_SETTING, "help": "plain line output instead of the full-screen app, for screen readers"},
    "-p --print": {
        **_FLAG,
        "dest": "print_mode",
        "help": "print mode: print the answer and exit; stdin is appended to the prompt",
    },
    "--output-format": {
        "choices": ("text", "json", "stream-json", "events"),
        "default": "text",
        "help": "output of print mode: text, a JSON object, JSON lines in the format of Claude Code, or cinch events",
    },
    "-m --model": {"metavar": "MODEL", "help": "model as provider/model, or an unambiguous part of its name"},
    "--base-url": {"metavar": "URL", "help": "API base URL"},
    "--thinking": {"metavar": "LEVEL", "help": "thinking level: off, minimal, low, medium, high, extra-high"},
    "--agent": {**_TEXT, "metavar": "AGENT", "help": "work as a subagent, by its name, or as the agent in a file"},
    "--system": {**_TEXT, "metavar": "TEXT", "help": "replace the system prompt"},
    "--task": {**_TEXT, "metavar": "TYPE", "help": "task type of the first prompt; none: no type"},
    "--plan": {**_SETTING, "help": "start in plan mode: read-only until you accept a plan"},
    "--approve": {
        "metavar": "MODE",
        "help": "on: ask before every call; smart: not before reading; edits: nor before edits; off: never ask",
    },
    "--allow": {**_LIST, "metavar": "RULE", "help": 'allow without asking, as in "bash(make test:*)"; repeatable'},
    "--ask": {**_LIST, "metavar": "RULE", "help": "ask before such calls in every mode; repeatable"},
    "--deny": {**_LIST, "metavar": "RULE", "help": "never run such calls; repeatable"},
    "--trust": {**_FLAG, "help": "use this folder's instructions and configuration in this session"},
    "--max-turns": {"type": int, "metavar": "N", "help": "stop a run after N turns"},
    "--max-cost": {"type": float, "metavar": "USD", "help": "stop a run at this cost in US dollars"},
    "-c --continue": {**_FLAG, "dest": "continue_last", "help": "continue the latest session in this folder"},
    "-r --resume": {
        "nargs": "?",
        "const": "",
        "metavar": "ID",
        "help": "resume a session, with ID@MESSAGE at that message; without an ID, pick one",
    },
    "--fork": {**_FLAG, "help": "with -c or -r: continue in a copy"},
    "--read-only": {**_FLAG, "help": "with -c or -r: show the session without continuing it"},
    "--no-session": {"dest": "keep_session", "action": "store_false", "help": "do not save the session"},
    "--cwd": {**_TEXT, "metavar": "DIR", "help": "work in DIR instead of the current folder"},
    "--add-dir": {**_LIST, "metavar": "DIR", "help": "allow the agent to use another folder; repeatable"},
    "--config": {**_TEXT, "metavar": "FILE", "help": "use FILE instead of the user configuration file"},
    "--record": {**_TEXT, "metavar": "FILE", "help": "record requests and responses to FILE (keys are redacted)"},
    "--require-mcp": {**_FLAG, "help": "in print mode, fail if an MCP server is not connected"},
    "--verbose": {**_FLAG, "help": "log debug messages; in print mode, report each step on stderr"},
    "-V --version": {"action": "version", "version": f"cinch {__version__}", "help": "show the version and exit"},
}
"""Flags with the arguments of `add_argument`."""
FLAGS_WITH_VALUE = frozenset(
    flag
    for flags, options in OPTIONS.items()
    for flag in flags.split()
    if options.get("action", "append") == "append" and "nargs" not in options
)
"""Flags whose value is the next argument."""

EPILOG = """\
commands:
  cinch sessions COMMAND     list, search, export, import or check sessions
  cinch config show|path|edit|trust
  cinch models [PROVIDER]    list available models, or those of one provider
  cinch doctor [PROVIDER]    check configuration, connections and keys
  cinch mcp COMMAND          manage MCP servers; offer cinch's tools as one
  cinch plugin COMMAND       add and manage plugin folders
  cinch openapi list [NAME]  list the tools of APIs with an OpenAPI document
  cinch permissions COMMAND  explain decisions on calls; list rules
  cinch keys [--list]        inspect key presses, or list all key bindings
  cinch reset-terminal       reset the terminal after a program has crashed
  cinch demo                 tour with a scripted model; no API key needed
To send a prompt that begins with a command name, put it after two dashes:
cinch -- sessions

exit status: 0 success · 1 the run failed · 2 usage or configuration error
             3 limit reached · 4 approval required, but no user to ask
             130 interrupted
"""


SUBCOMMAND_HELP = {
    "config": """\
cinch config show     print the effective settings and their origins
cinch config path     print the files and folders of cinch
cinch config edit     edit the user file in $EDITOR or $VISUAL
cinch config trust    trust this folder: its instructions and configuration""",
    "keys": """\
cinch keys            show what a key press sends and does
  --list              list all key bindings; a star marks those you changed""",
    "reset-terminal": """\
cinch reset-terminal  reset the terminal after a program has crashed""",
}
"""Help of the subcommands without an argument parser of their own."""


class UsageError(Exception):
    """Invalid arguments; the message is meant for the user."""


class Arguments(argparse.Namespace):
    """Parsed arguments; None if the setting applies."""

    words: list[str]
    command: str
    rest: list[str]
    print_mode: bool
    plain: bool | None
    output_format: Literal["text", "json", "stream-json", "events"]
    model: str | None
    base_url: str | None
    thinking: str | None
    plan: bool | None
    approve: str | None
    allow: list[str]
    ask: list[str]
    deny: list[str]
    trust: bool
    max_turns: int | None
    max_cost: float | None
    continue_last: bool
    resume: str | None
    fork: bool
    read_only: bool
    images: list[str]
    keep_session: bool
    cwd: str
    add_dir: list[str]
    config: str
    agent: str
    system: str
    task: str
    record: str
    verbose: bool
    require_mcp: bool

    @property
    def prompt(self) -> str:
        return " ".join(self.words)


class _CommandLineParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see cinch --help")


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Parse the arguments; those of a subcommand are returned unparsed in `rest`.

    Raises:
        UsageError: the arguments are invalid or contradict each other.
        SystemExit: help or the version was requested and has been printed.
    """
    flags, command, rest = _split_at_command(argv)
    if command and "-p" not in flags and "--print" not in flags:
        _check_flags_of_command(command, flags)
        return _parse(flags, command=command, rest=rest)
    # Split here, since argparse drops the dashes when positional arguments and flags are mixed.
    at = list(argv).index("--") if "--" in argv else len(argv)
    arguments = _parse(repeat_image_flag(argv[:at]), words=argv[at + 1 :])
    # Everything after two dashes is a prompt.
    if at == len(argv) and not arguments.print_mode and (suggestion := _suggest_command(arguments.words)):
        raise UsageError(f'did you mean "{suggestion}"? To send it as a prompt: cinch -- {arguments.prompt}')
    return arguments


def _split_at_command(argv: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """Return the options before a subcommand, its name, and its own arguments; the name is empty without one."""
    index = 0
    while index < len(argv) and argv[index].startswith("-") and argv[index] != "--":
        index += 2 if argv[index] in FLAGS_WITH_VALUE else 1
    if index < len(argv) and argv[index] in COMMANDS:
        return list(argv[:index]), argv[index], list(argv[index + 1 :])
    return list(argv), "", []


def _suggest_command(words: Sequence[str]) -> str:
    """Return the command that `words` is probably a misspelling of; empty for a prompt."""
    if not words or not words[0].replace("-", "").isalpha() or not words[0].islower():
        return ""
    # Imported here because few prompts are a single word per argument.
    from cinch_tui.fuzzy_match import nearest_names

    for name in nearest_names(words[0], COMMANDS, cutoff=0.8):
        if len(words) == 1:
            return f"cinch {name}"
        for verb in nearest_names(words[1], _VERBS.get(name, ()), cutoff=0.75):
            return f"cinch {name} {verb}"
    return ""


def _check_flags_of_command(command: str, flags: Sequence[str]) -> None:
    for flag in flags:
        name = flag.partition("=")[0]
        if name.startswith("-") and name not in FOR_COMMANDS:
            raise UsageError(f"{name} has no effect on cinch {command}; see cinch {command} --help")


def repeat_image_flag(argv: Sequence[str]) -> list[str]:
    """Repeat `--image` before each file that a shell made of `--image *.png`."""
    spelled: list[str] = []
    for word in argv:
        follows = len(spelled) > 1 and spelled[-2] in IMAGE_FLAGS
        spelled += [IMAGE_FLAGS[-1], word] if follows and _is_image_name(word) else [word]
    return spelled


def _is_image_name(word: str) -> bool:
    """Return True for an image file name, but not for a prompt that ends with one."""
    return word.lower().endswith(IMAGE_SUFFIXES) and (" " not in word or os.path.isfile(word))  # noqa: PTH113  pathlib is slow to load


def _parse(
    flags: Sequence[str], *, words: Sequence[str] = (), command: str = "", rest: Sequence[str] = ()
) -> Arguments:
    arguments = _parser().parse_intermixed_args(list(flags), namespace=Arguments())
    arguments.words += words
    arguments.command, arguments.rest = command, list(rest)
    _check(arguments)
    return arguments


def _check(arguments: Arguments) -> None:
    if arguments.continue_last and arguments.resume is not None:
        raise UsageError("--continue and --resume cannot be combined")
    if arguments.fork and not (arguments.continue_last or arguments.resume is not None):
        raise UsageError("--fork needs a session to copy: add --continue or --resume ID")
    if arguments.read_only:
        _check_read_only(arguments)
    if arguments.print_mode:
        _check_print_mode(arguments)
    elif arguments.output_format != "text":
        raise UsageError("--output-format requires print mode; add -p")


def _check_print_mode(arguments: Arguments) -> None:
    if arguments.resume == "":
        raise UsageError("--resume needs an ID in print mode: --resume ID")
    if arguments.resume and "@" in arguments.resume:
        raise UsageError(
            "print mode continues at the end of a session and shows no earlier message; to continue from a message, "
            f"copy the session up to it: cinch sessions fork {arguments.resume}"
        )
    if arguments.plain:
        raise UsageError("--plain and --print cannot be combined")


def _check_read_only(arguments: Arguments) -> None:
    if not (arguments.continue_last or arguments.resume):
        raise UsageError("--read-only needs a session to show: add --continue or --resume ID")
    if arguments.fork:
        raise UsageError("--read-only and --fork cannot be combined")
    if arguments.print_mode or arguments.words:
        raise UsageError("--read-only takes no prompt; cinch sessions show ID prints a session")


def _parser() -> _CommandLineParser:
    parser = _CommandLineParser(
        prog="cinch",
        description="A coding agent in the terminal.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "words", nargs="*", metavar="prompt", help="initial prompt; without one, the app waits for input"
    )
    for flags, options in OPTIONS.items():
        parser.add_argument(*flags.split(), **options)
    return parser
