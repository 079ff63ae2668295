"""The command line: reads the arguments and hands over to a front, print mode or a subcommand.

Nothing but the argument parser is imported before it is known what is wanted: `cinch --version` must not wait for more.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TextIO

from cinch_tui import __version__

if TYPE_CHECKING:
    from cinch_tui.cli.arguments import Arguments
    from cinch_tui.config.options import Options
    from cinch_tui.config.settings import Settings
    from cinch_tui.terminal.first_frame import FirstFrame

FAILED = 1
USAGE_ERROR = 2
INTERRUPTED = 130

# Paints a second at most: the echo of a key waits for the next one, and after a frame of a reply that is up to two of
# these away. Textual reads it when it is imported.
FRAMES = ("TEXTUAL_FPS", "250")
# Seconds that one thread may hold up the others. A frame is three writes of a thread of its own, and each of them waits
# so long while the next frame is made.
PATIENCE_OF_THREADS = 0.0005


def run(frame: FirstFrame | None = None) -> NoReturn:
    """The process: `main`, and out, without tearing down module by module what vanishes anyway."""
    status = main(frame=frame)
    for stream in (sys.stdout, sys.stderr):
        # Nobody is left to be told that a reader went away.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)


def main(argv: Sequence[str] | None = None, frame: FirstFrame | None = None) -> int:
    """Run cinch with these arguments (the process's own when None); the result is the exit status.

    `frame` stands on the terminal already; it goes before anything else is written there.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        print(f"cinch {__version__}")  # noqa: T201 the answer, on stdout
        return 0
    try:
        return _run(arguments, frame)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _close(frame)


def _run(argv: list[str], frame: FirstFrame | None) -> int:
    from cinch_tui.cli.arguments import UsageError, parse_arguments

    if argv[:1] == ["demo"]:
        argv = [*argv[1:], "--model", "demo"]
    try:
        arguments = parse_arguments(argv)
    except UsageError as error:
        _close(frame)
        return _refuse(str(error))
    except SystemExit as finished:
        return finished.code if isinstance(finished.code, int) else USAGE_ERROR
    # Everything of ours that raises comes after this line, so that --help does not pay for it.
    from harness.errors import CinchError, ConfigError, SessionError

    try:
        return _front(arguments, frame)(arguments)
    except (ConfigError, SessionError) as error:
        return _refuse(str(error))
    except CinchError as error:
        _refuse(str(error))
        return FAILED
    except Exception as error:  # noqa: BLE001 the last resort: nobody is to be shown a traceback
        return _fail(error)


def _front(arguments: Arguments, frame: FirstFrame | None) -> Callable[[Arguments], int]:
    if arguments.command:
        from cinch_tui.subcommands.table import run_subcommand

        return run_subcommand
    # Imports make many objects that live on and no garbage: looking through them is a tenth of the start. The fronts
    # call `collect_garbage` once they have started.
    gc.disable()
    return _print if arguments.print_mode else partial(_app, frame)


def _print(arguments: Arguments) -> int:
    # Before print mode is imported: a mistake in the configuration is told at once.
    options, settings = _prepare(arguments)
    from cinch_tui.print_mode.run import run_print

    for notice in options.notices:
        _tell(notice)
    return run_print(options, settings)


def _app(frame: FirstFrame | None, arguments: Arguments) -> int:
    try:
        # Where the flag says so, nothing of a screen is loaded.
        if arguments.plain:
            return _plain(frame, *_prepare(arguments))
        os.environ.setdefault(*FRAMES)
        options, settings = _prepare(arguments)
        if settings.ui.plain:
            return _plain(frame, options, settings)
        if obstacle := _obstacle():
            return _refuse(obstacle)
        from cinch_tui.app.app import run_app

        sys.setswitchinterval(PATIENCE_OF_THREADS)
        return run_app(options, settings, frame)
    except BaseException:
        # Why it failed is told on the person's own screen.
        _close(frame)
        raise


def _obstacle() -> str:
    """Why the screen cannot be shown here; empty where it can."""
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stdout)):
        return 'cinch needs a terminal; for scripts use print mode: cinch -p "your prompt"; by lines: cinch --plain'
    if os.environ.get("TERM") == "dumb":
        return "this terminal shows lines only (TERM is dumb): start cinch --plain, or set ui.plain = true for ever"
    return ""


def _plain(frame: FirstFrame | None, options: Options, settings: Settings) -> int:
    if frame is not None:
        _close(frame)
        # Who has turned to lines is not to be shown a screen first at the next start.
        shutil.rmtree(options.paths.state / "first-frame", ignore_errors=True)
    from cinch_tui.plain.line_app import run_plain

    return run_plain(options, settings)


def _close(frame: FirstFrame | None) -> None:
    if frame is not None:
        frame.close()


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _prepare(arguments: Arguments) -> tuple[Options, Settings]:
    from cinch_tui.cli.log import start_logging
    from cinch_tui.cli.start import prepare

    options, settings = prepare(arguments)
    start_logging(options.paths.log_file, verbose=options.verbose)
    return options, settings


def _refuse(sentence: str) -> int:
    _tell(sentence)
    return USAGE_ERROR


def _fail(error: Exception) -> int:
    if isinstance(error, BrokenPipeError):
        return 0  # a reader that had enough, as `head` has
    from cinch_tui.app.crash import report_crash
    from cinch_tui.config.paths import find_paths

    _tell(report_crash(error, find_paths(os.environ).state))
    return FAILED


def _tell(sentence: str) -> None:
    from harness.terminal_text import strip_escapes

    # A closed stderr is None, or fails.
    with suppress(OSError, AttributeError):
        sys.stderr.write(f"cinch: {strip_escapes(sentence)}\n")
