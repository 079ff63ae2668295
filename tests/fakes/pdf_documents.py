"""PDF documents."""

from __future__ import annotations

import io

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(*texts: str) -> bytes:
    """Return a document with one line of text on each page."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in texts:
        sheet = writer.add_blank_page(300, 200)
        sheet[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode())
        sheet[NameObject("/Contents")] = writer._add_object(content.flate_encode())  # pyright: ignore[reportPrivateUsage]
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()
