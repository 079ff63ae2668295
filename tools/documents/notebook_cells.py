"""Jupyter notebook as text: its cells with their shortened outputs.

Source: https://nbformat.readthedocs.io/en/latest/format_description.html.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence

from msgspec import Struct

from harness.messages import JsonObject, JsonValue
from harness.terminal_text import escape_controls, strip_escapes
from harness.truncation import limit_lines, truncate
from tools.file_type import image_header

LONGEST_OUTPUT = 2_000
"""Characters of one output."""
MOST_OUTPUT_LINES = 40
_HEAD_CHARS = 64 * 1024


class Cell(Struct, frozen=True):
    """A cell as text."""

    header: str
    source: str
    outputs: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join((self.header, *((self.source,) if self.source else ()), *self.outputs))


class NotebookText(Struct, frozen=True):
    """A notebook as text."""

    cells: Sequence[Cell]
    language: str
    """Language of the code; empty if it is not named."""


def notebook_text(text: str) -> NotebookText | None:
    """Return a notebook as text; None if the text is not a notebook of format 4."""
    try:
        data: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = data.get("cells") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(cells, list):
        return None
    shown = [_cell(number, cell) for number, cell in enumerate(cells, 1) if isinstance(cell, dict)]
    return NotebookText(shown, _language(data.get("metadata")))


def _language(metadata: JsonValue) -> str:
    match metadata:
        case {"language_info": {"name": str(name)}} | {"kernelspec": {"language": str(name)}}:
            return _line(name)
        case _:
            return ""


def _cell(number: int, cell: JsonObject) -> Cell:
    facts = [f"cell {number}", _line(str(cell.get("cell_type", "unknown")))]
    if isinstance(own_id := cell.get("id"), str):
        facts.append(f"id {_line(own_id)}")
    outputs = cell.get("outputs")
    blocks = (_output(each) for each in outputs if isinstance(each, dict)) if isinstance(outputs, list) else ()
    source = _joined(cell.get("source")).removesuffix("\n")
    return Cell(f"[{' · '.join(facts)}]", source, tuple(block for block in blocks if block))


def _output(output: JsonObject) -> str:
    match output:
        case {"output_type": "stream", "text": text}:
            return _block(_line(str(output.get("name", "output"))), _joined(text))
        case {"output_type": "error", "traceback": list(lines)}:
            return _block("error", "\n".join(map(str, lines)))
        case {"data": dict(data)}:
            return "\n".join(_displayed(data))
        case _:
            return ""


def _displayed(data: JsonObject) -> Iterator[str]:
    """Yield the text of a result, and the names of its other forms."""
    plain = data.get("text/plain", data.get("text/markdown"))
    if plain is not None:
        yield _block("output", _joined(plain))
    for media_type, value in data.items():
        if media_type.startswith("image/"):
            yield f"[{_line(media_type)}, {_described_image(value)}]"
        elif plain is None:
            yield f"[{_line(media_type)}, not shown]"


def _described_image(value: JsonValue) -> str:
    encoded = _joined(value)
    if encoded.lstrip().startswith("<"):
        return f"{len(encoded.encode('utf-8', 'replace')):,} bytes"
    letters = encoded.replace("\n", "").rstrip("=")
    try:
        head = base64.b64decode(letters[: min(_HEAD_CHARS, len(letters) // 4 * 4)])
    except (binascii.Error, ValueError):
        head = b""
    image = image_header(head)
    pixels = f", {image.width} × {image.height} pixels" if image and image.width else ""
    return f"{len(letters) * 3 // 4:,} bytes{pixels}"


def _block(name: str, text: str) -> str:
    shown = strip_escapes(text).rstrip("\n")
    if not shown:
        return ""
    short = truncate(limit_lines(shown, MOST_OUTPUT_LINES), LONGEST_OUTPUT, "[… {:,} characters left out …]".format)
    return f"[{name}]\n{short}"


def _joined(value: JsonValue) -> str:
    """Return a text of a notebook, which may be a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


def _line(name: str) -> str:
    return escape_controls(" ".join(name.split()))[:100]
