from __future__ import annotations

from pathlib import Path

import pytest
from fakes.language_servers import CodeTools, code_tools, jedi_server, raw_server

from harness.errors import InvalidArguments, WorkspaceError
from harness.views import DiffView, ListingView, TextView
from tools.lsp.options import LanguageServer
from tools.lsp.tool import LspTool

MODULE = """import b


def area(size: int) -> int:
    return size * size


print("😀😀", area(2), b.twice(3))
"""
OTHER = "from a import area\r\n\r\n\r\ndef twice(size: int) -> int:\r\n    return 2 * area(size)\r\n"


def write_project(tools: CodeTools) -> None:
    tools.place.put("a.py", MODULE)
    tools.place.put("b.py", OTHER)


async def test_symbols_are_found_by_name_and_line(tmp_path: Path) -> None:
    async with code_tools(tmp_path, jedi_server()) as tools:
        write_project(tools)

        definition = await tools.ask("definition", "b.py", 5, "area")
        # After characters that UTF-16 counts twice.
        used = await tools.ask("references", "a.py", 8, "area")
        hover = await tools.ask("hover", "a.py", 8, "b.twice")
        symbols = await tools.ask("document_symbols", "b.py")
        found = await tools.ask("workspace_symbols", query="twice")
        outside = await tools.ask("definition", "a.py", 8, "print")
        missing = await tools.ask("hover", "a.py", 5, "area")
        # Another program changes an open file.
        tools.place.put("b.py", "\n\ndef thrice():\n    pass\n")
        changed = await tools.ask("document_symbols", "b.py")

    assert definition.text == "a.py:4: def area(size: int) -> int:"
    assert used.lines[:2] == ["a.py:4: def area(size: int) -> int:", 'a.py:8: print("😀😀", area(2), b.twice(3))']
    assert used.output.view == ListingView("References", tuple(used.lines), 4)
    assert "def twice(size: int) -> int" in hover.text
    assert "4: function twice" in symbols.text
    assert "b.py:4: function twice" in found.text
    # A file outside the workspace is named, not read.
    assert outside.text.startswith("/")
    assert outside.text.rpartition(":")[2].isdigit()
    assert changed.text.startswith("3: function thrice")
    assert missing.output.is_error
    assert missing.text == "'area' is not on line 5: 'return size * size'. It is on lines 4, 8."


async def test_rename_lists_its_files_and_then_changes_all_of_them(tmp_path: Path) -> None:
    changed: list[str] = []
    async with code_tools(tmp_path, jedi_server()) as tools:
        write_project(tools)
        tools.place.workspace.on_change(lambda path: changed.append(path.name))
        call = {"operation": "rename", "path": "b.py", "line": 5, "symbol": "area", "new_name": "surface"}
        before = tools.lsp.risk(tools.lsp.validate({**call, "apply": True}))

        planned = await tools.place.call(tools.lsp, **call)
        after = tools.lsp.risk(tools.lsp.validate({**call, "apply": True}))
        view = await tools.place.foresee(tools.lsp, **call, apply=True)
        assert (tools.place.root / "a.py").read_text() == MODULE
        made = await tools.place.call(tools.lsp, **call, apply=True)

    assert [line.partition(":")[0] for line in planned.lines[1:]] == ["a.py", "b.py"]
    # Only once the files are known can rules be applied to them.
    assert (before.level, before.paths) == ("read", ("b.py",))
    assert (after.level, after.paths) == ("edit", ("a.py", "b.py"))
    assert isinstance(view, TextView)
    assert "+++ b/b.py" in view.text
    assert "+    return 2 * surface(size)" in view.text
    assert made.lines == ["Renamed in 2 files:", "a.py", "b.py"]
    assert (tools.place.root / "a.py").read_text() == MODULE.replace("area(", "surface(")
    # Line endings are kept.
    assert (tools.place.root / "b.py").read_bytes() == OTHER.replace("area", "surface").encode()
    assert changed == ["a.py", "b.py"]


