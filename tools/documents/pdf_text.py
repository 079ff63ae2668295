"""Text of a PDF document, page by page."""

from __future__ import annotations

import io

from msgspec import Struct
from pypdf import PageObject, PdfReader, apply_configuration
from pypdf.errors import FileNotDecryptedError, LimitReachedError

from tools.deadline import Deadline, TooComplex
from tools.untrusted_text import cleaned_text

MOST_PAGES = 500
MOST_CHARACTERS = 2_000_000
MOST_SECONDS = 20.0
"""Time for all pages; those that were read by then are returned."""
LARGEST_STREAM = 2_000_000
"""Decompressed bytes of the instructions of one page, which are parsed without a check of the time."""


class UnreadablePdf(Exception):
    """The document cannot be read; the message is the reason."""


class PageRange(Struct, frozen=True):
    """Pages to read, both ends included."""

    first: int = 1
    last: int | None = None
    """Last page; None for that of the document."""


ALL_PAGES = PageRange()


class PdfText(Struct, frozen=True):
    """Text of a document."""

    title: str
    """Title; empty if it has none."""
    parts: tuple[str, ...]
    """Text of each page, with a heading."""
    pages: int
    """Number of pages of the document."""
    notes: tuple[str, ...] = ()
    """Sentences on what is missing."""

    @property
    def text(self) -> str:
        """Text of all pages that were read."""
        return "\n\n".join(self.parts)


def pdf_text(data: bytes, deadline: Deadline, wanted: PageRange = ALL_PAGES) -> PdfText:
    """Return the text of a document, within limits of pages, characters and time.

    Args:
        data: The document.
        deadline: Time limit, after which nothing is returned.
        wanted: Pages to read; those past the end are left out.

    Raises:
        UnreadablePdf: The document cannot be read.
        TooComplex: The time is over.
    """
    try:
        with apply_configuration(
            zlib_maximum_output_length=LARGEST_STREAM,
            lzw_maximum_output_length=LARGEST_STREAM,
            run_length_maximum_output_length=LARGEST_STREAM,
            array_based_stream_maximum_output_length=LARGEST_STREAM,
        ):
            return _read(PdfReader(io.BytesIO(data)), deadline, wanted)
    except FileNotDecryptedError as error:
        raise UnreadablePdf("The PDF is encrypted; its text cannot be read without a password.") from error
    except (UnreadablePdf, TooComplex):
        raise
    except Exception as error:  # a damaged file can raise anything
        # Without the text of the error, which can quote the file.
        raise UnreadablePdf(f"The PDF is damaged ({type(error).__name__}).") from error


def _read(reader: PdfReader, deadline: Deadline, wanted: PageRange) -> PdfText:
    for_pages = Deadline(MOST_SECONDS)
    total = len(reader.pages)
    last = total if wanted.last is None else min(wanted.last, total)
    parts: list[str] = []
    unreadable: list[str] = []
    length = 0
    for number in range(wanted.first, last + 1):
        try:
            if number - wanted.first >= MOST_PAGES or length > MOST_CHARACTERS:
                raise TooComplex
            text = _page_text(reader.pages[number - 1], deadline, for_pages)
        except TooComplex:
            deadline.check()
            note = f"Pages {number} to {last} are missing: the document is too long or complex."
            return PdfText(_title(reader), tuple(parts), total, (note, *_skipped(unreadable)))
        except LimitReachedError:
            unreadable.append(str(number))
            continue
        length += len(text)
        parts.append(f"## Page {number}\n\n{text}")
    what = "It contains" if wanted == ALL_PAGES else "These pages contain"
    notes = () if length or unreadable or not parts else (f"{what} no text; scanned pages are images.",)
    return PdfText(_title(reader), tuple(parts), total, (*notes, *_skipped(unreadable)))


def _page_text(page: PageObject, *deadlines: Deadline) -> str:
    """Return the text of a page; the time is checked before each of its instructions.

    Raises:
        TooComplex: The time is over.
    """

    def check(*_: object) -> None:
        for deadline in deadlines:
            deadline.check()

    check()
    return page.extract_text(visitor_operand_before=check).strip()


def _skipped(unreadable: list[str]) -> tuple[str, ...]:
    return (f"Pages too large to be read: {', '.join(unreadable[:20])}.",) if unreadable else ()


def _title(reader: PdfReader) -> str:
    title = reader.metadata.title if reader.metadata else None
    return cleaned_text(" ".join(str(title).split()))[:300] if title else ""
