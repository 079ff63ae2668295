"""Lists of a server as they arrive: malformed entries are dropped with a problem, the others keep known fields.

The SDK rejects a whole list if one entry is malformed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

Report: TypeAlias = Callable[[str], None]
Entry: TypeAlias = dict[str, Any]

MAX_ENTRIES = 2_000
"""Maximum number of entries of one page."""
MAX_BLOCKS = 200
"""Maximum number of content blocks of a result, and of messages of a prompt."""
_TEXTS = ("title", "description", "mimeType")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def as_object(value: object) -> Entry:
    """Return a JSON object, or an empty one for any other value."""
    # JSON has no other keys than strings.
    return cast("Entry", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a JSON list, or an empty one for any other value."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def limit_content(result: Entry) -> None:
    """Drop content blocks and messages beyond `MAX_BLOCKS`, which the SDK would validate in the event loop.

    One more is kept, which shows that others are missing.
    """
    for key in ("content", "contents", "messages"):
        if isinstance(result.get(key), list):
            result[key] = as_list(result[key])[: MAX_BLOCKS + 1]


def clean_lists(result: Entry, report: Report) -> None:
    """Drop malformed entries from a result that contains a list of tools, resources or prompts.

    Args:
        result: Result of any request; changed in place.
        report: Receives a problem for each dropped entry.
    """
    if "content" in result or "contents" in result:
        return
    for key, clean in _CLEANERS.items():
        if isinstance(result.get(key), list):
            result[key] = list(_cleaned(as_list(result[key]), clean, key, report))


def _cleaned(entries: list[Any], clean: Callable[[Entry], Entry | str], key: str, report: Report) -> Iterator[Entry]:
    if len(entries) > MAX_ENTRIES:
        report(f"{len(entries) - MAX_ENTRIES:,} {key} were skipped: a page may have {MAX_ENTRIES:,}")
    for each in map(as_object, entries[:MAX_ENTRIES]):
        found = clean(each)
        if isinstance(found, str):
            report(f"{str(each.get('name') or 'an entry')[:80]} in the list of {key} was skipped: {found}")
        else:
            yield found


def _tool(entry: Entry) -> Entry | str:
    schema = as_object(entry.get("inputSchema"))
    if not _is_name(entry.get("name")):
        return "it has no name"
    if not isinstance(entry.get("inputSchema"), dict):
        return "its input schema is not an object"
    if schema.get("type", "object") != "object":
        return "its input schema is not of type object"
    properties, required = as_object(schema.get("properties")), as_list(schema.get("required"))
    if properties != schema.get("properties", {}) or not all(
        isinstance(each, dict | bool) for each in properties.values()
    ):
        return "the properties of its input schema are not schemas"
    if required != schema.get("required", []) or not all(isinstance(each, str) for each in required):
        return "`required` in its input schema is not a list of names"
    # Without the output schema: results are not checked, since references in it could be fetched.
    cleaned = _kept(entry, "name") | {"inputSchema": {"type": "object", **_objects(schema)}}
    hints = as_object(entry.get("annotations"))
    known = {name: hints[name] for name in _HINTS if isinstance(hints.get(name), bool)}
    return cleaned | {"annotations": known | _kept(hints, "title")} if hints else cleaned


def _objects(schema: Entry) -> Entry:
    """Return a schema with `true` as a property replaced by the equivalent object, which the SDK requires."""
    if not (properties := as_object(schema.get("properties"))):
        return schema
    return schema | {
        "properties": {
            name: each if isinstance(each, dict) else {} if each else {"not": {}} for name, each in properties.items()
        }
    }


def _resource(entry: Entry) -> Entry | str:
    if not _is_name(entry.get("uri")):
        return "it has no URI"
    size = entry.get("size")
    cleaned = {"name": entry["uri"]} | _kept(entry, "uri", "name")
    return cleaned | ({"size": size} if isinstance(size, int) and not isinstance(size, bool) else {})


def _template(entry: Entry) -> Entry | str:
    if not _is_name(entry.get("uriTemplate")):
        return "it has no URI template"
    return {"name": entry["uriTemplate"]} | _kept(entry, "uriTemplate", "name")


def _prompt(entry: Entry) -> Entry | str:
    if not _is_name(entry.get("name")):
        return "it has no name"
    named = [as_object(each) for each in as_list(entry.get("arguments"))]
    return _kept(entry, "name") | {"arguments": [_argument(each) for each in named if _is_name(each.get("name"))]}


def _argument(entry: Entry) -> Entry:
    return _kept(entry, "name") | {"required": entry.get("required") is True}


def _kept(entry: Entry, *names: str) -> Entry:
    return {name: value for name in (*names, *_TEXTS) if isinstance(value := entry.get(name), str) and value}


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)


_CLEANERS: dict[str, Callable[[Entry], Entry | str]] = {
    "tools": _tool,
    "resources": _resource,
    "resourceTemplates": _template,
    "prompts": _prompt,
}
