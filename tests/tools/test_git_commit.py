"""git_commit in real repositories: what it shows, commits and reports."""

from __future__ import annotations

import asyncio
import os
import subprocess
from itertools import product
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.people import ScriptedUser
from fakes.repositories import Git, repository, text_of, use
from fakes.runs import calls, results_of

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.messages import JsonObject, JsonValue
from harness.ports.tool import ToolOutput
from harness.user_requests import AllowOnce, ProposeRevision
from harness.views import TextView
from harness.workspace.workspace import Workspace
from providers.demo import scripted
from tools import builtin_tools
from tools.builtin import create_tool


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return repository(tmp_path)


async def shown(folder: Path, **arguments: JsonValue) -> str:
    """Return the preview of a commit, or why there is none."""
    tool = create_tool("git_commit")
    view = await tool.preview(tool.validate({"message": "m", **arguments}), tool_context(folder))
    assert isinstance(view, TextView | ToolOutput)
    return view.text if isinstance(view, TextView) else text_of(view)


async def commit(folder: Path, **arguments: JsonValue) -> ToolOutput:
    return await use(folder, "git_commit", {"message": "m", **arguments})


def hook(folder: Path, name: str, script: str) -> None:
    file = folder / ".git" / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


async def test_commit_takes_the_given_paths_or_what_is_staged_and_shows_both_before(tmp_path: Path, git: Git):
    (tmp_path / "a.py").write_text("three\n")
    (tmp_path / "new dir").mkdir()
    (tmp_path / "new dir" / "n.py").write_text("x\n")
    (tmp_path / "staged.py").write_text("x\n")
    git("add", "staged.py")
    tool = create_tool("git_commit")
    paths: JsonObject = {"message": "add: both\n\nIt's $HOME; `id`", "paths": ["a.py", "new dir"]}

    view = await tool.preview(paths, tool_context(tmp_path))
    first = await use(tmp_path, "git_commit", paths)
    second = await use(tmp_path, "git_commit", {"message": "rest"})
    third = await use(tmp_path, "git_commit", {"message": "nothing"})
    nothing = await tool.preview({"message": "nothing"}, tool_context(tmp_path))

    assert isinstance(view, TextView)
    assert view.text.startswith("add: both\n\nIt's $HOME; `id`\n\n a.py | 2 +-\n")
    assert "n.py" in view.text
    assert "staged.py" not in view.text
    assert (first.is_error, second.is_error, third.is_error) == (False, False, True)
    assert git("log", "-2", "--format=%B--").split() == ["rest", "--", "add:", "both", "It's", "$HOME;", "`id`", "--"]
    assert git("show", "--name-only", "--format=", "HEAD~1").split("\n")[:-1] == ["a.py", "new dir/n.py"]
    assert isinstance(nothing, ToolOutput)
    assert "Nothing is staged" in text_of(nothing)


async def test_failed_commit_hook_is_reported_and_nothing_is_committed(tmp_path: Path, git: Git):
    hook = tmp_path / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho lint failed >&2\nexit 1\n")
    hook.chmod(0o755)
    (tmp_path / "a.py").write_text("three\n")

    output = await use(tmp_path, "git_commit", {"message": "change", "paths": ["a.py"]})

    assert output.is_error
    assert "lint failed" in text_of(output)
    assert git("log", "-1", "--format=%s").strip() == "start"


async def test_user_edits_the_message_and_is_asked_again(tmp_path: Path, git: Git):
    (tmp_path / "a.py").write_text("three\n")
    user = ScriptedUser()
    user.approvals = [ProposeRevision("better\n\nWith a reason."), AllowOnce()]
    options = AgentOptions(user=user, workspace=Workspace(tmp_path), spill_dir=tmp_path / ".git" / "spill")
    agent = Agent(scripted(calls("git_commit", message="m", paths=["a.py"]), "done"), builtin_tools(), options=options)

    await agent.prompt("go")

    views = [request.view for request in user.asked]
    assert [view.editable for view in views if isinstance(view, TextView)] == ["m", "better\n\nWith a reason."]
    assert [request.is_revisable for request in user.asked] == [True, True]
    assert git("log", "-1", "--format=%B").strip() == "better\n\nWith a reason."
    assert "The user changed the text before allowing the call; it is now:\nbetter\n" in results_of(agent)[-1].text


