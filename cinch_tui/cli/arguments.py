"""The command line's words and what they mean."""

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
"""Flags that may stand before a subcommand."""
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")

EPILOG = """\
commands:
  cinch sessions list|show|search|export|import|rename|rm|doctor
  cinch config show|path|edit|trust
  cinch models [PROVIDER]    providers, their keys and their models
  cinch doctor [PROVIDER]    check configuration, connections and keys
  cinch keys [--list]        show what a key sends, or list all keys
  cinch reset-terminal       repair a terminal that a program left broken
  cinch demo                 a tour with a scripted model; needs no key
Put a prompt that begins with one of these words after two dashes:
cinch -- sessions

exit status: 0 done · 1 the run failed · 2 usage or configuration
             3 a limit was reached · 4 a needed approval could not be asked
             130 interrupted
"""


class UsageError(Exception):
    """The arguments make no sense; the text is fit to be shown."""


class Arguments(argparse.Namespace):
    """What was given on the command line; None where a setting is to decide."""

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
    """Read the arguments; a subcommand's own arguments are left unread in `rest`.

    Raises:
        UsageError: they cannot be understood, or contradict each other.
        SystemExit: help or the version was asked for, and printed.
    """
    flags, command, rest = split_at_command(argv, WITH_VALUE)
    if command and "-p" not in flags and "--print" not in flags:
        _check_flags_of_command(command, flags)
        return _parse(flags, command=command, rest=rest)
    # Split here, since argparse loses the dashes when words and flags are mixed.
    at = list(argv).index("--") if "--" in argv else len(argv)
    arguments = _parse(repeat_image_flag(argv[:at]), words=argv[at + 1 :])
    # What follows two dashes is a prompt.
    if at == len(argv) and not arguments.print_mode and (meant := suggest_command(arguments.words)):
        raise UsageError(f'did you mean "{meant}"? To send it as a prompt: cinch -- {arguments.prompt}')
    return arguments


def _check_flags_of_command(command: str, flags: Sequence[str]) -> None:
    for flag in flags:
        name = flag.partition("=")[0]
        if name.startswith("-") and name not in FOR_COMMANDS:
            raise UsageError(f"{name} has no effect on cinch {command}; see cinch {command} --help")


def repeat_image_flag(argv: Sequence[str]) -> list[str]:
    """A shell makes several words of `--image *.png`: what follows a picture and is called like one is one, too."""
    spelled: list[str] = []
    for word in argv:
        follows = len(spelled) > 1 and spelled[-2] in IMAGE_FLAGS
        spelled += [IMAGE_FLAGS[-1], word] if follows and _names_a_picture(word) else [word]
    return spelled


def _names_a_picture(word: str) -> bool:
    """And is not a prompt that ends with the name of one."""
    return word.lower().endswith(PICTURES) and (" " not in word or os.path.isfile(word))  # noqa: PTH113  pathlib is slow to load


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
        raise UsageError("--continue and --resume are two ways to choose a session; give one")
    if arguments.fork and not (arguments.continue_last or arguments.resume is not None):
        raise UsageError("--fork copies a session: say which with --continue or --resume ID")
    if arguments.print_mode and arguments.resume == "":
        raise UsageError("print mode cannot let you pick a session; give its id: --resume ID")
    if arguments.print_mode and arguments.plain:
        raise UsageError("--plain talks with you, --print answers once; give one")
    if not arguments.print_mode and arguments.output_format != "text":
        raise UsageError("--output-format belongs to print mode; add -p")


def _parser() -> _Parser:
    parser = _Parser(
        prog="cinch",
        description="A coding agent in the terminal.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("words", nargs="*", metavar="prompt", help="what to do; without it the app opens")
    for group in (_add_prompt, _add_front, _add_model, _add_safety, _add_session, _add_place):
        group(parser.add_argument)
    parser.add_argument(
        "--verbose", action="store_true", help="log more; in print mode also report each step on stderr"
    )
    parser.add_argument("-V", "--version", action="version", version=f"cinch {__version__}")
    return parser


def _add_prompt(add: Callable[..., object]) -> None:
    add(
        *IMAGE_FLAGS,
        action="append",
        dest="images",
        default=[],
        metavar="FILE",
        help="send an image with the prompt: PNG, JPEG, GIF or WebP; may be repeated",
    )


def _add_front(add: Callable[..., object]) -> None:
    add(
        "--plain",
        action="store_true",
        default=None,
        help="plain line output instead of the full-screen app, as for a screen reader",
    )
    add("-p", "--print", dest="print_mode", action="store_true", help="print the answer and exit; stdin is appended")
    add(
        "--output-format",
        choices=("text", "json", "stream-json", "events"),
        default="text",
        help="for print mode: text, one JSON object, JSON lines as Claude Code prints them, or cinch's own events",
    )


def _add_model(add: Callable[..., object]) -> None:
    add("-m", "--model", metavar="MODEL", help="the model: provider/model, or an unambiguous part of its name")
    add("--base-url", metavar="URL", help="API base URL")
    add("--thinking", metavar="LEVEL", help="off, minimal, low, medium, high, extra-high")
    add("--system", default="", metavar="TEXT", help="replace the system prompt")


def _add_safety(add: Callable[..., object]) -> None:
    add("--plan", action="store_true", default=None, help="start in plan mode: read only until you accept a plan")
    add("--approve", metavar="on|smart|off", help="ask before every call, not before reading, or never")
    add("--allow", action="append", default=[], metavar="TOOL[:PREFIX]", help="allow without asking; may be repeated")
    add("--max-turns", type=int, metavar="N", help="end a run after N model replies")
    add("--max-cost", type=float, metavar="USD", help="end a run when it has cost this much")


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
        help="another folder the agent may use; repeatable",
    )
    add("--config", default="", metavar="FILE", help="use FILE instead of your configuration file")
    add("--record", default="", metavar="FILE", help="record requests and responses to FILE (keys are redacted)")
