"""Encodings: bytes to text and back without loss.

A file of uncertain encoding is still safe to edit, because an encoding is used only if it reproduces exactly the bytes
it was decoded from.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

from msgspec import Struct

from harness.errors import FileNotText

# UTF-32 first, because its little-endian mark starts with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Encodings without shift states: changing one span cannot alter the meaning of the bytes after it.
_LEGACY = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r", "koi8_u", "cp932",
    "euc_jp", "gb18030", "big5", "cp949", "mac_roman", "cp850", "cp437",
    *(f"iso8859_{part}" for part in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)),
)  # fmt: skip
# Encodings that a file may declare, and the superset that decodes them.
_SUPERSETS = {"shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949"}
_GUESSED = ["cp1252", "cp1250", "cp1251", "cp1253", "koi8_r", "cp932", "euc_jp", "gb18030", "big5", "cp949"]
# Guessers are unreliable for short Latin-1 text, so text that fits one Western language is not left to them.
_WESTERN = tuple(
    set(letters + "€£©®°§–—‘’“”…•«»½×·±™")
    for letters in ("äöüß", "áéíñóúü¿¡ªº", "àâæçéèêëîïôœùûüÿ", "àèéìíîòóùú", "áâãàçéêíóôõúü", "åäöæøéü", "áæéíðóöúýþ")
)
_DECLARED = re.compile(rb"(?:coding|charset)[:=]\s*[\"']?([A-Za-z0-9_.-]+)")
_CONTROL = bytes(set(range(32)) - {7, 8, 9, 10, 12, 13, 27})
_FULL_OF_CONTROL = 0.05
_SHORTEST_UTF16 = 16
_HEAD = 1024
_SAMPLE = 64 * 1024


class Decoded(Struct, frozen=True):
    """Text of a file."""

    raw: str
    """Text with its own line endings."""
    encoding: str
    """Encoding of the file."""
    bom: bytes = b""
    """Byte-order mark."""


def decode(data: bytes, known: str | None = None) -> Decoded:
    """Decode a whole file; `known` is its encoding when it was last read.

    Raises:
        FileNotText: The file is binary.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data, mark, encoding)
    if b"\0" in data:
        if (found := _unmarked_utf16(data)) is not None:
            return found
        raise FileNotText("it contains NUL bytes, so it is binary")
    if known is not None and (raw := exact(data, known)) is not None:
        return Decoded(raw, known)
    if (raw := exact(data, "utf-8")) is not None:
        return Decoded(raw, "utf-8")
    if len(data.translate(None, _CONTROL)) < len(data) * (1 - _FULL_OF_CONTROL):
        raise FileNotText("it contains many control bytes, so it is binary")
    return _legacy(data)


def encode(raw: str, encoding: str, bom: bytes = b"") -> bytes:
    """Encode text.

    Raises:
        FileNotText: The encoding lacks one of the characters.
    """
    try:
        return bom + raw.encode(encoding)
    except UnicodeEncodeError as error:
        character = raw[error.start]
        raise FileNotText(
            f"{character!r} (U+{ord(character):04X}) cannot be encoded in {encoding}, the encoding of this file; "
            "nothing was written. Use other characters, or convert the file to UTF-8 first"
        ) from error


def exact(data: bytes, encoding: str) -> str | None:
    """Return the decoded text if encoding it gives the same bytes, else None."""
    try:
        raw = data.decode(encoding)
        return raw if encoding == "utf-8" or raw.encode(encoding) == data else None
    except (UnicodeError, LookupError):
        return None


def likely(sample: bytes) -> tuple[str, bytes]:
    """Return the probable encoding and byte-order mark of a very long file, from its beginning.

    Raises:
        FileNotText: The file is binary.
    """
    for mark, encoding in _MARKS:
        if sample.startswith(mark):
            return encoding, mark
    # A sample may end inside a character, which does not rule out UTF-8.
    complete = sample[: max(sample.rfind(b"\n"), len(sample) - 4, 0)]
    found = decode(complete)
    return found.encoding, found.bom


def _marked(data: bytes, mark: bytes, encoding: str) -> Decoded:
    raw = exact(data[len(mark) :], encoding)
    if raw is None:
        raise FileNotText(f"it is marked as {encoding.upper()} but is not valid {encoding.upper()}")
    if "\0" in raw:
        raise FileNotText("it contains NUL characters, so it is binary")
    return Decoded(raw, encoding, mark)


def _unmarked_utf16(data: bytes) -> Decoded | None:
    """Return the text of a file in UTF-16 without a byte-order mark; None if it may be anything else."""
    if len(data) < _SHORTEST_UTF16 or len(data) % 2:
        return None
    # The high bytes of ASCII characters, such as line feeds, are NUL.
    first, second = data[::2].count(0), data[1::2].count(0)
    encoding = "utf-16-le" if second > first else "utf-16-be"
    if max(first, second) < 4 * min(first, second):
        return None
    raw = exact(data, encoding)
    if raw is None or "\n" not in raw or "\0" in raw or not all(map(_is_text, set(raw[:_SAMPLE]))):
        return None
    return Decoded(raw, encoding)


def _is_text(character: str) -> bool:
    return character in "\t\n\r\f" or unicodedata.category(character) not in ("Cc", "Cn", "Co", "Cs")


def _legacy(data: bytes) -> Decoded:
    candidates = _declared(data) or _western(data) or _guess(data)
    for encoding in (*candidates, "cp1252"):
        if (raw := exact(data, encoding)) is not None:
            return Decoded(raw, encoding)
    return Decoded(data.decode("latin-1"), "latin-1")


def _declared(data: bytes) -> list[str]:
    names: list[str] = []
    for match in _DECLARED.finditer(data[:_HEAD]):
        try:
            name = codecs.lookup(match[1].decode("ascii")).name.replace("-", "_")
        except LookupError:
            continue
        name = _SUPERSETS.get(name, name)
        if name in _LEGACY:
            names.append(name)
    return names


def _western(data: bytes) -> list[str]:
    raw = exact(data, "cp1252")
    if raw is None:
        return []
    used = {character for character in raw.lower() if not character.isascii()}
    return ["cp1252"] if any(used <= letters for letters in _WESTERN) else []


def _guess(data: bytes) -> list[str]:
    # Imported late: most files are UTF-8, and the guesser is slow to import.
    from charset_normalizer import from_bytes

    lines = [line for line in data.splitlines(keepends=True) if not line.isascii()]
    best = from_bytes(b"".join(lines)[:_SAMPLE], cp_isolation=_GUESSED).best()
    return [best.encoding] if best is not None else []
