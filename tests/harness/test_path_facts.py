from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.approval import secret_index
from harness.approval.paths import PathFacts, safe_path
from harness.approval.places import Places
from harness.risk import PathAccess, Risk
from harness.workspace.workspace import Workspace


def words(*lines: str) -> list[str]:
    return " ".join(lines).split()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "main.py").write_text("x = 1\n")
    return root


@pytest.fixture
def facts(root: Path, tmp_path: Path) -> PathFacts:
    return PathFacts(Workspace(root, readable=[tmp_path / "spilled"]), {"PATH": "/usr/bin:/bin"})


def put(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")


def reading(path: str, kind: str = "read", **fields: object) -> Risk:
    return Risk("read", accesses=(PathAccess(path, kind, **fields),))  # type: ignore[arg-type]


def writing(path: str) -> Risk:
    return Risk("edit", paths=(path,))


@pytest.mark.parametrize(
    "path",
    [
        "src/main.py",
        "./src/../src/main.py",
        "missing.txt",
        "../spilled/out.txt",
        "/dev/null",
        "src",
        ".env.example",
        "keys.py",
        "id_rsa.pub",
        "environment.md",
        "src/.envelope",
        "../project/src/main.py",
    ],
)
def test_ordinary_reads_are_no_concern(facts: PathFacts, path: str):
    assert facts.check(reading(path)) == reading(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".ENV",
        "a/b/.env.local",
        ".env.production",
        "server.pem",
        "deploy.key",
        ".aws/credentials",
        ".ssh/config",
        "id_rsa",
        ".ssh",
        ".npmrc",
        ".netrc",
        ".git-credentials",
        "x/.docker/config.json",
        "infra/main.tfstate",
        "~/.ssh/id_ed25519",
        "~/.config/gcloud/x.db",
        "/proc/self/environ",
        "/proc/1/environ",
        "/etc/shadow",
        "src/../.env",
        "auth.json",
        "service-account-prod.json",
        ".EN\u200bV",
        "\uff0eenv",
    ],
)
def test_reading_a_secret_is_a_concern(facts: PathFacts, path: str):
    checked = facts.check(reading(path))

    assert checked.concern.startswith("it reads a secret: ")
    assert checked.level != "dangerous"


@pytest.mark.parametrize(
    "path", ["/etc/hosts", "..", "../other/file", "~/notes.txt", "~", "/", "src/../../x", "/usr/include/stdio.h"]
)
@pytest.mark.parametrize("kind", ["read", "search", "list"])
def test_reading_outside_is_a_concern_for_every_kind_of_access(facts: PathFacts, path: str, kind: str):
    assert facts.check(reading(path, kind)).concern.startswith("it reads outside the workspace: /")


def test_links_are_judged_by_name_and_target(facts: PathFacts, root: Path):
    put(root, ".env", "notes.md")
    (root / "plain.txt").symlink_to(".env")
    (root / "server.pem").symlink_to("notes.md")
    (root / "away").symlink_to("/etc")

    concerns = [facts.check(reading(path)).concern for path in ("plain.txt", "server.pem", "away/hosts")]

    assert concerns == [
        "it reads a secret: .env",
        "it reads a secret: server.pem",
        "it reads outside the workspace: /etc/hosts",
    ]


@pytest.mark.parametrize(
    "path",
    words(
        "src/main.py in/main.py in/../x in/./x in/ in away/x/.. away/../x to/in/x //in / ~ loop loop/x to/loop",
        "dangling dangling/x missing/../in/x src/main.py/.. src/main.py/x",
    ),
)
def test_paths_lead_where_the_system_says(root: Path, path: str):
    links = {"in": "src", "away": "/etc", "loop": "loop", "dangling": "nowhere/x", "to": "."}
    for name, target in links.items():
        (root / name).symlink_to(target)
    absolute = f"{root}/{path}"

    assert Places(root).real(absolute) == os.path.realpath(absolute)


def test_a_changed_link_is_followed_anew_in_the_next_decision(root: Path):
    workspace, link = Workspace(root), root / "link"
    link.symlink_to("src")
    before = PathFacts(workspace).check(reading("link/main.py")).concern
    link.unlink()
    link.symlink_to("/etc")

    assert before == ""
    assert "outside" in PathFacts(workspace).check(reading("link/main.py")).concern


def test_a_workspace_behind_a_link_is_the_folder_of_the_system(root: Path, tmp_path: Path):
    put(tmp_path, "elsewhere/src/x")
    (root / "link").symlink_to(tmp_path / "elsewhere" / "src")
    facts = PathFacts(Workspace(root / "link" / ".."))

    assert facts.check(removing(".")).level == "forbidden"
    assert facts.check(removing(f"{tmp_path}/elsewhere")).level == "forbidden"
    assert not facts.check(reading("src/x")).concern


def test_a_path_is_relative_to_the_folder_that_the_command_entered(facts: PathFacts):
    assert not facts.check(reading("main.py", cwd="src")).concern
    assert facts.check(reading("../../x", cwd="src")).concern
    assert facts.check(reading("hosts", cwd="/etc")).concern
    assert facts.check(reading("x", cwd="~")).concern


