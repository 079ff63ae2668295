"""The command line's words and what they mean."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import NoReturn

from cinch_tui import __version__

COMMANDS = ("sessions", "config", "models", "doctor", "keys", "reset-terminal")

IMAGE_FLAGS = ("-i", "--image")
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")

EPILOG = """\
commands:
  cinch sessions list|show|search|export|import|rename|rm|doctor
  cinch config show|path|edit|trust
  cinch models [PROVIDER]    providers, their keys and their models
  cinch doctor [PROVIDER]    what works, what does not, and how to mend it
  cinch keys [--list]        what arrives when a key is pressed; a list of all
  cinch reset-terminal       mend a terminal that a program has left broken
  cinch demo                 a tour with a scripted model; needs no key
A prompt that begins with one of these words goes after two dashes:
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
    if argv and argv[0] in COMMANDS:
        return _parse([], command=argv[0], rest=argv[1:])
    # Split here, since argparse loses the dashes when words and flags are mixed.
    at = list(argv).index("--") if "--" in argv else len(argv)
    return _parse(each_with_its_flag(argv[:at]), words=argv[at + 1 :])


def each_with_its_flag(argv: Sequence[str]) -> list[str]:
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
    parser.add_argument("words", nargs="*", metavar="prompt", help="what to do; without it the app opens and waits")
    for group in (_add_prompt, _add_front, _add_model, _add_safety, _add_session, _add_place):
        group(parser.add_argument)
    parser.add_argument(
        "--verbose", action="store_true", help="log more; in print mode also tell of each step on stderr"
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
        help="show the model a picture with the prompt: PNG, JPEG, GIF or WebP; several, or repeated",
    )


def _add_front(add: Callable[..., object]) -> None:
    add("--plain", action="store_true", default=None, help="lines in place of the screen, as for a screen reader")
    add("-p", "--print", dest="print_mode", action="store_true", help="print the answer and exit; stdin is appended")
    add(
        "--output-format",
        choices=("text", "json", "stream-json", "events"),
        default="text",
        help="of print mode: text, one JSON object, JSON lines as Claude Code prints them, or our events",
    )


def _add_model(add: Callable[..., object]) -> None:
    add("-m", "--model", metavar="PROVIDER/MODEL", help="which model to ask")
    add("--base-url", metavar="URL", help="where the provider's API is")
    add("--thinking", metavar="LEVEL", help="off, minimal, low, medium, high, extra-high")
    add("--system", default="", metavar="TEXT", help="instead of the system prompt of cinch")


def _add_safety(add: Callable[..., object]) -> None:
    add("--plan", action="store_true", default=None, help="start in plan mode: read only until you accept a plan")
    add("--approve", metavar="on|smart|off", help="ask before every call, not before reading, or never")
    add("--allow", action="append", default=[], metavar="TOOL[:PREFIX]", help="no asking for this; may be repeated")
    add("--max-turns", type=int, metavar="N", help="end a run after N replies of the model")
    add("--max-cost", type=float, metavar="USD", help="end a run when it has cost this much")


def _add_session(add: Callable[..., object]) -> None:
    add(
        "-c", "--continue", dest="continue_last", action="store_true", help="go on with the last session of this folder"
    )
    add("-r", "--resume", nargs="?", const="", metavar="ID", help="go on with a session; without an id, pick one")
    add("--fork", action="store_true", help="with -c or -r: go on in a copy")
    add("--no-session", dest="keep_session", action="store_false", help="write no session file")


def _add_place(add: Callable[..., object]) -> None:
    add("--cwd", default="", metavar="DIR", help="work there instead of here")
    add("--add-dir", action="append", default=[], metavar="DIR", help="another folder the agent may touch")
    add("--config", default="", metavar="FILE", help="instead of the configuration file of yours")
    add("--record", default="", metavar="FILE", help="add all that models are sent and answer to FILE, without keys")
