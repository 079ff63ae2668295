"""Copies of plugins: what reaches them, and what does not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fakes.hostile_repository import GIT

from extensions.plugins import git, staging
from extensions.plugins.git import export
from extensions.plugins.source import Source, parse_source
from extensions.plugins.staging import copy_folder
from harness.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "place", "ref"),
    [
        ("obra/superpowers", "https://github.com/obra/superpowers.git", ""),
        ("obra/superpowers@v6", "https://github.com/obra/superpowers.git", "v6"),
        ("obra/superpowers.git#main", "https://github.com/obra/superpowers.git", "main"),
        ("https://git.example/a.git#0123abc", "https://git.example/a.git", "0123abc"),
        ("git@git.example:team/a.git", "git@git.example:team/a.git", ""),
        ("ssh://git@git.example/a", "ssh://git@git.example/a", ""),
    ],
)
def test_repositories_are_recognized(tmp_path: Path, text: str, place: str, ref: str):
    (tmp_path / "obra" / "superpowers").mkdir(parents=True)

    assert parse_source(text, tmp_path) == Source(place, is_git=True, ref=ref)


@pytest.mark.parametrize(
    "text",
    [
        "http://git.example/a.git",
        "git://git.example/a.git",
        "ext::sh -c date",
        "https://user:password@git.example/a.git",
        "https://git.example/a.git#--upload-pack=date",
        "https://git.example/a b",
        "-oProxyCommand=date@x:y",
        "missing",
    ],
)
def test_other_sources_are_refused(tmp_path: Path, text: str):
    with pytest.raises(ConfigError):
        parse_source(text, tmp_path)


def test_links_that_lead_out_and_devices_are_left_out(tmp_path: Path):
    source, outside = tmp_path / "source", tmp_path / "secret"
    (source / ".git" / "hooks").mkdir(parents=True)
    (source / "real.md").write_text("text")
    outside.write_text("secret")
    (source / "inside.md").symlink_to("real.md")
    (source / "outside.md").symlink_to(outside)
    (source / "config.md").symlink_to(".git/config")
    (source / ".git" / "config").write_text("[core]")
    (source / "folder").symlink_to(tmp_path)
    os.mkfifo(source / "pipe")

    left_out = copy_folder(source, source, tmp_path / "copy")

    assert left_out == ["config.md", "folder", "outside.md", "pipe"]
    assert sorted(each.name for each in (tmp_path / "copy").iterdir()) == ["inside.md", "real.md"]
    assert not (tmp_path / "copy" / "inside.md").is_symlink()


@pytest.mark.parametrize(("limit", "value"), [("MOST_FILES", 2), ("MOST_BYTES", 5)])
def test_folder_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int):
    monkeypatch.setattr(staging, limit, value)
    source = tmp_path / "source"
    source.mkdir()
    for number in range(3):
        (source / str(number)).write_text("text")

    with pytest.raises(ConfigError, match="too large"):
        copy_folder(source, source, tmp_path / "copy")


def test_repository_runs_nothing_and_its_links_and_submodules_are_not_followed(tmp_path: Path):
    repository, trace = tmp_path / "repository", tmp_path / "trace"
    repository.mkdir()
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {trace}\ncat\n")
    program.chmod(0o755)
    templates = tmp_path / "templates" / "hooks"
    templates.mkdir(parents=True)
    (templates / "post-checkout").symlink_to(program)
    script = f"""
        git init -q
        echo '* filter=evil' > .gitattributes
        echo text > file.txt; chmod +x file.txt
        ln -s /etc/passwd absolute; ln -s ../../../etc/passwd relative; ln -s file.txt fine
        git add -A
        git update-index --add --cacheinfo 160000,$(git hash-object --stdin -t commit -w --literally < /dev/null),module
        printf '[submodule "module"]\\npath = module\\nurl = ext::touch {trace}' > .gitmodules; git add .gitmodules
        {GIT} commit -qm one
    """
    subprocess.run(["bash", "-ec", script], cwd=repository, check=True)
    config = tmp_path / "gitconfig"
    config.write_text(f'[filter "evil"]\nsmudge = {program}\n[init]\ntemplateDir = {templates.parent}\n')
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": str(config), "GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere"}

    commit = export(Source(repository.as_uri(), is_git=True), tmp_path / "files", environ)

    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True)
    assert commit == head.stdout.strip()
    assert sorted(each.name for each in (tmp_path / "files").iterdir()) == [
        ".gitattributes",
        ".gitmodules",
        "file.txt",
        "fine",
        "relative",
    ]
    assert os.access(tmp_path / "files" / "file.txt", os.X_OK)
    assert not trace.exists()
    assert copy_folder(tmp_path / "files", tmp_path / "files", tmp_path / "copy") == ["relative"]


def test_missing_repository_and_version_are_reported_in_a_sentence(tmp_path: Path):
    repository = tmp_path / "repository"
    repository.mkdir()
    script = f"git init -q; touch file; git add file; {GIT} commit -qm one; git tag v1"
    subprocess.run(["bash", "-ec", script], cwd=repository, check=True)

    for source in (
        Source((tmp_path / "none").as_uri(), is_git=True),
        Source(repository.as_uri(), is_git=True, ref="v2"),
    ):
        with pytest.raises(ConfigError, match=f"^{source} cannot be read: "):
            export(source, tmp_path / "files", os.environ)
    export(Source(repository.as_uri(), is_git=True, ref="v1"), tmp_path / "files", os.environ)


def test_download_that_is_too_large_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(git, "_LARGEST_PACK_BLOCKS", 16)
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "large").write_bytes(os.urandom(100_000))
    subprocess.run(["bash", "-ec", f"git init -q; git add -A; {GIT} commit -qm one"], cwd=repository, check=True)

    with pytest.raises(ConfigError, match="cannot be read"):
        export(Source(repository.as_uri(), is_git=True), tmp_path / "files", os.environ)