@pytest.mark.parametrize("path", ["~nobody-of-that-name/x", "a\0b"])
def test_a_path_that_cannot_be_resolved_is_a_concern(facts: PathFacts, path: str):
    assert "cannot be resolved" in facts.check(reading(path)).concern


def test_a_glob_is_a_concern_if_one_of_its_files_is(facts: PathFacts, root: Path):
    put(root, "a.txt", "b.txt", "c.pem")

    assert not facts.check(reading("*.txt", is_pattern=True)).concern
    assert facts.check(reading("*", is_pattern=True)).concern == "it reads a secret: c.pem"
    assert facts.check(reading("[^a].pem", is_pattern=True)).concern == "it reads a secret: c.pem"
    assert facts.check(reading("/etc/host*", is_pattern=True)).concern.startswith("it reads outside")
    assert "pattern cannot be resolved" in facts.check(reading("[[:alpha:]].txt", is_pattern=True)).concern


def test_a_glob_of_too_many_files_is_a_concern(facts: PathFacts, root: Path):
    for number in range(1_001):
        (root / f"{number}.log").touch()

    assert "matches more than 1,000 files" in facts.check(reading("*.log", is_pattern=True)).concern


def test_a_glob_with_a_protected_file_among_others_is_protected(tmp_path: Path):
    root = tmp_path / "[project]"
    put(root, "a.md", "z/.envrc", ".husky/x")
    (root / "b.md").symlink_to(tmp_path)
    facts = PathFacts(Workspace(root))

    checked = facts.check(Risk("execute", accesses=(PathAccess("*", "write", is_pattern=True),)))
    hidden = facts.check(Risk("execute", accesses=(PathAccess("[bz]*/.e*", "write", is_pattern=True),)))

    assert checked.concern.startswith("it writes outside the workspace")
    assert hidden.level == "dangerous"


def test_a_path_that_cannot_be_resolved_leads_nowhere(facts: PathFacts):
    assert facts.places_outside(reading("~nobody-of-that-name/x"), writing=False) == ()


@pytest.mark.parametrize("few", [0, 100], ids=["in a thread", "at once"])
def test_a_search_is_a_concern_if_the_folder_contains_a_secret(
    facts: PathFacts, root: Path, few: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(secret_index, "FEW_FOLDERS", few)
    put(root, "node_modules/x/test.pem", ".git/config", "docs/.env.example")
    before = facts.check(reading(".", "search")).concern
    put(root, "src/deep/.env")
    after = facts.check(reading(".", "search")).concern
    elsewhere = facts.check(reading("docs", "search")).concern
    packages = [
        facts.check(each).concern for each in (reading("node_modules", "search"), reading("node_modules/x/test.pem"))
    ]
    sources = facts.check(reading(".", "search", names=("*.py", "*.md"))).concern
    settings = facts.check(reading(".", "search", names=(".e*",))).concern
    (root / "src" / "deep" / ".env").unlink()

    assert (sources, settings) == ("", after)
    assert packages == ["it searches a folder with a secret: x/test.pem", "it reads a secret: node_modules/x/test.pem"]
    assert (before, after, elsewhere) == ("", "it searches a folder with a secret: src/deep/.env", "")
    assert not facts.check(reading(".", "search")).concern
    assert not facts.check(reading(".", "search", skips_secrets=True)).concern


@pytest.mark.parametrize("name", ["a /etc/passwd", "a ../x", "a\n/x", "a'/x"])
def test_a_listed_file_whose_name_is_split_into_another_path_is_a_concern(facts: PathFacts, root: Path, name: str):
    put(root, "with space.txt", name)

    assert "leads elsewhere" in facts.check(reading(".", "search", is_listed=True)).concern
    assert not facts.check(reading(".", "search")).concern


def test_a_listed_link_that_leads_outside_is_a_concern(facts: PathFacts, root: Path, tmp_path: Path):
    (root / "inside").symlink_to(root / "src")
    before = facts.check(reading(".", "search", is_listed=True)).concern
    (root / "src" / "link").symlink_to(tmp_path / "other")

    assert not before
    assert "leads elsewhere: src/link" in facts.check(reading(".", "search", is_listed=True)).concern
    assert not facts.check(reading(".", "search")).concern


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".GIT/hooks/x",
        "sub/.git/config",
        ".cinch/config.toml",
        ".claude/settings.json",
        ".mcp.json",
        ".bashrc",
        "~/.zshrc",
        ".envrc",
        ".gitattributes",
        ".vscode/tasks.json",
        "x.code-workspace",
        ".devcontainer/x",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "Jenkinsfile",
        ".husky/pre-commit",
        ".pre-commit-config.yaml",
        "~/.ssh/authorized_keys",
        "id_rsa",
        "HEAD",
        "sub/head",
        "vendor/../HEAD",
        ".idea/workspace.xml",
    ],
)
def test_protected_paths_need_approval_and_no_rule_covers_them(facts: PathFacts, path: str):
    checked = facts.check(writing(path))

    assert checked.level == "dangerous"
    assert checked.concern.startswith("it changes ")


