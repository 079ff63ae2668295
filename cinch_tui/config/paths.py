"""Where configuration, data, state and cache live."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.lazy_dataclass import dataclass
from harness.workspace.disk import is_there

APP = "cinch"
PROJECT_FOLDER = ".cinch"


@dataclass(frozen=True, slots=True)
class Paths:
    """The four folders of cinch. None of them need exist; who writes makes its own."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def credentials_file(self) -> Path:
        # With the data, since people keep their configuration folder in a public repository.
        return self.data / "credentials.json"

    @property
    def trust_file(self) -> Path:
        return self.state / "trusted.json"

    @property
    def choice_file(self) -> Path:
        return self.state / "model.json"

    @property
    def panels_file(self) -> Path:
        return self.state / "panels.json"

    @property
    def log_file(self) -> Path:
        return self.state / "cinch.log"


def find_paths(environ: Mapping[str, str]) -> Paths:
    """The folders the system has for this; `CINCH_HOME` moves all of them under one."""
    home = environ.get("CINCH_HOME", "")
    if home:
        root = Path(home).expanduser().absolute()
        return Paths(config=root, data=root / "data", state=root / "state", cache=root / "cache")
    # Imported here because `CINCH_HOME` makes it needless and every run pays for it.
    from platformdirs import PlatformDirs

    system = PlatformDirs(APP, appauthor=False)
    return Paths(
        config=system.user_config_path,
        data=system.user_data_path,
        state=system.user_state_path,
        cache=system.user_cache_path,
    )


def project_config_file(cwd: Path) -> Path | None:
    """The nearest `.cinch/config.toml` from `cwd` upwards, not beyond the root of the git repository.

    Outside a repository only `cwd` itself counts, so that a file in a shared parent folder configures nobody.
    """
    inside = _folders_of_repository(cwd)
    found = (folder / PROJECT_FOLDER / "config.toml" for folder in inside)
    return next((path for path in found if _may_be_file(path)), None)


def _may_be_file(path: Path) -> bool:
    """Also where nobody may look: a setting that is silently not in force is worse than none."""
    try:
        return path.is_file()
    except PermissionError:
        return True


def _folders_of_repository(cwd: Path) -> tuple[Path, ...]:
    upwards = (cwd, *cwd.parents)
    root = next((folder for folder in upwards if is_there(folder / ".git")), cwd)
    return upwards[: upwards.index(root) + 1]
