"""`cinch models pull NAME` and `cinch models local`: download and list local models."""

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
from providers.gguf.store import HubName, choose, find_model, models_folder, pulled_models, read_name

PREFIX = "local/"
HELP = """\
cinch models pull OWNER/REPOSITORY             download a model (Q4_K_M)
cinch models pull OWNER/REPOSITORY:Q8_0        download another quantization
cinch models pull OWNER/REPOSITORY/file.gguf   download a file
cinch models local                             list downloaded models

Models come from huggingface.co; HF_ENDPOINT selects another hub, HF_TOKEN
gives access to gated models. An interrupted download is resumed.
"""
NONE_YET = (
    "No local models. Download one: cinch models pull OWNER/REPOSITORY; or use a GGUF file: cinch -m local/./it.gguf"
)
BAR_WIDTH = 24
PAINT_SECONDS = 0.1
# Progress lines per file if the output is not a terminal.
LINES = 10


def run_pull(argv: Sequence[str], *, out: Output) -> int:
    """Download a model by name, or list local models: `argv` begins with `pull` or `local`.

    Raises:
        ConfigError: the arguments are invalid, or there is not enough disk space.
        ProviderError: the download failed.
    """
    match list(argv):
        case ["local"]:
            _list(out)
        case ["pull", name] if not name.startswith("-"):
            path = pull(name.removeprefix(PREFIX))
            out.write_text(f"{path}\n\nTo use it: cinch -m {PREFIX}{path.relative_to(models_folder()).as_posix()}")
        case ["pull", "-h" | "--help"]:
            out.write_text(HELP)
        case _:
            raise ConfigError("usage: cinch models pull OWNER/REPOSITORY; see cinch models pull --help")
    return 0


def pull_if_missing(name: str) -> None:
    """Download the model given on the command line, if it is a hub model that is missing.

    Raises:
        ConfigError, ProviderError: as `run_pull`.
    """
    wanted = name.removeprefix(PREFIX)
    # Without llama.cpp the model could not run; the start reports that before gigabytes are downloaded.
    if wanted == name or not isinstance(read_name(wanted), HubName) or importlib.util.find_spec("llama_cpp") is None:
        return
    try:
        find_model(wanted, models_folder())
    except ConfigError:
        pull(wanted)


def pull(name: str, stream: TextIO | None = None) -> Path:
    """Download all files of a model and return the path of the first."""
    meant = read_name(name)
    if not isinstance(meant, HubName):
        raise ConfigError(f"{name} is a path; only models of a hub can be downloaded: OWNER/REPOSITORY")
    # Loads the HTTP client.
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
    """Progress of a download: one updated line on a terminal, a few lines elsewhere."""

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
        """Show that `done` bytes have been downloaded."""
        if self._first < 0:
            # Bytes of an earlier attempt do not count for the rate.
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
    """Format a size with a unit."""
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
