"""System keyring, which may be absent, slow, or blocked by a hidden dialog."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

SERVICE = "cinch"
TIMEOUT_S = 3.0

T = TypeVar("T")

logger = logging.getLogger(__name__)


class SystemKeyring:
    """Passwords of cinch in the system keyring. `CINCH_KEYRING=off` disables it.

    Args:
        environ: Environment variables.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        # Threads that wait for the keyring; while one is waiting, no other is started.
        self._unanswered: list[threading.Thread] = []

    # The import takes 80 ms and the search for a backend 100 more, so each call imports it.

    def get(self, name: str) -> str | None:
        """Return a password; None if it is absent or the keyring fails."""

        def work() -> str | None:
            import keyring

            return keyring.get_password(SERVICE, name)

        return self._ask(work)

    def set(self, name: str, password: str) -> bool:
        """Store a password; return False if the keyring fails."""

        def work() -> bool:
            import keyring

            keyring.set_password(SERVICE, name, password)
            return keyring.get_password(SERVICE, name) == password

        return self._ask(work) or False

    def delete(self, name: str) -> None:
        """Delete a password, if present."""

        def work() -> None:
            import keyring

            if keyring.get_password(SERVICE, name) is not None:
                keyring.delete_password(SERVICE, name)

        self._ask(work)

    def _ask(self, work: Callable[[], T]) -> T | None:
        """Return the result; None if the keyring is off, fails or does not answer."""
        is_off = self._environ.get("CINCH_KEYRING", "").lower() in ("off", "0", "no", "false")
        if is_off or any(thread.is_alive() for thread in self._unanswered):
            return None
        results: list[T] = []
        # A daemon thread, since a hanging keyring must not keep the process alive.
        thread = threading.Thread(target=_attempt, args=(work, results), name="cinch-keyring", daemon=True)
        thread.start()
        thread.join(TIMEOUT_S)
        if thread.is_alive():
            self._unanswered.append(thread)
        return results[0] if results else None


def _attempt(work: Callable[[], T], results: list[T]) -> None:
    try:
        results.append(work())
    except Exception as error:  # noqa: BLE001 whichever backend is installed may raise anything
        logger.info("the system keyring failed: %s", type(error).__name__)
