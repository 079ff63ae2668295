"""API keys: from the environment, else the system's keyring, else a file that only its owner may read.

A key is stored in one of the last two; the file also notes which keys are in the keyring.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from cinch_tui.api_keys.system_keyring import SystemKeyring
from cinch_tui.config.paths import Paths, write_private
from harness.errors import ConfigError
from providers.installed import find_preset
from providers.preset import EnvironmentCredentials, Secret

if TYPE_CHECKING:
    from providers.preset import Credentials

KEYRING = "system keyring"
# Entry in the file for a key that is in the keyring.
IN_KEYRING = "@keyring"


class KeyStore:
    """Finds and stores keys. `CINCH_KEYRING=off` disables the system keyring."""

    def __init__(self, paths: Paths, environ: Mapping[str, str]) -> None:
        self.paths = paths
        self.environ = environ
        self._keyring = SystemKeyring(environ)
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
        value = self._keyring.get(preset_name) if is_worth_asking else None
        return Secret(value, KEYRING) if value else None

    def is_known(self, name: str, variables: Sequence[str]) -> bool:
        """True if there seems to be a key: the keyring is not asked, and a damaged file has none."""
        if EnvironmentCredentials(self.environ).find(name, variables):
            return True
        try:
            return bool(_read(self.file).get(name))
        except ConfigError:
            return False

    def store(self, preset_name: str, key: str) -> str:
        """Store a key and return the name of the store.

        Raises:
            ConfigError: the key could not be stored.
        """
        in_keyring = self._keyring.set(preset_name, key)
        self._write(_read(self.file) | {preset_name: IN_KEYRING if in_keyring else key})
        return KEYRING if in_keyring else str(self.file)

    def use_now(self, preset_name: str, key: str) -> None:
        """Use the key in this process although the environment has another, one that was refused."""
        self._entered[preset_name] = key

    def overrides(self, preset_name: str) -> bool:
        """True if a key that was entered wins over the environment's."""
        return preset_name in self._entered

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


if TYPE_CHECKING:
    _: type[Credentials] = KeyStore