def location(path: Path, line: int) -> dict[str, object]:
    span = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 3}}
    return {"range": span, "newText": "new", "uri": path.as_uri()}


def rename_answer(*edits: dict[str, object]) -> dict[str, object]:
    return {"textDocument/rename": {"changes": {str(each["uri"]): [each] for each in edits}}}


@pytest.mark.parametrize(
    ("edits", "error"),
    [
        (("a.txt", 0, "/etc/hosts", 0), "outside"),
        (("a.txt", 0, "b.txt", 90), "a line that the file does not have"),
        (("a.txt", 0, "binary.txt", 0), "is not text"),
        (("a.txt", 0, "missing.txt", 0), "does not exist"),
    ],
)
async def test_rename_that_cannot_be_made_completely_changes_nothing(tmp_path: Path, edits, error: str) -> None:
    root = tmp_path / "project"
    answers = rename_answer(*(location(root / edits[at], edits[at + 1]) for at in (0, 2)))
    async with code_tools(tmp_path, raw_server(answers=answers)) as tools:
        tools.place.put("a.txt", "old\n")
        tools.place.put("b.txt", "old\n")
        tools.place.put("binary.txt", b"\0\1\2")

        called = await ask_rename(tools)

    assert error in called
    assert (root / "a.txt").read_text() == (root / "b.txt").read_text() == "old\n"


async def ask_rename(tools: CodeTools) -> str:
    try:
        return (await tools.ask("rename", "a.txt", 1, "old", new_name="new", apply=True)).text
    except WorkspaceError as error:
        # The executor turns it into a failed result.
        return str(error)


async def test_rename_with_other_files_than_approved_is_listed_again(tmp_path: Path) -> None:
    root = tmp_path / "project"
    first = rename_answer(location(root / "a.txt", 0))
    async with code_tools(tmp_path, raw_server(answers=first)) as tools:
        tools.place.put("a.txt", "old\n")
        tools.place.put("b.txt", "old\n")
        await tools.ask("rename", "a.txt", 1, "old", new_name="new")
        plan = next(iter(tools.lsp._plans.values()))
        plan.edits.clear()

        called = await tools.ask("rename", "a.txt", 1, "old", new_name="new", apply=True)

    assert called.text.startswith("The rename changes 1 file. Repeat")
    assert (root / "a.txt").read_text() == "old\n"


async def test_single_file_rename_is_shown_as_a_diff(tmp_path: Path) -> None:
    answers = rename_answer(location(tmp_path / "project" / "a.txt", 0))
    async with code_tools(tmp_path, raw_server(answers=answers)) as tools:
        tools.place.put("a.txt", "old\n")
        await tools.ask("rename", "a.txt", 1, "old", new_name="new")

        made = await tools.ask("rename", "a.txt", 1, "old", new_name="new", apply=True)

    assert made.output.view == DiffView("a.txt", "old\n", "new\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"operation": "hover", "path": "a.py"}, "hover needs line and symbol"),
        ({"operation": "document_symbols"}, "document_symbols needs path"),
        ({"operation": "rename", "path": "a.py", "line": 1, "symbol": "a"}, "rename needs new_name"),
        ({"operation": "workspace_symbols"}, "workspace_symbols needs query"),
        ({"operation": "guess"}, "operation"),
    ],
)
def test_incomplete_calls_are_refused(arguments, error: str) -> None:
    with pytest.raises(InvalidArguments, match=error):
        LspTool().validate(arguments)


async def test_missing_servers_are_named(tmp_path: Path) -> None:
    async with code_tools(tmp_path, LanguageServer({"*.txt": "plaintext"}, ("text-server",), "text")) as tools:
        tools.place.put("a.txt")
        tools.place.put("a.unknown")

        known = await tools.ask("diagnostics", "a.txt")
        unknown = await tools.ask("diagnostics", "a.unknown")
        anywhere = await tools.ask("diagnostics")

    assert known.text == "No language server for a.txt is installed; cinch looks for text-server on PATH."
    assert unknown.text == "No language server for a.unknown is installed."
    assert "give the path of a file" in anywhere.text
