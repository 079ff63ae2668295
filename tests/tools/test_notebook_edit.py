from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.workplace import Workplace

from harness.errors import FileNotRead, InvalidArguments
from harness.messages import JsonObject
from harness.ports.tool import ToolOutput
from harness.views import DiffView
from tools.notebook_edit import NotebookEditTool

NOTEBOOK_EDIT = NotebookEditTool()
CELLS: list[JsonObject] = [
    {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Größe\n", "text"]},
    {
        "cell_type": "code",
        "execution_count": 3,
        "id": "load",
        "metadata": {"tags": ["a"]},
        "outputs": [{"name": "stdout", "output_type": "stream", "text": ["1\n"]}],
        "source": ["x = 1\n", "print(x)"],
    },
]
NOTEBOOK: JsonObject = {"cells": [*CELLS], "metadata": {"z": 1, "a": 2}, "nbformat": 4, "nbformat_minor": 5}
LAYOUTS = {
    "as Jupyter writes it": {"indent": 1, "ensure_ascii": False},
    "tabs": {"indent": "\t", "ensure_ascii": True},
    "one line": {"separators": (",", ":"), "ensure_ascii": False},
}


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    return Workplace(tmp_path / "project")


async def opened(place: Workplace, notebook: JsonObject | str, layout: str = "as Jupyter writes it") -> Path:
    text = notebook if isinstance(notebook, str) else json.dumps(notebook, **LAYOUTS[layout]) + "\n"
    file = place.put("a.ipynb", text)
    await place.workspace.read("a.ipynb")
    return file


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cell", ["load", "2", 2])
async def test_a_replaced_cell_loses_its_outputs_and_everything_else_stays(
    place: Workplace, layout: str, cell: str | int
):
    file = await opened(place, NOTEBOOK, layout)

    called = await place.call(NOTEBOOK_EDIT, path="a.ipynb", cell_id=cell, new_source="x = 2\nprint(x)\n")

    changed = {**CELLS[1], "execution_count": None, "outputs": [], "source": ["x = 2\n", "print(x)\n"]}
    assert file.read_text() == json.dumps({**NOTEBOOK, "cells": [CELLS[0], changed]}, **LAYOUTS[layout]) + "\n"
    assert called.text == "Replaced cell load of a.ipynb."
    assert called.output.view == DiffView("a.ipynb · cell load", "x = 1\nprint(x)", "x = 2\nprint(x)\n")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("after", "index"), [("", 0), ("intro", 1), ("load", 2)])
async def test_cells_are_inserted_and_removed(place: Workplace, layout: str, after: str, index: int):
    file = await opened(place, NOTEBOOK, layout)
    before = file.read_text()

    new = await place.call(
        NOTEBOOK_EDIT, path="a.ipynb", cell_id=after, new_source="y", cell_type="code", edit_mode="insert"
    )
    made = json.loads(file.read_text())["cells"][index]
    inserted = file.read_text()
    gone = await place.call(NOTEBOOK_EDIT, path="a.ipynb", cell_id=made["id"], edit_mode="delete")

    title = f"a.ipynb · cell {made['id']}"
    assert (new.output.view, gone.output.view) == (DiffView(title, "", "y\n"), DiffView(title, "y\n", ""))
    assert (made["source"], made["outputs"], made["execution_count"]) == (["y"], [], None)
    assert inserted == json.dumps(json.loads(inserted), **LAYOUTS[layout]) + "\n"
    assert file.read_text() == before


@pytest.mark.parametrize(
    ("arguments", "summary"),
    [
        ({"cell_id": "load", "new_source": "x"}, "a.ipynb · cell load"),
        ({"cell_id": "load", "edit_mode": "insert"}, "a.ipynb · new cell after load"),
        ({"edit_mode": "insert"}, "a.ipynb · new cell at the beginning"),
        ({"cell_id": 2, "edit_mode": "delete"}, "a.ipynb · remove cell 2"),
    ],
)
def test_dialog_and_call_name_the_cell(arguments: JsonObject, summary: str):
    assert NOTEBOOK_EDIT.summary({"path": "a.ipynb", **arguments}) == summary


async def test_a_cell_changes_its_type_and_an_empty_notebook_gets_one(place: Workplace):
    file = await opened(place, NOTEBOOK)
    await place.call(NOTEBOOK_EDIT, path="a.ipynb", cell_id="load", new_source="text", cell_type="markdown")
    assert json.loads(file.read_text())["cells"][1] == {
        "cell_type": "markdown",
        "id": "load",
        "metadata": {"tags": ["a"]},
        "source": ["text"],
    }

    empty = await opened(place, {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 2})
    await place.call(NOTEBOOK_EDIT, path="a.ipynb", new_source="x", cell_type="code", edit_mode="insert")
    (cell,) = json.loads(empty.read_text())["cells"]
    assert "id" not in cell


@pytest.mark.parametrize(
    ("content", "cell", "why"),
    [
        (NOTEBOOK, "other", "has no cell 'other'. Its cells: intro, load"),
        (NOTEBOOK, "3", "has no cell '3'"),
        ("{", "1", "is not valid JSON"),
        ("[]", "1", "is not a notebook"),
        ({"worksheets": []}, "1", "is not a notebook"),
        ({"cells": [1]}, "1", "is not a notebook"),
        (NOTEBOOK, "intro", "has this text already"),
    ],
)
async def test_an_impossible_edit_asks_for_no_approval(
    place: Workplace, content: JsonObject | str, cell: str, why: str
):
    file = await opened(place, content)
    before = file.read_bytes()

    foreseen = await place.foresee(NOTEBOOK_EDIT, path="a.ipynb", cell_id=cell, new_source="# Größe\ntext")
    called = await place.call(NOTEBOOK_EDIT, path="a.ipynb", cell_id=cell, new_source="# Größe\ntext")

    assert isinstance(foreseen, ToolOutput)
    assert called.output.is_error
    assert why in called.text
    assert file.read_bytes() == before


async def test_incomplete_arguments_and_unread_notebooks_are_refused(place: Workplace):
    place.put("a.ipynb", json.dumps(NOTEBOOK))

    for arguments in ({"path": "a.ipynb"}, {"path": "a.ipynb", "edit_mode": "insert"}):
        with pytest.raises(InvalidArguments):
            NOTEBOOK_EDIT.validate(arguments)
    with pytest.raises(FileNotRead):
        await place.call(NOTEBOOK_EDIT, notebook_path="a.ipynb", cell_id="load", new_source="x")
