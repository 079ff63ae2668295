"""Names of tools from elsewhere: MCP servers, OpenAPI documents, plugins."""

from __future__ import annotations

import hashlib
import re

LONGEST_NAME = 64
"""Maximum length of a tool name in characters; the limit of Anthropic, OpenAI and Bedrock."""
LONGEST_GROUP = 32
"""Maximum length of the name of a server or API in the names of its tools, in characters."""
HASH_CHARACTERS = 8

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


REMOTE_PREFIXES = ("mcp__", "openapi__")
READ_RESOURCE = "read_resource"
UNAVAILABLE = (
    "Error: {name} is not available now: its server is not connected, or does not offer it. Try again later, or use "
    "another tool."
)
"""Error of a call of a tool from elsewhere."""


def is_remote_name(name: str) -> bool:
    """Return True for the name of a tool of an MCP server or an OpenAPI document, or of one that reads resources."""
    return name.startswith(REMOTE_PREFIXES) or name == READ_RESOURCE


def legal_tool_name(*parts: str) -> str:
    """Return a name that all model services accept, made of parts such as `mcp`, server and tool.

    Parts are joined by `__`; characters other than `[A-Za-z0-9_-]` become `_`. A name that was altered or is longer
    than 64 characters ends with a hash of the original, so that the same parts always give the same name and different
    parts give different names. Only the last part contains `__`.
    """
    *groups, name = parts
    legal = _ILLEGAL.sub("_", "__".join((*map(legal_group, groups), name)))
    if 0 < len(legal) <= LONGEST_NAME and not any(map(_ILLEGAL.search, parts)):
        return legal
    digest = _hash("\0".join(parts))
    return f"{legal[: LONGEST_NAME - HASH_CHARACTERS - 1]}_{digest}"


def legal_group(name: str) -> str:
    """Return the name of a server or API as it is part of the names of its tools, where `__` ends it."""
    legal = _ILLEGAL.sub("_", name)
    plain = re.sub("_{2,}", "_", legal).strip("_")
    if plain == legal and len(legal) <= LONGEST_GROUP:
        return legal
    return f"{plain[: LONGEST_GROUP - HASH_CHARACTERS - 1].rstrip('_')}_{_hash(legal)}".lstrip("_")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:HASH_CHARACTERS]
