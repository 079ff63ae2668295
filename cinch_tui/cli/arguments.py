"""Command-line arguments."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import NoReturn

from cinch_tui import __version__
from cinch_tui.subcommands.finding import split_at_command, suggest_command

IMAGE_FLAGS = ("-i", "--image")
_WITH_VALUE = "-i -m --image --model --base-url --thinking --system --approve --allow --max-turns --max-cost"
WITH_VALUE = frozenset(f"{_WITH_VALUE} --output-format --cwd --add-dir --config --record".split())
"""Flags whose value is the next argument."""
FOR_COMMANDS = ("--cwd", "--verbose", "-h", "--help")
"""Flags that are accepted before a subcommand."""
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")

EPILOG = """\
commands:
  cinch sessions list|show|search|export|import|rename|rm|doctor
  cinch config show|path|edit|trust
  cinch models [PROVIDER]    list available models, or those of one provider
  cinch doctor [PROVIDER]    check configuration, connections and keys
  cinch keys [--list]        inspect key presses, or list all key bindings
  cinch reset-terminal       reset the terminal after a program has crashed
  cinch demo                 tour with a scripted model; no API key needed
To send a prompt that begins with a command name, put it after two dashes:
cinch -- sessions

exit status: 0 success · 1 the run failed · 2 usage or configuration error
             3 limit reached · 4 approval required, but no user to ask
             130 interrupted
"""


class UsageError(Exception):
    """Invalid arguments; the message is meant for the user."""


class Arguments(argparse.Namespace):
    """Parsed arguments; None if the setting applies."""

    words: list[str]
    command: str
    rest: list[str]
    print_mode: bool
    plain: bool | None
    output_format: str
    model: str | None
    base_url: str | None
    thinking: str | None
    plan: bool | None
    approve: str | None
    allow: list[str]
    max_turns: int | None
    max_cost: float | None
    continue_last: bool
    resume: str | None
    fork: bool
    images: list[str]
    keep_session: bool
    cwd: str
    add_dir: list[str]
    config: str
    system: str
    record: str
    verbose: bool

    @property
    def prompt(self) -> str:
        return " ".join(self.words)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see cinch --help")


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Parse the arguments; those of a subcommand are returned unparsed in `rest`.

    Raises:
        UsageError: the arguments are invalid or contradict each other.
        SystemExit: help or the version was requested and has been printed.
    """
    flags, command, rest = split_at_command(argv, WITH_VALUE)
    if command and "-p" not in flags and "--print" not in flags:
        _check_flags_of_command(command, flags)
        return _parse(flags, command=command, rest=rest)
    # Split here, since argparse drops the dashes when positional arguments and flags are mixed.
    at = list(argv).index("--") if "--" in argv else len(argv)
    arguments = _parse(repeat_image_flag(argv[:at]), words=argv[at + 1 :])
    # Everything after two dashes is a prompt.
    if at == len(argv) and not arguments.print_mode and (suggestion := suggest_command(arguments.words)):
        raise UsageError(f'did you mean "{suggestion}"? To send it as a prompt: cinch -- {arguments.prompt}')
    return arguments


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
    if arguments.print_mode and arguments.resume == "":
        raise UsageError("--resume needs an ID in print mode: --resume ID")
    if arguments.print_mode and arguments.plain:
        raise UsageError("--plain and --print cannot be combined")
    if not arguments.print_mode and arguments.output_format != "text":
        raise UsageError("--output-format requires print mode; add -p")


def _parser() -> _Parser:
    parser = _Parser(
        prog="cinch",
        description="A coding agent in the terminal.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "words", nargs="*", metavar="prompt", help="initial prompt; without one, the app waits for input"
    )
    for group in (_add_prompt, _add_front, _add_model, _add_safety, _add_session, _add_place):
        group(parser.add_argument)
    parser.add_argument(
        "--verbose", action="store_true", help="log debug messages; in print mode, report each step on stderr"
    )
    parser.add_argument(
        "-V", "--version", action="version", version=f"cinch {__version__}", help="show the version and exit"
    )
    return parser


def _add_prompt(add: Callable[..., object]) -> None:
    add(
        *IMAGE_FLAGS,
        action="append",
        dest="images",
        default=[],
        metavar="FILE",
        help="attach an image to the prompt: PNG, JPEG, GIF or WebP; repeatable",
    )


def _add_front(add: Callable[..., object]) -> None:
    add(
        "--plain",
        action="store_true",
        default=None,
        help="plain line output instead of the full-screen app, for screen readers",
    )
    add(
        "-p",
        "--print",
        dest="print_mode",
        action="store_true",
        help="print mode: print the answer and exit; stdin is appended to the prompt",
    )
    add(
        "--output-format",
        choices=("text", "json", "stream-json", "events"),
        default="text",
        help="output of print mode: text, a JSON object, JSON lines in the format of Claude Code, or cinch events",
    )


def _add_model(add: Callable[..., object]) -> None:
    add("-m", "--model", metavar="MODEL", help="model as provider/model, or an unambiguous part of its name")
    add("--base-url", metavar="URL", help="API base URL")
    add("--thinking", metavar="LEVEL", help="thinking level: off, minimal, low, medium, high, extra-high")
    add("--system", default="", metavar="TEXT", help="replace the system prompt")


def _add_safety(add: Callable[..., object]) -> None:
    add("--plan", action="store_true", default=None, help="start in plan mode: read-only until you accept a plan")
    add(
        "--approve",
        metavar="on|smart|off",
        help="on: ask before every call; smart: do not ask before reading; off: never ask",
    )
    add("--allow", action="append", default=[], metavar="TOOL[:PREFIX]", help="allow without asking; repeatable")
    add("--max-turns", type=int, metavar="N", help="stop a run after N turns")
    add("--max-cost", type=float, metavar="USD", help="stop a run at this cost in US dollars")


def _add_session(add: Callable[..., object]) -> None:
    add(
        "-c", "--continue", dest="continue_last", action="store_true", help="continue the latest session in this folder"
    )
    add("-r", "--resume", nargs="?", const="", metavar="ID", help="resume a session; without an ID, pick one")
    add("--fork", action="store_true", help="with -c or -r: continue in a copy")
    add("--no-session", dest="keep_session", action="store_false", help="do not save the session")


def _add_place(add: Callable[..., object]) -> None:
    add("--cwd", default="", metavar="DIR", help="work in DIR instead of the current folder")
    add(
        "--add-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="allow the agent to use another folder; repeatable",
    )
    add("--config", default="", metavar="FILE", help="use FILE instead of the user configuration file")
    add("--record", default="", metavar="FILE", help="record requests and responses to FILE (keys are redacted)")
