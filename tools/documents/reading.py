"""Results of read_file for PDF documents, notebooks and archives."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from harness.errors import FileTooLarge
from harness.ports.tool import ToolContext, ToolOutput
from harness.views import ListingView, TextView
from tools.deadline import TooComplex, in_thread
from tools.documents.archive_listing import (
    Archive,
    ArchiveEntry,
    UnreadableArchive,
    archive_kind,
    read_archive,
)
from tools.documents.notebook_cells import NotebookText, notebook_text
from tools.documents.pdf_text import PageRange, PdfText, UnreadablePdf, pdf_text

MOST_PAGES = 20
LARGEST_PDF = 50 * 1024 * 1024
CONVERSION_SECONDS = 30.0
ARCHIVE_SECONDS = 5.0
MOST_BYTES = 50_000
_HEAD = 64 * 1024
_Item = TypeVar("_Item")
_PAGES = re.compile(r"(\d{1,9})\s*(-)?\s*(\d{1,9})?")


class Window(Struct, frozen=True):
    """Part of a document to show."""

    pages: str = ""
    """Pages of a PDF, such as 1-5."""
    first: int = 1
    """First cell or entry, from 1; negative counts from the end."""
    count: int = 2000
    """Most cells or entries."""


async def read_document(real: Path, window: Window, context: ToolContext) -> ToolOutput | None:
    """Return the content of a PDF document, notebook or archive; None for any other file.

    Args:
        real: Resolved path.
        window: Part to show.
        context: Services of the call.

    Raises:
        WorkspaceError: The file cannot be read.
    """
    head = await context.workspace.read_bytes(real, limit=_HEAD)
    if head.lstrip()[:5] == b"%PDF-":
        return await _pdf(real, window, context)
    if window.pages:
        return None
    if real.suffix.lower() == ".ipynb":
        return await _notebook(real, window, context)
    if kind := archive_kind(real.name, head):
        return await _archive(real, kind, window, context)
    return None


async def _pdf(real: Path, window: Window, context: ToolContext) -> ToolOutput:
    path = context.workspace.display(real)
    wanted = _page_range(window.pages)
    if isinstance(wanted, str):
        return ToolOutput.failure(f"{path}: {wanted}")
    data = await context.workspace.read_bytes(real, limit=LARGEST_PDF + 1)
    if len(data) > LARGEST_PDF:
        return ToolOutput.failure(f"{path} is a PDF of {real.stat().st_size:,} bytes; the limit is 50 MB.")
    try:
        found = await in_thread(lambda deadline: pdf_text(data, deadline, wanted), CONVERSION_SECONDS)
    except UnreadablePdf as error:
        return ToolOutput.failure(f"{path}: {error}")
    except TooComplex:
        return ToolOutput.failure(f"{path}: these pages are too complex to be read; try fewer pages.")
    if wanted.first > max(found.pages, 1):
        return ToolOutput.failure(f"{path} has {found.pages} pages; page {wanted.first} is past its end.")
    return _shown_pdf(path, found, wanted, context.output_limit(MOST_BYTES))


def _page_range(text: str) -> PageRange | str:
    """Return the pages that a text such as `1-5` names, or the reason why it names none."""
    if not text.strip():
        return PageRange(1, MOST_PAGES)
    match = _PAGES.fullmatch(text.strip())
    first, dash, last = match.groups() if match else ("0", None, None)
    start = int(first)
    end = int(last) if last else start + MOST_PAGES - 1 if dash else start
    if match is None or start < 1 or end < start or (last and not dash):
        return f"pages={text!r} names no pages; write one such as 3, or a range such as 1-5."
    if end - start >= MOST_PAGES:
        return f"at most {MOST_PAGES} pages can be read at a time, and pages={text!r} are {end - start + 1}."
    return PageRange(start, end)


def _shown_pdf(path: str, found: PdfText, wanted: PageRange, room: int) -> ToolOutput:
    last = min(wanted.last or found.pages, found.pages)
    parts = _fitting(found.parts, room)
    cut = len(parts) < len(found.parts)
    end = wanted.first + len(parts) - 1 if cut else last
    facts = [f"PDF, {found.pages} page{'' if found.pages == 1 else 's'}"]
    if (wanted.first, end) != (1, found.pages):
        facts.append(f"pages {wanted.first}–{end}")
    facts += [note.removesuffix(".") for note in found.notes]
    if end < found.pages:
        facts.append(f"continue with pages={end + 1}-{min(end + MOST_PAGES, found.pages)}")
    text = "\n\n".join(parts)
    return ToolOutput.text(
        "\n".join((*((text,) if text else ()), f"[{' · '.join(facts)}]")),
        view=TextView(text or f"({facts[0]})"),
        details={"path": path, "pages": found.pages, "first": wanted.first, "last": end},
    )


async def _notebook(real: Path, window: Window, context: ToolContext) -> ToolOutput | None:
    try:
        file = await context.workspace.read(real)
    except FileTooLarge:
        return None
    notebook = await asyncio.to_thread(notebook_text, file.text)
    if notebook is None:
        return None
    return _shown_notebook(context.workspace.display(real), notebook, window, context.output_limit(MOST_BYTES))


def _shown_notebook(path: str, notebook: NotebookText, window: Window, room: int) -> ToolOutput:
    total = len(notebook.cells)
    first, cells = _windowed(notebook.cells, window)
    if total and not cells:
        return ToolOutput.failure(f"{path} has {total} cells; offset {first} is past its end.")
    shown = _fitting([cell.text for cell in cells], room)
    text = "\n\n".join(shown)
    footer = _footer("cells", first, len(shown), total, notebook.language)
    return ToolOutput.text(
        "\n".join((*((text,) if text else ()), f"[notebook · {footer}]")),
        view=TextView(text or "(empty notebook)"),
        details={"path": path, "first": first, "last": first + len(shown) - 1, "total": total},
    )


async def _archive(real: Path, kind: str, window: Window, context: ToolContext) -> ToolOutput:
    path = context.workspace.display(real)
    try:
        archive = await in_thread(lambda deadline: read_archive(real, kind, deadline), ARCHIVE_SECONDS * 2)
    except (UnreadableArchive, TooComplex) as error:
        why = str(error) or "the archive is too large to be listed"
        return ToolOutput.failure(f"{path} is a {kind}, {real.stat().st_size:,} bytes: {why}.")
    return _shown_archive(path, archive, window, context.output_limit(MOST_BYTES))


def _shown_archive(path: str, archive: Archive, window: Window, room: int) -> ToolOutput:
    total = len(archive.entries)
    first, entries = _windowed(archive.entries, window)
    if total and not entries:
        return ToolOutput.failure(f"{path} has {total} entries; offset {first} is past its end.")
    lines = _fitting([_entry_line(each) for each in entries], room, cut=False)
    known = "" if archive.is_complete else "the archive has more than could be read"
    size = f"{sum(each.size for each in archive.entries):,} bytes unpacked"
    footer = _footer("entries", first, len(lines), total, " · ".join(filter(None, (size, known))))
    return ToolOutput.text(
        "\n".join((*lines, f"[{archive.kind} · {footer} · nothing was extracted]")),
        view=ListingView(path, tuple(lines), total),
        details={"path": path, "first": first, "last": first + len(lines) - 1, "total": total},
    )


def _entry_line(entry: ArchiveEntry) -> str:
    note = f"  ({entry.note})" if entry.note else ""
    size = "" if entry.name.endswith("/") else f"{entry.size:,}"
    return f"{size:>13}  {entry.name}{note}"


def _windowed(items: Sequence[_Item], window: Window) -> tuple[int, Sequence[_Item]]:
    """Return the number of the first item to show, from 1, and the items."""
    first = window.first or 1
    if first < 0:
        first = max(len(items) + first, 0) + 1
    return first, items[first - 1 : first - 1 + window.count]


def _fitting(texts: Sequence[str], room: int, *, cut: bool = True) -> list[str]:
    """Return the texts that fit in `room` bytes, at least the first one, which is cut if allowed."""
    kept: list[str] = []
    for text in texts:
        room -= len(text.encode("utf-8", "replace")) + 2
        if room < 0:
            if not kept:
                kept.append(f"{text[: max(room + len(text), 1)]}[… cut]" if cut else text)
            break
        kept.append(text)
    return kept


def _footer(noun: str, first: int, count: int, total: int, fact: str) -> str:
    last = first + count - 1
    parts = [f"{noun} {first}–{last} of {total}" if count else f"no {noun}"]
    parts += [fact] if fact else []
    if last < total:
        parts.append(f"continue with offset={last + 1}")
    return " · ".join(parts)
