from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fakes.language_servers import code_tools, raw_server
from msgspec.structs import replace

from tools.lsp.options import LanguageServer, LspOptions, find_program, known_servers, servers_for


def install(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text("#!/bin/sh\nexec cat\n")
    program.chmod(0o755)
    return program


def options(path: Path, *own: LanguageServer, is_trusted: bool = True, disabled: tuple[str, ...] = ()) -> LspOptions:
    return LspOptions(own=own, is_trusted=lambda: is_trusted, environment={"PATH": str(path)}, disabled=disabled)


RUFF = LanguageServer({"*.py": "python"}, ("ruff", "server"), "ruff")


def chosen(root: Path, use: LspOptions) -> list[str]:
    return [each.server.name for each in servers_for(root / "a.py", root, use)]


def test_known_servers_are_complete() -> None:
    for server in known_servers():
        assert server.command, server.name
        assert server.files, server.name
        assert server.languages, server.name


def test_first_installed_server_of_each_language_is_chosen(tmp_path: Path) -> None:
    path, root = tmp_path / "bin", tmp_path / "project"
    for name in ("pyright-langserver", "pylsp", "ruff"):
        install(path, name)

    assert chosen(root, options(path)) == ["pyright", "ruff"]
    assert chosen(root, options(path, disabled=("pyright", "ruff"))) == ["pylsp"]
    own = LanguageServer({"*.py": "python"}, ("pylsp",), "mine", languages=("python",))
    assert chosen(root, options(path, own)) == ["mine", "ruff"]


@pytest.mark.parametrize("folder", [".venv/bin", "node_modules/.bin"])
def test_programs_of_the_project_need_trust(tmp_path: Path, folder: str) -> None:
    root = tmp_path / "project"
    program = install(root / folder, "ruff")

    assert find_program(RUFF, root, root, options(tmp_path / "bin")) == str(program)
    assert find_program(RUFF, root, root, options(tmp_path / "bin", is_trusted=False)) == ""
    # Not even if PATH leads into the project.
    assert find_program(RUFF, root, root, options(program.parent, is_trusted=False)) == ""


def test_program_that_is_too_old_is_not_used(tmp_path: Path) -> None:
    root, package = tmp_path / "project", tmp_path / "package"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ruff").symlink_to(install(package / "bin", "ruff"))
    server = replace(RUFF, needs="../lib/server.js")
    before = find_program(server, root, root, options(tmp_path / "bin"))
    (package / "lib").mkdir()
    (package / "lib" / "server.js").touch()

    assert before == ""
    assert find_program(server, root, root, options(tmp_path / "bin")) == str(tmp_path / "bin" / "ruff")


async def test_server_that_runs_code_of_the_project_needs_trust(tmp_path: Path) -> None:
    server = replace(raw_server(), runs_code=True, root_markers=("a.txt",))
    async with code_tools(tmp_path, server, is_trusted=False) as tools:
        tools.place.put("a.txt", "word\n")

        asked = await tools.ask("hover", "a.txt", 1, "word")
        anywhere = await tools.ask("workspace_symbols", query="word")
        edited = await tools.edit("a.txt", "word", "other")

        assert "starts only in a folder that the user trusts" in asked.text
        assert anywhere.text == asked.text
        assert len(edited.lines) == 1
        assert not tools.servers._running


async def test_server_gets_no_keys_and_runs_in_the_folder_of_its_marker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("OTHER", "kept")
    shell = shutil.which("sh") or ""
    report = tmp_path / "report"
    server = LanguageServer(
        {"*.txt": "plaintext"},
        (shell, "-c", f"export -p > {report}; pwd >> {report}"),
        "env",
        root_markers=("*.marker",),
    )
    async with code_tools(tmp_path, server) as tools:
        tools.place.put("sub/x.marker")
        tools.place.put("sub/deep/a.txt", "word\n")
        await tools.ask("hover", "sub/deep/a.txt", 1, "word")

    lines = report.read_text().splitlines()
    assert any("OTHER=" in line for line in lines)
    assert "secret" not in report.read_text()
    assert lines[-1] == str((tmp_path / "project" / "sub").resolve())
