"""read_file: a text file with line numbers, an image, a PDF document, a notebook, an archive, or a folder."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.structs import replace

from harness.errors import FileNotText, FileTooLarge
from harness.messages import Image, Text
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.terminal_text import strip_escapes
from harness.views import ImageView, TextView
from harness.workspace.disk import is_folder
from harness.workspace.excerpt import Excerpt
from harness.workspace.file_text import FileText
from harness.workspace.workspace import Workspace
from tools.file_type import binary_kind, image_header
from tools.list import listing
from tools.typed import Parameters, TypedTool

if TYPE_CHECKING:
    from tools.documents.outline import OutlineEntry

_LONGEST_LINE = 2000
_MOST_BYTES = 50_000
_LARGEST_IMAGE = 5 * 1024 * 1024
_HEAD = 64 * 1024
_DEFAULT_LIMIT = 2000
_BEGINNING_LINES = 200
"""Lines that are shown of a long file with an outline."""
_BEGINNING_BYTES = 12_000
_MOST_OUTLINED = 250
_OUTLINE_BYTES = 12_000
_SHOWN_OTHERWISE = (".pdf", ".ipynb")
"""Suffixes of files that are not shown by lines, even if they are text."""
_ENDINGS = {"\r\n": "CRLF line endings", "\r": "CR line endings", "mixed": "mixed line endings"}


class ReadParameters(Parameters):
    path: Annotated[str, Meta(description="The file, relative to the working folder or absolute.")]
    offset: Annotated[
        int, Meta(description="First line to show, counted from 1; -n starts n lines before the end.")
    ] = 1
    limit: Annotated[int, Meta(ge=1, description="Most lines to show.")] = _DEFAULT_LIMIT
    pages: Annotated[str, Meta(description="Pages of a PDF, at most 20: 1-5.")] = ""

    @property
    def is_whole(self) -> bool:
        """True if the call asks for no particular lines."""
        return self.offset in (0, 1) and self.limit == _DEFAULT_LIMIT


class ReadTool(TypedTool[ReadParameters]):
    name = "read_file"
    label = "Read file"
    Arguments = ReadParameters

    def risk_of(self, arguments: ReadParameters) -> Risk:
        return Risk("read", paths=(arguments.path,), cacheable=True)

    async def execute(self, arguments: ReadParameters, context: ToolContext) -> ToolOutput:
        real = context.workspace.resolve(arguments.path)
        if is_folder(real):
            return await listing(context.workspace, real, depth=1, limit=200)
        if real.suffix.lower() in _SHOWN_OTHERWISE and (found := await _document(real, arguments, context)):
            return found
        try:
            excerpt, text = await _excerpt(context.workspace, real, arguments)
        except FileNotText as error:
            found = await _document(real, arguments, context)
            return found or await _not_text(context.workspace, real, error)
        path, room = context.workspace.display(real), context.output_limit(_MOST_BYTES)
        if arguments.pages:
            return ToolOutput.failure(f"{path} is not a PDF document; use offset and limit.")
        if text and arguments.is_whole and _exceeds(excerpt, room) and (entries := await _outline(path, text)):
            return _with_outline(path, excerpt, entries, room)
        return _shown(path, excerpt, room)


async def _document(real: Path, arguments: ReadParameters, context: ToolContext) -> ToolOutput | None:
    # Few files need what these import.
    from tools.documents.reading import Window, read_document

    return await read_document(real, Window(arguments.pages, arguments.offset, arguments.limit), context)


async def _excerpt(workspace: Workspace, real: Path, arguments: ReadParameters) -> tuple[Excerpt, str]:
    """Return the lines to show, and the whole text if the file is not too large."""
    first = arguments.offset or 1
    try:
        file = await workspace.read(real)
    except FileTooLarge:
        return await workspace.excerpt(real, first, arguments.limit, clip=_LONGEST_LINE + 1), ""
    return _window(file, first, arguments.limit), file.text


def _window(file: FileText, first: int, count: int) -> Excerpt:
    lines = file.text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if first < 0:
        first = max(len(lines) + first, 0) + 1
    kept = tuple(lines[first - 1 : first - 1 + count])
    marked = f"{file.encoding} with BOM" if file.bom else file.encoding
    return Excerpt(kept, first, len(lines), marked, file.newline, file.size)


def _shown(path: str, excerpt: Excerpt, room: int) -> ToolOutput:
    if excerpt.size == 0 or excerpt.total == 0:
        return ToolOutput.text(f"{path} is empty.", view=TextView("(empty)"))
    if not excerpt.lines:
        return ToolOutput.failure(f"{path} has {excerpt.total} lines; offset {excerpt.first} is past its end.")
    lines = _within_bounds(excerpt, room)
    last = excerpt.first + len(lines) - 1
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, excerpt.first))
    return ToolOutput.text(
        f"{numbered}\n[{_footer(excerpt, last)}]",
        view=TextView(strip_escapes("\n".join(lines)), language_of(path)),
        details={"path": path, "first": excerpt.first, "last": last, "total": excerpt.total},
    )


def _exceeds(excerpt: Excerpt, room: int) -> bool:
    """Return True if the file has more than one result can show."""
    lines = excerpt.lines
    if excerpt.total != len(lines):
        return True
    # Each line with its number, a tab and a line feed.
    return excerpt.size + 8 * len(lines) > room and len(_within_bounds(excerpt, room)) < len(lines)


async def _outline(path: str, text: str) -> Sequence[OutlineEntry]:
    # Only for long files.
    from tools.documents.outline import outline

    return await asyncio.to_thread(outline, path, text)


def _with_outline(path: str, excerpt: Excerpt, entries: Sequence[OutlineEntry], room: int) -> ToolOutput:
    """Return the beginning of a long file, and its outline."""
    beginning = _shown(path, replace(excerpt, lines=excerpt.lines[:_BEGINNING_LINES]), min(room, _BEGINNING_BYTES))
    lines: list[str] = []
    left = min(_OUTLINE_BYTES, room - _BEGINNING_BYTES)
    for entry in entries[:_MOST_OUTLINED]:
        line = f"{entry.line}\t{'  ' * entry.depth}{entry.text}"
        left -= len(line.encode("utf-8", "replace")) + 1
        if left < 0:
            break
        lines.append(line)
    if not lines:
        return beginning
    more = f"; {len(entries) - len(lines)} more definitions" if len(lines) < len(entries) else ""
    title = f"\n[outline of {path}: line and definition{more}; read a part with offset and limit]\n"
    return replace(beginning, content=(*beginning.content, Text(title + "\n".join(lines))))


def _within_bounds(excerpt: Excerpt, room: int) -> list[str]:
    lines = excerpt.lines
    # A character has at most four bytes: most files need no counting.
    if max(map(len, lines)) <= _LONGEST_LINE and sum(map(len, lines)) * 4 + len(lines) * 8 <= room:
        return list(lines)
    kept: list[str] = []
    size = 0
    for number, line in enumerate(lines, excerpt.first):
        cut = (
            line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}[… line cut at {_LONGEST_LINE} characters]"
        )
        # With the number, a tab and a line feed.
        size += len(str(number)) + 2 + (len(cut) if cut.isascii() else len(cut.encode("utf-8", "replace")))
        if size > room and kept:
            break
        kept.append(cut)
    return kept


def _footer(excerpt: Excerpt, last: int) -> str:
    total = "more" if excerpt.total is None else f"{excerpt.total}"
    parts = [f"lines {excerpt.first}–{last} of {total}"]
    if excerpt.total is None:
        parts.append(f"{excerpt.size:,} bytes in total")
    if excerpt.encoding != "utf-8":
        parts.append(excerpt.encoding)
    if excerpt.newline in _ENDINGS:
        parts.append(_ENDINGS[excerpt.newline])
    if last != excerpt.total:
        parts.append(f"continue with offset={last + 1}")
    return " · ".join(parts)


async def _not_text(workspace: Workspace, real: Path, error: FileNotText) -> ToolOutput:
    path, size = workspace.display(real), real.stat().st_size
    head = await workspace.read_bytes(real, limit=_HEAD)
    image = image_header(head)
    if image is None:
        return ToolOutput.text(f"{path} is {binary_kind(head)}, {size:,} bytes; the content is not shown. {error}")
    if size > _LARGEST_IMAGE:
        return ToolOutput.failure(f"{path} is an image of {size:,} bytes; the limit is 5 MB.")
    data = base64.b64encode(await workspace.read_bytes(real)).decode("ascii")
    pixels = f", {image.width} × {image.height} pixels" if image.width else ""
    return ToolOutput(
        (Text(f"{path}: {image.media_type}{pixels}, {size:,} bytes."), Image(image.media_type, data)),
        ImageView(str(real), image.media_type, image.width, image.height),
    )


_BY_SUFFIX = {
    ".bash": "bash", ".c": "c", ".cc": "cpp", ".cfg": "ini", ".clj": "clojure", ".cpp": "cpp", ".cs": "csharp",
    ".css": "css", ".dart": "dart", ".diff": "diff", ".ex": "elixir", ".exs": "elixir", ".go": "go", ".h": "c",
    ".hpp": "cpp", ".hs": "haskell", ".html": "html", ".ini": "ini", ".java": "java", ".js": "javascript",
    ".json": "json", ".jsonl": "json", ".jsx": "jsx", ".kt": "kotlin", ".lua": "lua", ".md": "markdown",
    ".mjs": "javascript", ".nix": "nix", ".patch": "diff", ".php": "php", ".pl": "perl", ".proto": "protobuf",
    ".ps1": "powershell", ".py": "python", ".pyi": "python", ".r": "r", ".rb": "ruby", ".rs": "rust", ".rst": "rst",
    ".scala": "scala", ".scss": "scss", ".sh": "bash", ".sql": "sql", ".svelte": "html", ".svg": "xml",
    ".swift": "swift", ".tcss": "css", ".tf": "terraform", ".toml": "toml", ".ts": "typescript", ".tsx": "tsx",
    ".vue": "html", ".xml": "xml", ".yaml": "yaml", ".yml": "yaml", ".zig": "zig", ".zsh": "bash",
}  # fmt: skip
_BY_NAME = {"CMakeLists.txt": "cmake", "Dockerfile": "docker", "Makefile": "make", "Gemfile": "ruby"}


def language_of(path: str) -> str:
    """Return the name of the Pygments lexer for a file, empty for plain text."""
    pure = PurePath(path)
    return _BY_NAME.get(pure.name) or _BY_SUFFIX.get(pure.suffix.lower(), "")
