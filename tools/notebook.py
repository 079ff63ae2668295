"""Jupyter notebook as text: changes of one cell that keep every other byte of the file.

Source: https://nbformat.readthedocs.io/en/latest/format_description.html.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from typing import Literal, TypeAlias, cast

from harness.messages import JsonObject, JsonValue

CellType: TypeAlias = Literal["code", "markdown", "raw"]
_IDS_SINCE = (4, 5)
_NAMED = 20
_SPACE = re.compile(r"[ \t\r\n]*")
_FIRST_INDENT = re.compile(r"\{\n([ \t]+)\"")
_DECODER = json.JSONDecoder()


class NotebookError(Exception):
    """The file is not a notebook, or it has no such cell; the message is for the model."""


class Notebook:
    """Notebook whose cells can be changed, inserted and removed.

    Args:
        text: Content of the file.

    Raises:
        NotebookError: The text is not a notebook.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            data: JsonValue = json.loads(text)
        except ValueError as error:
            raise NotebookError(f"it is not valid JSON: {error}") from error
        cells = data.get("cells") if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(cells, list):
            raise NotebookError("it is not a notebook of format 4: it has no list of cells")
        if not all(isinstance(cell, dict) for cell in cells):
            raise NotebookError("it is not a notebook of format 4: not all of its cells are objects")
        self._data = data
        self.cells = cast("list[JsonObject]", cells)  # checked above
        """The cells."""
        self._array, self._spans = _cell_spans(text)

    def find(self, name: str) -> int:
        """Return the index of a cell named by its id, or by its number from 1.

        Raises:
            NotebookError: There is no such cell.
        """
        for index, cell in enumerate(self.cells):
            if cell.get("id") == name:
                return index
        if name.isdecimal() and 0 < int(name) <= len(self.cells):
            return int(name) - 1
        names = ", ".join(self.name(index) for index in range(min(len(self.cells), _NAMED)))
        more = ", …" if len(self.cells) > _NAMED else ""
        raise NotebookError(f"it has no cell {name!r}. Its cells: {names or 'none'}{more}")

    def name(self, index: int) -> str:
        """Return the id of a cell, or its number from 1 if it has none."""
        name = self.cells[index].get("id")
        return name if isinstance(name, str) else str(index + 1)

    def source(self, index: int) -> str:
        """Return the text of a cell."""
        source = self.cells[index].get("source", "")
        return "".join(map(str, source)) if isinstance(source, list) else str(source)

    def replaced(self, index: int, source: str, cell_type: CellType | None) -> str:
        """Return the file with another text in a cell; the outputs of changed code are removed."""
        cell = dict(self.cells[index])
        kind = cell_type or cell.get("cell_type")
        if source == self.source(index) and kind == cell.get("cell_type"):
            return self._text
        cell["cell_type"] = kind
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        else:
            cell = {key: value for key, value in cell.items() if key not in ("execution_count", "outputs")}
        cell["source"] = self._source_value(source, like=cell.get("source"))
        start, end = self._spans[index]
        return f"{self._text[:start]}{self._dumped(cell)}{self._text[end:]}"

    def inserted(self, index: int, source: str, cell_type: CellType) -> str:
        """Return the file with a new cell at an index."""
        cell: JsonObject = {"cell_type": cell_type}
        if cell_type == "code":
            cell["execution_count"] = None
        if self._has_ids:
            cell["id"] = secrets.token_hex(4)
        cell["metadata"] = {}
        if cell_type == "code":
            cell["outputs"] = []
        like = self.cells[0].get("source") if self.cells else []
        cell["source"] = self._source_value(source, like=like)
        dumped = self._dumped(cell)
        start, end = self._array
        if not self._spans:
            unit = self._indent
            inner = f"[\n{unit * 2}{dumped}\n{unit}]" if unit else f"[{dumped}]"
            return f"{self._text[:start]}{inner}{self._text[end:]}"
        space = self._text[start + 1 : self._spans[0][0]]
        if index == 0:
            at, new = self._spans[0][0], f"{dumped},{space}"
        else:
            at, new = self._spans[index - 1][1], f",{space}{dumped}"
        return f"{self._text[:at]}{new}{self._text[at:]}"

    def removed(self, index: int) -> str:
        """Return the file without a cell."""
        if len(self._spans) == 1:
            start, end = self._array
            return f"{self._text[:start]}[]{self._text[end:]}"
        is_last = index == len(self._spans) - 1
        start = self._spans[index - 1][1] if is_last else self._spans[index][0]
        end = self._spans[index][1] if is_last else self._spans[index + 1][0]
        return f"{self._text[:start]}{self._text[end:]}"

    @property
    def _has_ids(self) -> bool:
        version = (self._data.get("nbformat"), self._data.get("nbformat_minor"))
        if all(isinstance(part, int) for part in version):
            return cast("tuple[int, int]", version) >= _IDS_SINCE
        return any("id" in cell for cell in self.cells)

    @property
    def _indent(self) -> str:
        found = _FIRST_INDENT.match(self._text)
        return found[1] if found else ""

    def _source_value(self, source: str, *, like: JsonValue) -> JsonValue:
        """Return a source in the form that the notebook uses: a text, or a list of lines."""
        return source if isinstance(like, str) else [*source.splitlines(keepends=True)]

    def _dumped(self, cell: JsonObject) -> str:
        """Return a cell as JSON in the layout of the file."""
        unit = self._indent
        escapes = self._text.isascii() and "\\u" in self._text
        if unit:
            return json.dumps(cell, indent=unit, ensure_ascii=escapes).replace("\n", f"\n{unit * 2}")
        separators = (", ", ": ") if '": ' in self._text else (",", ":")
        return json.dumps(cell, separators=separators, ensure_ascii=escapes)


def _cell_spans(text: str) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    """Return the span of the array of cells, and those of its elements. The text is valid JSON."""
    array = next(span for key, span in _members(text) if key == "cells")
    spans: list[tuple[int, int]] = []
    at = _skip(text, array[0] + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        spans.append((at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return array, spans


def _members(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Return the keys of the outermost object with the spans of their values."""
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] != "}":
        key, end = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, end) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield str(key), (start, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