@pytest.mark.parametrize("path", ["src/main.py", "new/file.txt", ".gitignore", ".github/README.md", "config", ".env"])
def test_ordinary_changes_are_no_concern(facts: PathFacts, path: str):
    assert facts.check(writing(path)) == writing(path)


def test_a_change_outside_the_workspace_is_a_concern(facts: PathFacts):
    checked = facts.check(writing("../spilled/x"))

    assert (checked.concern.startswith("it writes outside the workspace: /"), checked.level) == (True, "edit")


def test_a_link_to_a_protected_path_is_protected(facts: PathFacts, root: Path):
    put(root, ".git/config")
    (root / "settings").symlink_to(".git/config")
    (root / ".husky").symlink_to("src")

    assert facts.check(writing("settings")).level == "dangerous"
    assert facts.check(writing(".husky/main.py")).level == "dangerous"


def test_the_files_of_a_bare_repository_are_protected(facts: PathFacts, root: Path):
    put(root, "bare/HEAD", "bare/objects/x", "bare/refs/x")

    for path in ("config", "hooks/pre-commit", "info/attributes", "commondir"):
        assert "git uses bare as a repository" in facts.check(writing(f"bare/{path}")).concern
    for path in ("notes.txt", "main/config.py", "main/hooks/use.ts"):
        assert not facts.check(writing(f"bare/{path}")).concern


def test_a_protected_path_takes_precedence_over_other_concerns(facts: PathFacts):
    accesses = (PathAccess("/etc/hosts"), PathAccess(".git/hooks/x", "write"), PathAccess(".env"))

    assert facts.check(Risk("execute", accesses=accesses)).level == "dangerous"


def test_a_workspace_below_a_protected_folder_is_ordinary(tmp_path: Path):
    root = tmp_path / ".claude" / "worktrees" / "one"
    root.mkdir(parents=True)

    assert not PathFacts(Workspace(root)).check(writing("src/main.py")).concern


def test_a_program_must_come_from_the_system(root: Path):
    for name in ("ls", "own"):
        program = root / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    facts = PathFacts(Workspace(root), {"PATH": f"{root}/bin:.:bin::/usr/bin:/bin"})

    concerns = {name: facts.check(Risk("read", programs=(name,))).concern for name in ("ls", "cat", "own", "nowhere")}

    assert concerns["ls"] == concerns["cat"] == ""
    assert "own is not a program of the system" in concerns["own"]
    assert concerns["nowhere"]
    assert safe_path(f"{root}/bin:.:bin::/usr/bin", os.path.realpath(root)) == ("/usr/bin",)


def test_a_link_on_path_into_the_workspace_is_a_program_of_the_workspace(root: Path, tmp_path: Path):
    (root / "evil").write_text("#!/bin/sh\n")
    (root / "evil").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ls").symlink_to(root / "evil")
    facts = PathFacts(Workspace(root), {"PATH": f"{tmp_path}/bin:/usr/bin"})

    assert "ls is a program of the workspace" in facts.check(Risk("read", programs=("ls",))).concern


def test_approved_reads_are_possible_in_a_copy_of_the_workspace(facts: PathFacts, root: Path, tmp_path: Path):
    put(tmp_path, "other/a.txt")
    workspace = Workspace(root)
    outside = PathFacts(workspace).places_outside(reading("../other/a.txt"), writing=False)

    extended = workspace.with_access(readable=outside)

    assert outside == (tmp_path / "other" / "a.txt",)
    assert extended.resolve("../other/a.txt") == tmp_path / "other" / "a.txt"
    assert extended.covers(str(outside[0]))
    assert not extended.covers(str(outside[0]), writing=True)
    assert not workspace.covers(str(outside[0]))


def removing(path: str, **fields: object) -> Risk:
    return Risk("dangerous", removals=(PathAccess(path, "write", **fields),))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "path",
    [
        *[".", "{root}", "{root}/", "{root}/src/..", "../project", "..", "{root}/..", "~", "/", "link"],
        *["/etc", "../" * 20 + "etc", "usr/lib", "usr/../etc"],
    ],
)
def test_deleting_the_workspace_or_a_system_folder_is_forbidden(facts: PathFacts, root: Path, path: str):
    (root / "link").symlink_to(root)
    (root / "usr").symlink_to("/usr")
    risk = removing(path.format(root=root))
    assert facts.check(risk).level == "forbidden"


def test_deleting_the_files_of_the_workspace_by_its_absolute_path_is_forbidden(facts: PathFacts, root: Path):
    assert facts.check(removing(f"{root}/*", is_pattern=True)).level == "forbidden"
    assert facts.check(removing("project", cwd="..")).level == "forbidden"


@pytest.mark.parametrize("path", ["src", "{root}/src", "/elsewhere", "../other", "usr"])
def test_deleting_another_folder_is_not_forbidden(facts: PathFacts, root: Path, path: str):
    (root / "usr").symlink_to("/usr")
    assert facts.check(removing(path.format(root=root))).level == "dangerous"
