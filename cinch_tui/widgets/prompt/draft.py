"""Unsent prompt text on disk: survives a crash and is restored at the next start in the project."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work
from textual.timer import Timer
from textual.widget import Widget

from cinch_tui.data_message import DataMessage
from cinch_tui.images.image_store import ImageStore
from cinch_tui.user_input import UserInput, join_inputs

if TYPE_CHECKING:
    from filelock import BaseFileLock

MAX_CHARACTERS = 2_000_000
_MAX_PLACES = 64
_PICTURES = ".pictures"

logger = logging.getLogger(__name__)
SAVE_DELAY = 0.5
"""Seconds after a change until it is saved; typing within it may be lost in a crash."""


class Draft:
    """Draft file. All methods block on the disk: call them in a thread. Disk errors only lose the draft."""

    def __init__(self, folder: Path, image_store: ImageStore | None = None) -> None:
        self._folder = folder
        self._image_store = image_store or ImageStore(folder / "pictures")
        self._opening = threading.Lock()
        self._lock: BaseFileLock | None = None
        self._file: Path | None = None
        self._written = UserInput("")

    def open(self) -> UserInput:
        """Lock a file, preferably one with an abandoned draft; return its draft."""
        with self._opening:
            if self._file is None:
                self._open()
        return self._written

    def _open(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            left = [path for path in sorted(self._folder.glob("*.txt")) if self._take(path)]
            if not left:
                new = (self._folder / f"{number}.txt" for number in count(1))
                left = [path for path, _ in zip(new, range(_MAX_PLACES), strict=False) if self._take(path)]
            self._written = self._read(left[0]) if left and left[0].exists() else UserInput("")
        except (OSError, UnicodeDecodeError) as error:
            logger.warning("the draft cannot be read: %s", error)

    def _read(self, path: Path) -> UserInput:
        user_input = UserInput(path.read_text(encoding="utf-8"))
        pictures = path.with_suffix(_PICTURES)
        if not pictures.exists():
            return user_input
        # Marks contain no line break, and names no space.
        named = dict(line.split(" ", 1)[::-1] for line in pictures.read_text(encoding="utf-8").splitlines())
        return UserInput(user_input.text, self._image_store.find_all(named)).with_text(user_input.text)

    def write(self, user_input: UserInput) -> None:
        """Replace the saved draft. API keys are left out."""
        from cinch_tui.api_keys.leak_check import without_keys  # not before the first paint
        from cinch_tui.config.paths import write_private

        kept = user_input.with_text(without_keys(user_input.text))
        if self._file is None or kept == self._written or len(kept.text) > MAX_CHARACTERS:
            return
        pictures = self._file.with_suffix(_PICTURES)
        # Keep the images of both texts: at any crash, the saved text has its images.
        images = (*self._written.images, *kept.images)
        try:
            if images:
                named = self._image_store.keep_all(images)
                write_private(pictures, "".join(f"{name} {mark}\n" for mark, name in named.items()))
            if kept.text.strip():
                write_private(self._file, kept.text)
            else:
                self._file.unlink(missing_ok=True)
            if not kept.images:
                pictures.unlink(missing_ok=True)
            self._written = kept
        except OSError as error:
            logger.warning("the draft cannot be written: %s", error)

    def close(self) -> None:
        if self._lock is not None:
            # Delete it before the release: afterwards another process may own it.
            with suppress(OSError):
                Path(self._lock.lock_file).unlink(missing_ok=True)
            self._lock.release()

    def _take(self, path: Path) -> bool:
        from filelock import FileLock, Timeout  # as above

        if self._file is not None:
            return False
        # Acquired in one thread and released in another.
        lock = FileLock(path.with_suffix(".lock"), thread_local=False)
        with suppress(Timeout):
            lock.acquire(blocking=False)
            self._lock, self._file = lock, path
            return True
        return False


class DraftKeeper(Widget):
    """Invisible widget. `read` returns the current prompt."""

    DEFAULT_CSS = "DraftKeeper { display: none; }"

    class Found(DataMessage):
        """An unsent draft from an earlier start."""

        user_input: UserInput

    def __init__(self, draft: Draft, read: Callable[[], UserInput]) -> None:
        super().__init__()
        self._draft = draft
        self._read = read
        self._is_open = False
        self._planned: Timer | None = None
        self._one_at_a_time = asyncio.Lock()

    def on_mount(self) -> None:
        self.call_after_refresh(self._open)

    def on_unmount(self) -> None:
        # If the user quits immediately, the old draft was not shown yet.
        before = UserInput("") if self._is_open else self._draft.open()
        self._draft.write(join_inputs([each for each in (before, self._read()) if each.text]))
        self._draft.close()

    def changed(self) -> None:
        """Schedule saving after a change."""
        if not self._is_open:
            return
        if not self._read().text:
            self._write()
        elif self._planned is None:
            self._planned = self.set_timer(SAVE_DELAY, self._write)

    @work(group="draft")
    async def _open(self) -> None:
        async with self._one_at_a_time:
            user_input = await asyncio.to_thread(self._draft.open)
            self._is_open = True
        if user_input.text:
            self.post_message(self.Found(user_input))
        else:
            self.changed()

    @work(group="draft")
    async def _write(self) -> None:
        self._planned = None
        async with self._one_at_a_time:
            await asyncio.to_thread(self._draft.write, self._read())
