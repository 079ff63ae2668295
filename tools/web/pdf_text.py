"""Text of a PDF document, page by page."""

from __future__ import annotations

import io
import time

from msgspec import Struct
from pypdf import PdfReader
from pypdf.errors import FileNotDecryptedError

from tools.untrusted_text import cleaned_text
from tools.web.download import FetchError

MOST_PAGES = 500
MOST_CHARACTERS = 2_000_000
MOST_SECONDS = 20.0


class PdfText(Struct, frozen=True):
    """Text of a document."""

    title: str
    """Title; empty if it has none."""
    text: str
    """Text with a heading for each page."""
    pages: int
    """Number of pages of the document."""
    notes: tuple[str, ...] = ()
    """Sentences on what is missing."""


def pdf_text(data: bytes) -> PdfText:
    """Return the text of a document, within limits of pages, characters and time.

    Raises:
        FetchError: The document cannot be read.
    """
    try:
        return _read(PdfReader(io.BytesIO(data)))
    except FileNotDecryptedError as error:
        raise FetchError("The PDF is encrypted; its text cannot be read without a password.") from error
    except FetchError:
        raise
    except Exception as error:  # a damaged file can raise anything
        # Without the text of the error, which can quote the file.
        raise FetchError(f"The PDF is damaged ({type(error).__name__}).") from error


def _read(reader: PdfReader) -> PdfText:
    end = time.monotonic() + MOST_SECONDS
    total = len(reader.pages)
    parts: list[str] = []
    length = 0
    for number, page in enumerate(reader.pages, 1):
        if number > MOST_PAGES or length > MOST_CHARACTERS or time.monotonic() > end:
            note = f"Pages {number} to {total} are missing: the document is too long."
            return PdfText(_title(reader), "\n\n".join(parts), total, (note,))
        text = page.extract_text().strip()
        length += len(text)
        parts.append(f"## Page {number}\n\n{text}")
    notes = () if length else ("It contains no text; its pages may be scanned images.",)
    return PdfText(_title(reader), "\n\n".join(parts), total, notes)


def _title(reader: PdfReader) -> str:
    title = reader.metadata.title if reader.metadata else None
    return cleaned_text(" ".join(str(title).split()))[:300] if title else ""
