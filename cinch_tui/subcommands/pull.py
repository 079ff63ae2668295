"""`cinch models pull NAME` and `cinch models local`: models for this machine, brought from a hub and listed."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from cinch_tui.print_mode.output import Output
from harness.errors import ConfigError
from harness.terminal_text import strip_escapes
from providers.gguf.names import HubName, choose, read_name
from providers.gguf.store import find_model, models_folder, pulled_models

PREFIX = "local/"
HELP = """\
cinch models pull OWNER/REPOSITORY             the usual quantisation (Q4_K_M) of a model from huggingface.co
cinch models pull OWNER/REPOSITORY:Q8_0        another quantisation
cinch models pull OWNER/REPOSITORY/file.gguf   a file
cinch models local                             those that are here

What breaks off goes on where it was when it is pulled again. HF_TOKEN opens what is closed, HF_ENDPOINT is another hub.
"""
NONE_YET = (
    "No model was pulled yet: cinch models pull OWNER/REPOSITORY; a GGUF file of your own: cinch -m local/./it.gguf"
)
BAR_WIDTH = 24
PAINT_SECONDS = 0.1
# Where nobody sees a bar move, a line for each of so many shares.
LINES = 10


def run_pull(argv: Sequence[str], *, out: Output) -> int:
    """Pull models by name, or list those that are here: `argv` begins with `pull` or `local`.

    Raises:
        ConfigError: it cannot be understood, names no model, or there is no room.
        ProviderError: the hub did not give it.
    """
    match list(argv):
        case ["local"]:
            _list(out)
        case ["pull", name] if not name.startswith("-"):
            path = pull(name.removeprefix(PREFIX))
            out.write_text(f"{path}\n\nTo talk to it: cinch -m {PREFIX}{path.relative_to(models_folder()).as_posix()}")
        case ["pull", "-h" | "--help"]:
            out.write_text(HELP)
        case _:
            raise ConfigError("say which model to pull: cinch models pull OWNER/REPOSITORY; cinch models pull --help")
    return 0


def pull_if_missing(name: str) -> None:
    """Pull the model that a start names, if it is one that can be pulled and is not here.

    Raises:
        ConfigError, ProviderError: as `run_pull`.
    """
    wanted = name.removeprefix(PREFIX)
    # Without llama.cpp it could not be run: the start says so before gigabytes are pulled.
    if wanted == name or not isinstance(read_name(wanted), HubName) or importlib.util.find_spec("llama_cpp") is None:
        return
    try:
        find_model(wanted, models_folder())
    except ConfigError:
        pull(wanted)


def pull(name: str, stream: TextIO | None = None) -> Path:
    """Bring a model here, all its files; the first of them."""
    meant = read_name(name)
    if not isinstance(meant, HubName):
        raise ConfigError(f"{name} is a path, and only models of a hub can be pulled: OWNER/REPOSITORY")
    # The HTTP client is only needed here.
    from providers.gguf.hub import Hub

    folder = models_folder() / meant.repository
    with Hub() as hub:
        files = {file.path: file for file in hub.files(meant.repository)}
        wanted = choose([*files], meant)
        for number, path in enumerate(wanted, 1):
            target = folder / path
            if target.is_file() and target.stat().st_size == files[path].size:
                continue
            label = path.rpartition("/")[2] + (f" ({number} of {len(wanted)})" if len(wanted) > 1 else "")
            with ProgressBar(label, files[path].size, stream or sys.stderr) as bar:
                hub.fetch(meant.repository, files[path], target, bar.update)
    return folder / wanted[0]


class ProgressBar:
    """How far a file has come: a line that changes on a terminal, a few lines elsewhere."""

    def __init__(self, label: str, size: int, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._label = strip_escapes(label)
        self._size = max(size, 1)
        self._stream = stream
        self._clock = clock
        self._began = self._painted = clock()
        self._first = -1
        self._shown = ""
        self._share = 0

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._shown and self._stream.isatty():
            self._stream.write(f"\r\x1b[K{self._shown}\n")
            self._stream.flush()

    def update(self, done: int) -> None:
        """So many bytes are here."""
        if self._first < 0:
            # What an earlier try left came in no time.
            self._first = done
        now = self._clock()
        if self._stream.isatty():
            self._shown = self._text(done, now)
            if now - self._painted >= PAINT_SECONDS or done >= self._size:
                self._painted = now
                self._write(f"\r\x1b[K{self._shown}")
        elif (share := done * LINES // self._size) > self._share:
            self._share = share
            self._write(f"{self._text(done, now)}\n")

    def _text(self, done: int, now: float) -> str:
        share = min(done / self._size, 1.0)
        filled = round(share * BAR_WIDTH)
        bar = f"[{'=' * filled}{' ' * (BAR_WIDTH - filled)}]"
        rate = (done - self._first) / max(now - self._began, 0.001)
        left = f", {_clock_text((self._size - done) / rate)} left" if rate > 0 and done < self._size else ""
        sizes = f"{bytes_text(done)} of {bytes_text(self._size)}, {bytes_text(rate)}/s"
        return f"{self._label} {bar} {share:4.0%}  {sizes}{left}"

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def bytes_text(size: float) -> str:
    """A size as people read it."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def _clock_text(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _list(out: Output) -> None:
    models = pulled_models(models_folder())
    for model in models:
        out.write_text(f"{PREFIX}{model.name}  {bytes_text(model.size)}")
    if not models:
        out.write_text(NONE_YET)
