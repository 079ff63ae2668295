"""read_file: a text file with line numbers, an image, or a folder."""

from __future__ import annotations

import base64
from pathlib import Path, PurePath
from typing import Annotated

from msgspec import Meta

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

_LONGEST_LINE = 2000
_MOST_BYTES = 50_000
_LARGEST_IMAGE = 5 * 1024 * 1024
_HEAD = 64 * 1024
_ENDINGS = {"\r\n": "CRLF line endings", "\r": "CR line endings", "mixed": "mixed line endings"}


class ReadParameters(Parameters):
    path: Annotated[str, Meta(description="The file, relative to the working folder or absolute.")]
    offset: Annotated[
        int, Meta(description="First line to show, counted from 1; -n starts n lines before the end.")
    ] = 1
    limit: Annotated[int, Meta(ge=1, description="Most lines to show.")] = 2000


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
        try:
            excerpt = await _excerpt(context.workspace, real, arguments)
        except FileNotText as error:
            return await _not_text(context.workspace, real, error)
        return _shown(context.workspace.display(real), excerpt, context.output_limit(_MOST_BYTES))


async def _excerpt(workspace: Workspace, real: Path, arguments: ReadParameters) -> Excerpt:
    first = arguments.offset or 1
    try:
        file = await workspace.read(real)
    except FileTooLarge:
        return await workspace.excerpt(real, first, arguments.limit, clip=_LONGEST_LINE + 1)
    return _window(file, first, arguments.limit)


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
