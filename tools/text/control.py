"""Text made harmless for a terminal: what would move the cursor or hide a character is removed or made visible."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)"  # device strings
    r"|\x1b[ -/]+[0-~]|\x1b[0-OQ-WYZ\\`-~]"
)
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# Bidirectional overrides let text read otherwise than it runs.
_VISIBLE = (
    {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
    | {0x7F: "␡"}
    | dict.fromkeys([*range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")
)


def harmless(text: str) -> str:
    """`text` without escape sequences; other control characters but line feed and tab become visible signs."""
    if _UNSAFE.search(text) is None:
        return text
    return _ESCAPE.sub("", text).replace("\r\n", "\n").translate(_VISIBLE)
