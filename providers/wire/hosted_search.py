"""Web search that a service runs itself: its calls and results, kept as signed thinking; pure.

A service requires that its searches are sent back unchanged, and rejects those of others. The same holds for thinking:
a search is a thinking block of the model, with the item of the service as its signature.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from typing import Any

from harness.messages import HOSTED_SEARCH, AssistantMessage, JsonObject, Text, Thinking
from harness.ports.provider import ToolSpec
from providers.net.http_errors import plain
from providers.wire.citations import as_object, items, objects
from providers.wire.encoding import parsed_json

SEARCH = "web_search"
"""The feature, where a service rejects it, and the name of the tool."""
REJECTED_SEARCH = r"web[_ ]?search|google_?search|server[_-]?side[_ -]?tool|tool use with function calling"
"""Pattern of errors about it, in lower case."""
MOST_LISTED = 10


def is_hosted(tool: ToolSpec, without: Iterable[str]) -> bool:
    """Return True if the service runs a tool; `without` are the features that it rejects."""
    return bool(tool.hosting) and SEARCH not in without


def declared(tools: Iterable[ToolSpec], without: Iterable[str]) -> list[ToolSpec]:
    """Return the tools that are declared as functions."""
    rejected = SEARCH in without
    return [tool for tool in tools if not tool.hosting or (rejected and tool.hosting == "preferred")]


def search_text(query: object) -> str:
    """Return the text that shows a search to users."""
    return f"{HOSTED_SEARCH}: {plain(str(query))}" if query else HOSTED_SEARCH


def results_text(results: object) -> str:
    """Return the text that shows the results of a search to users, or its error."""
    if code := as_object(results).get("error_code"):
        return f"{HOSTED_SEARCH} failed: {plain(str(code))}"
    pages = [(plain(str(each.get("title") or "")), plain(str(each.get("url") or ""))) for each in objects(results)]
    lines = [f"- {title or url} – {url}" for title, url in pages[:MOST_LISTED] if url]
    count = len(items(results))
    return "\n".join([f"{HOSTED_SEARCH}: {count} result{'s' * (count != 1)}", *lines])


def as_signature(item: Mapping[str, Any]) -> str:
    """Return an item of a service as the signature of a thinking block."""
    return json.dumps(item, ensure_ascii=False, separators=(",", ":"))


def item_in(block: Thinking | Text, types: Set[str]) -> JsonObject | None:
    """Return the item of one of these types in a signature; None for any other signature."""
    if not (block.signature or "").startswith("{"):
        return None
    item = parsed_json(block.signature or "")
    return item if isinstance(item, dict) and item.get("type") in types else None


def items_of(message: AssistantMessage, types: Set[str]) -> list[JsonObject]:
    """Return the items of these types in a reply."""
    return [item for block in message.content if isinstance(block, Thinking) and (item := item_in(block, types))]


def answered(found: Iterable[tuple[str, bool]]) -> set[str]:
    """Return the ids of searches with both parts, the call before the result.

    Args:
        found: For each part, in order: the id of the search, and True for the call, False for the result.
    """
    calls: set[str] = set()
    complete: set[str] = set()
    for search_id, is_call in found:
        if is_call:
            calls.add(search_id)
        elif search_id in calls:
            complete.add(search_id)
    return complete
