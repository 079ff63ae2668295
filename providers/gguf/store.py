"""Local models: their names (a path, or a hub repository with a file or a quantization), and the pulled ones."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from msgspec import Struct

from harness.errors import ConfigError
from providers.gguf.header import missing_part, parts_of

HUBS = ("hf.co/", "huggingface.co/", "https://hf.co/", "https://huggingface.co/")
SUFFIX = ".gguf"
# Default quantizations in order of preference: the best that an average machine can run.
DEFAULT_QUANTIZATIONS = ("Q4_K_M", "Q4_K_S", "Q4_0", "Q5_K_M", "Q8_0")
QUANTISATION = re.compile(
    r"(?:^|[-._/])((?:UD-)?(?:I?Q\d[A-Z0-9_]*|MXFP4[A-Z0-9_]*|BF16|F16|F32))(?=[-./]|$)", re.IGNORECASE
)
FORMS = "a path as ./model.gguf or /models/model.gguf, or OWNER/REPOSITORY, OWNER/REPOSITORY:Q4_K_M"


class HubName(Struct, frozen=True):
    """A model in a hub repository; at most one of `file` and `quantisation` is set."""

    repository: str
    file: str = ""
    quantisation: str = ""

    def __str__(self) -> str:
        return self.repository + (
            f":{self.quantisation}" if self.quantisation else f"/{self.file}" if self.file else ""
        )


def read_name(name: str) -> Path | HubName:
    """Parse a name.

    Raises:
        ConfigError: It is neither a path nor a repository.
    """
    plain = next((name.removeprefix(hub) for hub in HUBS if name.startswith(hub)), name)
    parts = plain.split("/")
    if plain == name and (
        name.startswith(("/", "~", "./", "../")) or (len(parts) < 3 and name.lower().endswith(SUFFIX))
    ):
        return Path(name).expanduser()
    # As copied from a browser's address bar.
    if len(parts) > 4 and parts[2] in ("blob", "resolve"):
        parts = [*parts[:2], *parts[4:]]
    if len(parts) < 2 or not all(parts) or ".." in parts or "." in parts:
        raise ConfigError(f"local/{name} is not a model name: use {FORMS}")
    repository, _, quantisation = "/".join(parts[:2]).partition(":")
    return HubName(repository, "/".join(parts[2:]), quantisation if len(parts) == 2 else "")


def choose(files: Sequence[str], name: HubName) -> list[str]:
    """Return the files of the named model; the parts of a split model in order.

    Raises:
        ConfigError: No file matches; the message lists the available ones.
    """
    models = sorted(file for file in files if file.lower().endswith(SUFFIX) and "mmproj" not in file.lower())
    if not models:
        raise ConfigError(f"{name.repository} contains no GGUF file; look for a repository whose name ends in -GGUF")
    if name.file:
        if name.file not in models:
            near = get_close_matches(name.file, models, 3, cutoff=0.3) or models[:3]
            raise ConfigError(f"{name.repository} has no {name.file}; did you mean {' or '.join(near)}?")
        return _available_parts(name.file, models)
    kinds = {kind.upper(): file for file in reversed(models) if (kind := quantisation_of(file))}
    wanted = name.quantisation.upper()
    if wanted and wanted not in kinds:
        raise ConfigError(
            f"{name.repository} has no {name.quantisation}; it has {', '.join(sorted(kinds)) or ', '.join(models)}"
        )
    usual = (*DEFAULT_QUANTIZATIONS, *(kind for kind in sorted(kinds) if "4" in kind))
    kind = wanted or next((kind for kind in usual if kind in kinds), "")
    return _available_parts(kinds.get(kind, models[0]), models)


def _available_parts(file: str, files: Sequence[str]) -> list[str]:
    # A file whose number is beyond the total is alone.
    return [part for part in parts_of(file) if part in files] or [file]


def quantisation_of(file: str) -> str:
    """Return the quantization in a file name; empty if absent."""
    found = QUANTISATION.findall(file.removesuffix(SUFFIX))
    # The folder may contain it as well; the file is more specific.
    return found[-1] if found else ""


class Pulled(Struct, frozen=True):
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
        if meant.is_file():
            return meant
        names = ", ".join([model.name for model in pulled_models(folder)][:5])
        pulled = f"a path to a GGUF file, or a pulled model ({names or 'none yet'})"
        raise ConfigError(f"{meant} does not exist; local/ takes {pulled}")
    with suppress(ConfigError):
        path = folder / meant.repository / choose(files_of(meant.repository, folder), meant)[0]
        if not missing_part(path):
            return path
    raise ConfigError(f"local/{name} is not on this machine; to download it: cinch models pull {meant}")


def files_of(repository: str, folder: Path) -> list[str]:
    """Return the downloaded files of a repository."""
    root = folder / repository
    return [path.relative_to(root).as_posix() for path in root.rglob(f"*{SUFFIX}") if path.is_file()]


def pulled_models(folder: Path) -> list[Pulled]:
    """Return all pulled models, sorted by name."""
    found: list[Pulled] = []
    for path in sorted(folder.glob(f"*/*/**/*{SUFFIX}")):
        parts = [path.with_name(name) for name in parts_of(path.name)]
        if path == parts[0]:
            size = sum(part.stat().st_size for part in parts if part.is_file())
            found.append(Pulled(path.relative_to(folder).as_posix(), path, size))
    return found
