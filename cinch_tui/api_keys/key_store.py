"""API keys: from the environment, else the system's keyring, else a file that only its owner may read.

A key is stored in one of the last two; the file also notes which keys are in the keyring.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from cinch_tui.config.paths import Paths, write_private
from harness.errors import ConfigError
from providers.installed import find_preset
from providers.preset import EnvironmentCredentials, Secret

if TYPE_CHECKING:
    from providers.preset import Credentials

logger = logging.getLogger(__name__)

SERVICE = "cinch"
KEYRING = "system keyring"
# Entry in the file for a key that is in the keyring.
IN_KEYRING = "@keyring"
KEYRING_TIMEOUT_S = 3.0

T = TypeVar("T")


class KeyStore:
    """Finds and stores keys. `CINCH_KEYRING=off` disables the system keyring."""

    def __init__(self, paths: Paths, environ: Mapping[str, str]) -> None:
        self.paths = paths
        self.environ = environ
        # Threads that wait for the keyring; while one is waiting, no other is started.
        self._unanswered: list[threading.Thread] = []
        # Keys that win over the environment, in this process.
        self._entered: dict[str, str] = {}

    @property
    def file(self) -> Path:
        return self.paths.credentials_file

    def find(self, preset_name: str, variables: Sequence[str]) -> Secret | None:
        """Return the key for a preset with its source; None if absent.

        Raises:
            ConfigError: the key file is damaged.
        """
        if entered := self._entered.get(preset_name):
            return Secret(entered, "your input")
        found = EnvironmentCredentials(self.environ).find(preset_name, variables)
        if found:
            return found
        kept = _read(self.file).get(preset_name, "")
        if kept and kept != IN_KEYRING:
            return Secret(kept, str(self.file))
        # A keyring lookup takes a fifth of a second, so it is skipped for servers that need no key.
        preset = find_preset(preset_name)
        is_worth_asking = kept == IN_KEYRING or (preset is not None and preset.key_required)
        value = self._ask_keyring(lambda: _get_in_keyring(preset_name)) if is_worth_asking else None
        return Secret(value, KEYRING) if value else None

    def store(self, preset_name: str, key: str) -> str:
        """Store a key and return the name of the store.

        Raises:
            ConfigError: the key could not be stored.
        """
        in_keyring = self._ask_keyring(lambda: _set_in_keyring(preset_name, key))
        self._write(_read(self.file) | {preset_name: IN_KEYRING if in_keyring else key})
        return KEYRING if in_keyring else str(self.file)

    def use_now(self, preset_name: str, key: str) -> None:
        """Use the key in this process although the environment has another, one that was refused."""
        self._entered[preset_name] = key

    def overrides(self, preset_name: str) -> bool:
        """True if a key that was entered wins over the environment's."""
        return preset_name in self._entered

    def _ask_keyring(self, work: Callable[[], T]) -> T | None:
        """Return the result; None if the keyring is off, fails or does not answer, as behind a hidden dialog."""
        is_off = self.environ.get("CINCH_KEYRING", "").lower() in ("off", "0", "no", "false")
        if is_off or any(thread.is_alive() for thread in self._unanswered):
            return None
        results: list[T] = []
        # A daemon thread, since a hanging keyring must not keep the process alive.
        thread = threading.Thread(target=_attempt, args=(work, results), name="cinch-keyring", daemon=True)
        thread.start()
        thread.join(KEYRING_TIMEOUT_S)
        if thread.is_alive():
            self._unanswered.append(thread)
        return results[0] if results else None

    def _write(self, known: dict[str, str]) -> None:
        try:
            write_private(self.file, json.dumps(known, indent=2) + "\n")
        except OSError as error:
            raise ConfigError(f"{self.file}: the key cannot be stored: {error.strerror}") from error


def _read(file: Path) -> dict[str, str]:
    try:
        return decode(file.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise ConfigError(f"{file}: must be an object of provider names and keys") from error
    except (DecodeError, ValueError) as error:
        raise ConfigError(f"{file}: is not valid JSON; fix or delete it, then enter your keys again") from error


def _attempt(work: Callable[[], T], results: list[T]) -> None:
    try:
        results.append(work())
    except Exception as error:  # noqa: BLE001 whichever backend is installed may raise anything
        logger.info("the system keyring failed: %s", type(error).__name__)


# The import takes 80 ms and the search for a backend 100 more, and only those without a key in the environment need it.
def _get_in_keyring(preset_name: str) -> str | None:
    import keyring

    return keyring.get_password(SERVICE, preset_name)


def _set_in_keyring(preset_name: str, key: str) -> bool:
    import keyring

    keyring.set_password(SERVICE, preset_name, key)
    return keyring.get_password(SERVICE, preset_name) == key


if TYPE_CHECKING:
    _: type[Credentials] = KeyStore
