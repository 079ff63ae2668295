from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.foreign_folder import FILES, foreign_folder

from cinch_tui.trust.inventory import MOST_FILES, Inventory, inventory, trust_root
from cinch_tui.trust.store import TrustStore

PINNED = {
    ".cinch/config.toml",
    ".cinch/config.local.toml",
    ".claude/settings.json",
    ".cinch/hooks/start.sh",
    ".mcp.json",
    ".claude/skills/deploy/SKILL.md",
    ".cinch/commands/ship.md",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "state" / "trusted.json")


def names(files: Inventory) -> set[str]:
    return {files.relative(each.path) for each in files.found}


def inert(store: TrustStore, files: Inventory) -> set[str]:
    return {files.relative(path) for path in store.state(files).inert}


@pytest.mark.parametrize("name", sorted(FILES.keys() - {".claude/skills/deploy/run.sh"}))
def test_a_file_of_each_kind_is_shown_and_has_no_effect_before_trust(folder: Path, store: TrustStore, name: str):
    files = inventory(foreign_folder(folder, name))

    trust = store.state(files)

    assert names(files) == {name}
    assert (trust.is_trusted, trust.must_ask, trust.inert) == (False, True, {folder / name})


def test_a_folder_without_such_files_is_not_asked_about(folder: Path, store: TrustStore):
    (folder / "main.py").write_text("print()\n")
    (folder / "AGENTS.md").touch()

    assert not store.state(inventory(folder)).must_ask


def test_trust_covers_every_file_and_is_kept(folder: Path, store: TrustStore):
    store.trust(inventory(foreign_folder(folder)))

    trust = store.state(inventory(folder))

    assert (trust.is_trusted, trust.must_ask, trust.inert) == (True, False, frozenset())


@pytest.mark.parametrize("name", sorted(FILES))
def test_only_files_that_run_code_or_loosen_are_asked_about_when_they_change(
    folder: Path, store: TrustStore, name: str
):
    store.trust(inventory(foreign_folder(folder)))
    with (folder / name).open("a") as file:
        file.write("# more\n")

    trust = store.state(inventory(folder))

    skill = ".claude/skills/deploy/SKILL.md"
    changed = {folder / (skill if name == ".claude/skills/deploy/run.sh" else name)}
    is_pinned = name in PINNED or name == ".claude/skills/deploy/run.sh"
    assert trust.is_trusted
    assert trust.must_ask is is_pinned
    assert trust.inert == (changed if is_pinned else set())


def test_a_script_that_is_added_to_a_skill_is_asked_about(folder: Path, store: TrustStore):
    store.trust(inventory(foreign_folder(folder, ".agents/skills/review/SKILL.md")))
    (folder / ".agents/skills/review/run.py").write_text("import os\n")

    assert inert(store, inventory(folder)) == {".agents/skills/review/SKILL.md"}


def test_never_is_not_asked_again_and_trusts_nothing(folder: Path, store: TrustStore):
    store.refuse(inventory(foreign_folder(folder, "AGENTS.md")))

    trust = store.state(inventory(foreign_folder(folder)))

    assert (trust.is_trusted, trust.must_ask) == (False, False)
    assert len(trust.inert) == len(FILES) - 1


def test_an_ignored_change_is_not_asked_about_until_the_next_one(folder: Path, store: TrustStore):
    store.trust(inventory(foreign_folder(folder)))
    (folder / ".mcp.json").write_text("{}")
    store.refuse(inventory(folder))

    ignored = store.state(inventory(folder))
    (folder / ".mcp.json").write_text("{ }")
    changed = store.state(inventory(folder))

    assert (ignored.is_trusted, ignored.must_ask, ignored.inert) == (True, False, {folder / ".mcp.json"})
    assert changed.must_ask


def test_forgetting_asks_again(folder: Path, store: TrustStore):
    files = inventory(foreign_folder(folder))
    store.trust(files)

    store.forget(files)

    assert store.state(files).must_ask


def test_a_subfolder_belongs_to_its_repository(folder: Path, store: TrustStore):
    (folder / ".git").mkdir()
    (folder / "src").mkdir()
    store.trust(inventory(foreign_folder(folder, "AGENTS.md")))

    files = inventory(folder / "src")

    assert (names(files), files.root) == ({"AGENTS.md"}, folder)
    assert store.state(files).is_trusted


@pytest.mark.parametrize("is_repository", [True, False])
def test_trust_in_a_folder_is_not_given_to_one_inside_it_with_its_own_root(
    folder: Path, store: TrustStore, is_repository: bool
):
    store.trust(inventory(foreign_folder(folder, "AGENTS.md")))
    inner = foreign_folder(folder / "vendor", "AGENTS.md")
    if is_repository:
        (inner / ".git").mkdir()

    assert store.state(inventory(inner)).must_ask


def test_a_link_to_a_trusted_folder_is_the_same_folder(folder: Path, store: TrustStore, tmp_path: Path):
    store.trust(inventory(foreign_folder(folder)))
    (tmp_path / "link").symlink_to(folder)

    assert store.state(inventory(tmp_path / "link")).is_trusted


def test_the_home_folder_is_trusted_for_a_session_only(own_home: Path, store: TrustStore):
    files = inventory(foreign_folder(own_home))

    assert names(files) == {"AGENTS.md", ".cinch/config.toml", ".cinch/config.local.toml"}
    assert not files.can_be_stored
    with pytest.raises(ValueError, match="only be trusted for a session"):
        store.trust(files)


def test_a_repository_in_the_home_folder_does_not_cover_what_is_below(own_home: Path):
    (own_home / ".git").mkdir()
    (own_home / "downloads").mkdir()

    assert trust_root(own_home / "downloads") == own_home / "downloads"


def test_the_users_own_configuration_is_not_part_of_a_folder(folder: Path):
    foreign_folder(folder, ".cinch/config.toml")

    assert inventory(folder, folder / ".cinch" / "config.toml").found == ()


def test_special_and_large_files_are_named_and_never_trusted(folder: Path):
    os.mkfifo(folder / "AGENTS.md")
    with (folder / ".mcp.json").open("wb") as file:
        file.truncate(3_000_000_000)
    (folder / "CLAUDE.md").symlink_to("/dev/zero")
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").symlink_to("nowhere")

    files = inventory(folder)

    assert files.found == ()
    assert files.problems == (
        "AGENTS.md is ignored: it is a named pipe",
        "CLAUDE.md is ignored: it is a device",
        ".claude/settings.json is ignored: no such file or directory",
        ".mcp.json is ignored: it is a file of 3,000,000,000 bytes; the limit is 262,144",
    )


def test_an_endless_number_of_files_is_cut(folder: Path):
    commands = folder / ".cinch" / "commands"
    commands.mkdir(parents=True)
    for number in range(MOST_FILES + 5):
        (commands / f"{number}.md").write_text("x")
    (commands / "loop").symlink_to(commands)

    files = inventory(folder)

    assert len(files.found) == MOST_FILES
    assert "beyond the limit of 500 files" in files.problems[-1]
