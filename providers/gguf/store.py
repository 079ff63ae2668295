"""Pulled models: a folder with a folder for each repository."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from harness.errors import ConfigError
from harness.lazy_dataclass import dataclass
from providers.gguf.header import PART, missing_part
from providers.gguf.names import SUFFIX, HubName, choose, read_name


@dataclass(frozen=True, slots=True)
class Pulled:
    """A pulled model."""

    name: str
    """Name after `local/`."""

    path: Path
    size: int
    """Total size of its files in bytes."""


def models_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder for models, with the other data of cinch."""
    home = (os.environ if environ is None else environ).get("CINCH_HOME", "")
    if home:
        return Path(home).expanduser().absolute() / "data" / "models"
    from platformdirs import user_data_path

    return user_data_path("cinch", appauthor=False) / "models"


def find_model(name: str, folder: Path) -> Path:
    """Return the file of a model; the first if it has several.

    Raises:
        ConfigError: It is missing; the text says how to get it.
    """
    meant = read_name(name)
    if isinstance(meant, Path):
        if not meant.is_file():
            raise ConfigError(f"{meant} does not exist; local/ takes {_known(folder)}")
        return meant
    try:
        path = folder / meant.repository / choose(files_of(meant.repository, folder), meant)[0]
    except ConfigError as error:
        raise _to_be_pulled(name, meant) from error
    if missing_part(path):
        raise _to_be_pulled(name, meant)
    return path


def _to_be_pulled(name: str, meant: HubName) -> ConfigError:
    return ConfigError(f"local/{name} is not on this machine; to download it: cinch models pull {meant}")


def files_of(repository: str, folder: Path) -> list[str]:
    """Return the downloaded files of a repository."""
    root = folder / repository
    return [path.relative_to(root).as_posix() for path in root.rglob(f"*{SUFFIX}") if path.is_file()]


def pulled_models(folder: Path) -> list[Pulled]:
    """Return all pulled models, sorted by name."""
    found: list[Pulled] = []
    for path in sorted(folder.glob(f"*/*/**/*{SUFFIX}")):
        part = PART.search(path.name)
        if part is None:
            found.append(Pulled(path.relative_to(folder).as_posix(), path, path.stat().st_size))
        elif int(part[1]) == 1:
            stem = path.name[: part.start()]
            parts = path.parent.glob(f"{stem}-*-of-{part[2]}{SUFFIX}")
            found.append(Pulled(path.relative_to(folder).as_posix(), path, sum(each.stat().st_size for each in parts)))
    return found


def _known(folder: Path) -> str:
    names = [model.name for model in pulled_models(folder)]
    return f"a path to a GGUF file, or a pulled model ({', '.join(names[:5]) or 'none yet'})"
