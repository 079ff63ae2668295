"""Names of tools from elsewhere: MCP servers, OpenAPI documents, plugins."""

from __future__ import annotations

import hashlib
import re

LONGEST_NAME = 64
"""Maximum length of a tool name in characters; the limit of Anthropic, OpenAI and Bedrock."""
HASH_CHARACTERS = 8


def legal_tool_name(*parts: str) -> str:
    """Return a name that all model services accept, made of parts such as `mcp`, server and tool.

    Parts are joined by `__`; characters other than `[A-Za-z0-9_-]` become `_`. A name that was altered or is longer
    than 64 characters ends with a hash of the original, so that the same parts always give the same name and different
    parts give different names.
    """
    original = "__".join(parts)
    legal = re.sub(r"[^A-Za-z0-9_-]", "_", original)
    if legal == original and 0 < len(legal) <= LONGEST_NAME:
        return legal
    digest = hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:HASH_CHARACTERS]
    return f"{legal[: LONGEST_NAME - HASH_CHARACTERS - 1]}_{digest}"
