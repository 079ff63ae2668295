"""Dispatch of the command line to the app, plain mode, print mode or a subcommand.

Only the argument parser is imported before the arguments are known, so that `cinch --version` is fast.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn, TextIO

from cinch_tui import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from cinch_tui.cli.arguments import Arguments
    from cinch_tui.config.options import Options
    from cinch_tui.config.settings import Settings
    from cinch_tui.print_mode.output import Output
    from cinch_tui.terminal.first_frame import FirstFrame

    Subcommand = Callable[[list[str], Path, Output], int]

FAILED = 1
USAGE_ERROR = 2
INTERRUPTED = 130

# Maximum frame rate, which Textual reads on import: the echo of a key waits for the next frame, or the one after it.
FRAMES = ("TEXTUAL_FPS", "250")
# A frame is three writes of the writer thread, and each of them waits this long while the next frame is rendered.
SWITCH_INTERVAL_S = 0.0005


def run(frame: FirstFrame | None = None) -> NoReturn:
    """Run `main` and exit the process without the slow teardown of modules."""
    status = main(frame=frame)
    for stream in (sys.stdout, sys.stderr):
        # A broken pipe cannot be reported anywhere.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)


def main(argv: Sequence[str] | None = None, frame: FirstFrame | None = None) -> int:
    """Run cinch and return the exit status.

    Args:
        argv: arguments; None for those of the process.
        frame: the first frame, if it was painted already; it is removed before other output.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        print(f"cinch {__version__}")  # noqa: T201 output for the user
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
    # Imported after the arguments are parsed, so that --help does not load it.
    from harness.errors import CinchError, ConfigError, SessionError

    try:
        return _front(arguments, frame)(arguments)
    except (ConfigError, SessionError) as error:
        return _refuse(str(error))
    except CinchError as error:
        _refuse(str(error))
        return FAILED
    except Exception as error:  # noqa: BLE001 last resort: write a crash report instead of a traceback
        return _fail(error)


def _front(arguments: Arguments, frame: FirstFrame | None) -> Callable[[Arguments], int]:
    if arguments.command:
        return _subcommand
    # Imports create many long-lived objects and no garbage: collecting takes a tenth of the startup time. The front
    # ends call `collect_garbage` once they have started.
    gc.disable()
    return _print if arguments.print_mode else partial(_app, frame)


def _subcommand(arguments: Arguments) -> int:
    from cinch_tui.cli.arguments import SUBCOMMAND_HELP
    from cinch_tui.cli.start import working_folder
    from cinch_tui.print_mode.output import Output
    from harness.errors import ConfigError

    out, name, argv = Output(sys.stdout), arguments.command, arguments.rest
    cwd = working_folder(arguments.cwd, "--cwd")
    if argv in (["--help"], ["-h"]) and name in SUBCOMMAND_HELP:
        out.write_text(SUBCOMMAND_HELP[name])
        return 0
    if name == "reset-terminal":
        return _reset_terminal(argv)
    run: Subcommand = import_module(f"cinch_tui.subcommands.{name}").run
    status = run(argv, cwd, out)
    if out.problem:
        raise ConfigError(out.problem)
    return status


def _reset_terminal(argv: list[str]) -> int:
    from cinch_tui.terminal.raw_mode import reset_terminal
    from harness.errors import ConfigError

    if argv:
        raise ConfigError(f"cinch reset-terminal takes no arguments, not {argv[0]!r}")
    reset_terminal()
    return 0


def _print(arguments: Arguments) -> int:
    # Before print mode is imported, so that configuration errors are reported at once.
    options, settings = _prepare(arguments)
    from cinch_tui.print_mode.run import run_print

    for notice in options.notices:
        _print_error(notice)
    return run_print(options, settings)


def _app(frame: FirstFrame | None, arguments: Arguments) -> int:
    try:
        # With the flag, no module of the screen is loaded.
        if arguments.plain:
            return _plain(frame, *_prepare(arguments))
        os.environ.setdefault(*FRAMES)
        options, settings = _prepare(arguments)
        if settings.ui.plain:
            return _plain(frame, options, settings)
        if problem := _terminal_problem():
            return _refuse(problem)
        from cinch_tui.app.app import run_app

        sys.setswitchinterval(SWITCH_INTERVAL_S)
        return run_app(options, settings, frame)
    except BaseException:
        # The error is reported on the normal screen.
        _close(frame)
        raise


def _terminal_problem() -> str:
    """Return the reason why the app cannot run in this terminal; empty if it can."""
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stdout)):
        return 'the app needs a terminal; for scripts, use print mode: cinch -p "your prompt"; or: cinch --plain'
    if os.environ.get("TERM") == "dumb":
        return "this terminal cannot run the app (TERM is dumb): start cinch --plain, or set ui.plain = true"
    return ""


def _plain(frame: FirstFrame | None, options: Options, settings: Settings) -> int:
    if frame is not None:
        _close(frame)
        # The next start in plain mode must not paint a first frame.
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


def _refuse(message: str) -> int:
    _print_error(message)
    return USAGE_ERROR


def _fail(error: Exception) -> int:
    if isinstance(error, BrokenPipeError):
        return 0  # the reader closed the pipe, as `head` does
    from cinch_tui.app.crash import report_crash
    from cinch_tui.config.paths import find_paths

    _print_error(report_crash(error, find_paths(os.environ).state))
    return FAILED


def _print_error(message: str) -> None:
    from harness.terminal_text import strip_escapes

    # A closed stderr is None or raises.
    with suppress(OSError, AttributeError):
        sys.stderr.write(f"cinch: {strip_escapes(message)}\n")