async def test_names_are_shown_as_they_are(tmp_path: Path, git: Git):
    names = ["ä ö.txt", "日本.py", 'a"b.txt', "line\nfeed"]
    for name in names:
        (tmp_path / name).write_text("x")
    git("add", "日本.py")
    git("commit", "-q", "-m", "before")
    git("mv", "日本.py", "日本語.py")

    renamed = await shown(tmp_path)
    preview = await shown(tmp_path, paths=[*names[:1], *names[2:]])
    done = await commit(tmp_path, paths=[*names[:1]])

    assert " 日本.py => 日本語.py | 0\n" in renamed
    assert preview == 'm\n\n new: a"b.txt\n new: line␊feed\n new: ä ö.txt'
    assert "create mode 100644 ä ö.txt" in text_of(done)
    assert "?? 日本.py" not in text_of(await use(tmp_path, "git_status", {"short": True}))


@pytest.mark.parametrize("status", ["0", "1"])
async def test_files_that_a_hook_changes_are_named(tmp_path: Path, git: Git, status: str):
    (tmp_path / "b.py").write_text("1\n")
    git("add", "b.py")
    git("commit", "-q", "-m", "b")
    hook(tmp_path, "pre-commit", f"echo formatted >> a.py; echo formatted >> b.py; git add a.py; exit {status}")
    (tmp_path / "a.py").write_text("three\n")

    output = await commit(tmp_path, paths=["a.py"])

    assert output.is_error is (status == "1")
    assert "Changed while the commit hooks ran: a.py, b.py." in text_of(output)
    assert ("Nothing was committed." in text_of(output)) is (status == "1")


async def test_hook_that_fails_silently_is_reported(tmp_path: Path, git: Git):
    hook(tmp_path, "commit-msg", "exit 1")
    (tmp_path / "a.py").write_text("three\n")

    output = await commit(tmp_path, paths=["a.py"])

    assert output.is_error
    assert text_of(output) == "Exit code: 1\n(no output)\nNothing was committed."
    assert git("log", "-1", "--format=%s").strip() == "start"


async def test_merge_is_committed_as_a_whole_once_its_conflicts_are_resolved(tmp_path: Path, git: Git):
    (tmp_path / "a.py").write_text("three\n")
    git("commit", "-q", "-a", "-m", "third")
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "other")

    in_conflict = await shown(tmp_path), await shown(tmp_path, paths=["a.py"])
    (tmp_path / "a.py").write_text("three\n")
    git("add", "a.py")
    in_part = await shown(tmp_path, paths=["a.py"])
    refused = await commit(tmp_path, paths=["a.py"])
    # Resolved as it was on this side, nothing differs.
    whole = await shown(tmp_path)
    merged = await commit(tmp_path)

    assert set(in_conflict) == {"These files have merge conflicts: a.py. Resolve them and stage them with `git add`."}
    assert in_part in text_of(refused)
    assert "git commits all of it or nothing" in in_part
    assert whole == "m\n"
    assert not merged.is_error
    assert git("rev-list", "--parents", "-1", "HEAD").count(" ") == 2


async def test_commit_without_an_identity_asks_for_one_before_the_approval(
    tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
):
    for role, what in product(("AUTHOR", "COMMITTER"), ("NAME", "EMAIL")):
        monkeypatch.delenv(f"GIT_{role}_{what}", raising=False)
    git("config", "--remove-section", "user")
    git("config", "user.useConfigOnly", "true")
    (tmp_path / "a.py").write_text("three\n")

    assert "Ask for them; do not invent them." in await shown(tmp_path, paths=["a.py"])
    assert "Ask for them; do not invent them." in text_of(await commit(tmp_path, paths=["a.py"]))


@pytest.mark.parametrize("failure", ["hook", "empty message", "identity", "ignored path"])
async def test_failed_commit_leaves_the_index_as_it_was(
    tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch, failure: str
):
    paths = ["."]
    match failure:
        case "hook":
            hook(tmp_path, "pre-commit", "exit 1")
        case "empty message":
            hook(tmp_path, "prepare-commit-msg", ': > "$1"')
        case "identity":
            for role, what in product(("AUTHOR", "COMMITTER"), ("NAME", "EMAIL")):
                monkeypatch.delenv(f"GIT_{role}_{what}", raising=False)
            git("config", "--remove-section", "user")
            git("config", "user.useConfigOnly", "true")
        case _:
            (tmp_path / "local.txt").touch()
            paths = ["new.py", "local.txt", "dir"]
    (tmp_path / "partly.py").write_text("staged\n")
    (tmp_path / "meant.py").write_text("m\n")
    git("add", "partly.py")
    git("add", "-N", "meant.py")
    (tmp_path / "partly.py").write_text("staged\nand not staged\n")
    (tmp_path / "a.py").unlink()
    (tmp_path / "new.py").write_text("n\n")
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "ü.py").write_text("n\n")
    before = [git("status", "--porcelain"), git("ls-files", "--stage", "--debug"), git("diff"), git("diff", "--cached")]

    output = await commit(tmp_path, paths=paths)

    assert output.is_error
    assert before == [
        git("status", "--porcelain"),
        git("ls-files", "--stage", "--debug"),
        git("diff"),
        git("diff", "--cached"),
    ]
    assert not list((tmp_path / ".git").glob("*.lock"))


