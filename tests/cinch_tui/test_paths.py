from __future__ import annotations

from pathlib import Path

from cinch_tui.config.paths import Paths, find_paths, project_config_file


def project_file(folder: Path) -> Path:
    path = folder / ".cinch" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("")
    return path


def test_cinch_home_moves_everything(tmp_path: Path) -> None:
    paths = find_paths({"CINCH_HOME": str(tmp_path)})

    assert paths == Paths(tmp_path, tmp_path / "data", tmp_path / "state", tmp_path / "cache")
    assert paths.config_file == tmp_path / "config.toml"


def test_a_relative_home_does_not_follow_the_current_folder() -> None:
    assert find_paths({"CINCH_HOME": "here"}).config == Path.cwd() / "here"


def test_without_cinch_home_the_system_decides(own_home: Path) -> None:
    paths = find_paths({})

    assert {paths.config, paths.data, paths.state, paths.cache}.isdisjoint({own_home})
    assert all(folder.name == "cinch" for folder in (paths.config, paths.data, paths.state, paths.cache))


def test_a_projects_file_is_found_from_deep_inside_its_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    path = project_file(tmp_path)
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)

    assert project_config_file(deep) == path


def test_a_file_above_the_repository_does_not_count(tmp_path: Path) -> None:
    project_file(tmp_path)
    inner = tmp_path / "repository"
    (inner / ".git").mkdir(parents=True)

    assert project_config_file(inner) is None


def test_outside_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    path = project_file(tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()

    assert project_config_file(tmp_path) == path
    assert project_config_file(inner) is None