async def test_first_commit_that_fails_leaves_no_index(tmp_path: Path):
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path)], check=True)
    hook(tmp_path, "pre-commit", "exit 1")
    (tmp_path / "new.py").write_text("n\n")

    output = await commit(tmp_path, paths=["new.py"])

    assert output.is_error
    assert not (tmp_path / ".git" / "index").exists()


async def test_interrupted_commit_leaves_the_index_as_it_was(tmp_path: Path, git: Git):
    hook(tmp_path, "pre-commit", "touch started; sleep 60")
    (tmp_path / "new.py").write_text("n\n")

    task = asyncio.create_task(commit(tmp_path, paths=["new.py"]))
    while not (tmp_path / "started").exists():
        await asyncio.sleep(0.01)
    during = git("status", "--porcelain", "new.py")
    task.cancel()
    await asyncio.wait([task])

    assert during == " A new.py\n"
    assert git("status", "--porcelain", "new.py") == "?? new.py\n"


async def test_change_of_the_same_size_right_after_a_failed_commit_is_seen(tmp_path: Path, git: Git):
    hook(tmp_path, "pre-commit", "exit 1")
    (tmp_path / "new.py").write_text("n\n")
    git("config", "core.trustctime", "false")
    file, index, at_once = tmp_path / "a.py", tmp_path / ".git" / "index", (1_000_000_000, 1_000_000_000)
    file.write_text("two\n")
    os.utime(file, at_once)
    git("add", "a.py")
    os.utime(index, at_once)
    file.write_text("six\n")
    os.utime(file, at_once)

    await commit(tmp_path, paths=["new.py"])

    assert git("status", "--porcelain", "a.py") == "MM a.py\n"


async def test_detached_commit_says_that_no_branch_has_it(tmp_path: Path, git: Git):
    moved = await use(tmp_path, "git_checkout", {"target": git("rev-parse", "other").strip()})
    (tmp_path / "a.py").write_text("three\n")
    done = await commit(tmp_path, paths=["a.py"])

    assert text_of(moved).splitlines()[0].startswith("HEAD is now at ")
    assert text_of(moved).splitlines()[1] == "HEAD is detached: a commit made now would be on no branch."
    assert "No branch contains this commit." in text_of(done)


async def test_first_commit_of_an_empty_repository(tmp_path: Path):
    git = repository(tmp_path)
    git("checkout", "-q", "--orphan", "new")
    git("rm", "-rfq", ".")
    (tmp_path / "a.py").write_text("1\n")

    log = await use(tmp_path, "git_log", {})
    preview = await shown(tmp_path, paths=["a.py"])
    done = await commit(tmp_path, paths=["a.py"])

    assert "The repository has no commit yet." in text_of(log)
    assert preview == "m\n\n a.py"
    assert "[new (root-commit)" in text_of(done)


async def test_changes_in_a_submodule_are_to_be_committed_there(tmp_path: Path, git: Git):
    other = tmp_path.with_name("other")
    other.mkdir()
    repository(other)
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    git("commit", "-q", "-m", "sub")
    (tmp_path / "sub" / "a.py").write_text("changed\n")

    of_module = await shown(tmp_path, paths=["sub"])
    of_file = await commit(tmp_path, paths=["sub/a.py"])

    assert "Changes inside a submodule are committed there first" in of_module
    assert "Commit in the submodule with `git -C`" in text_of(of_file)


async def test_worktree_has_commits_of_its_own_branch(tmp_path: Path, git: Git):
    tree = tmp_path.with_name("tree")
    git("worktree", "add", "-q", "-b", "side", str(tree))
    (tree / "b.py").write_text("1\n")

    done = await commit(tree, paths=["b.py"])
    taken = await use(tree, "git_checkout", {"target": "main"})

    assert "[side " in text_of(done)
    assert taken.is_error
    assert git("log", "-1", "--format=%s", "side").strip() == "m"


@pytest.mark.parametrize("name", ["git_status", "git_diff", "git_log", "git_branch"])
async def test_folder_without_a_repository_is_reported_in_a_line(tmp_path: Path, name: str):
    output = await use(tmp_path, name, {})

    assert output.is_error
    assert "not a git repository" in text_of(output)
    assert len(text_of(output).splitlines()) <= 2
