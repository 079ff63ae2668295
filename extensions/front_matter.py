"""Markdown files with metadata: a block of YAML between two lines `---`, then text."""

from __future__ import annotations

import re

from msgspec import Struct

from harness.messages import JsonValue
from harness.terminal_text import strip_escapes

_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING_LINE = re.compile(r"---[ \t]*(?:\r?\n|\Z)")
_LINE = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*?)[ \t]*")
# Values that YAML reads as something else than the text itself, except aliases: `*.py` is a pattern.
_STRUCTURED = frozenset("[{\"'&!|>%@`#")
# A list without what YAML could read as something else than words: quotes, nesting, numbers, yes and no.
_SIMPLE_LIST = re.compile(
    r"\[(?!.*\b(?i:true|false|null|yes|no|on|off|y|n)\b)[A-Za-z][\w .|/-]*(?:, *[A-Za-z][\w .|/-]*)*\]"
)
_CLOSING = {"[": "]", "{": "}", '"': '"', "'": "'"}
_QUOTED = re.compile(r"\"([^\"\\]+)\"|'([^']+)'")
_INDENTED = re.compile(r"( +)\S")
_WORDS: dict[str, JsonValue] = {"true": True, "false": False, "null": None, "~": None}
_LONGEST_WORD = max(map(len, _WORDS))

# fmt: off
KEYS = frozenset((
    "agent", "allowed-tools", "alwaysApply", "argument-hint", "arguments", "background", "color", "compatibility",
    "context", "description", "disable-model-invocation", "disallowed-tools", "disallowedTools", "effort", "globs",
    "hooks", "initialPrompt", "isolation", "keep-coding-instructions", "license", "maxTurns", "mcpServers", "memory",
    "metadata", "model", "name", "paths", "permissionMode", "skills", "tools", "user-invocable", "version",
))
# fmt: on
"""Keys that files of Claude Code and cinch have."""


class Document(Struct, frozen=True):
    """A text with its metadata."""

    metadata: dict[str, JsonValue]
    """Values by key, as written: `allowed-tools`. Empty without a block."""
    body: str
    """The text after the block."""
    problem: str = ""
    """Reason that the block is no valid YAML; its simple lines are used then."""

    def text(self, key: str) -> str:
        """Return a value as text, empty if it is missing or no scalar."""
        value = self.metadata.get(key)
        return "" if value is None or isinstance(value, dict | list) else str(value).strip()

    def words(self, key: str) -> tuple[str, ...]:
        """Return a list, or a text of values separated by commas, as in `tools: Read, Bash(git log:*)`."""
        value = self.metadata.get(key)
        if isinstance(value, list):
            return tuple(str(each).strip() for each in value if not isinstance(each, dict | list))
        return tuple(filter(None, (each.strip() for each in _split(self.text(key)))))

    @property
    def hint(self) -> str:
        """The hint about arguments, on one line; `[file]` is a list in YAML."""
        value = self.metadata.get("argument-hint")
        if value is None:
            return ""
        if isinstance(value, list):
            return " ".join(f"[{each}]" for each in self.words("argument-hint"))
        return " ".join(strip_escapes(self.text("argument-hint")).split())

    def flag(self, key: str, *, default: bool) -> bool:
        """Return a boolean; `default` if it is missing or something else."""
        value = self.metadata.get(key)
        return value if isinstance(value, bool) else default


def parse_document(text: str) -> Document:
    """Split a text into metadata and body. Never raises: people write metadata that is almost YAML.

    A description with a colon is the usual mistake; such lines are read as `key: text`.
    """
    block, body = _divided(text)
    simple = _simple_lines(block)
    if simple is not None:
        return Document(simple, body)
    # Imported here because most files have simple metadata.
    from tools.yaml_reader import YamlError, parse_yaml

    try:
        loaded = parse_yaml(block)
    except YamlError as error:
        values, is_complete = _recovered(block)
        return Document(values, body, "" if is_complete else f"the metadata is not valid YAML: {error}")
    if isinstance(loaded, dict):
        return Document(loaded, body)
    return Document({}, body, "the metadata is not a list of keys and values" if loaded is not None else "")


def _divided(text: str) -> tuple[str, str]:
    """Return the metadata, which is empty if there is none, and the text after it."""
    opening = _OPENING.match(text)
    if opening is None:
        return "", text
    start = opening.end()
    at = start - 1
    # Several times faster than one expression for all of it.
    while (at := text.find("\n---", at)) >= 0:
        closing = _CLOSING_LINE.match(text, at + 1)
        if closing is not None:
            return text[start : at + 1], text[closing.end() :]
        at += 1
    return "", text


def _simple_lines(block: str) -> dict[str, JsonValue] | None:
    """Return the values of a block of simple texts and lists; None if it needs YAML.

    Some fifty times faster than YAML, for folders with hundreds of files.
    """
    values: dict[str, JsonValue] = {}
    lines = block.splitlines()
    start = 0
    while start < len(lines):
        line = lines[start].rstrip(" \t")
        start += 1
        if not line or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            return None
        end = start
        while end < len(lines) and lines[end][:1] in ("", " ", "-"):
            end += 1
        value = _simple_value(found[2] or "", "\n".join(lines[start:end]).rstrip() if end > start else "")
        if value == "":
            return None
        values[found[1]], start = value, end
    return values


def _simple_value(text: str, below: str) -> JsonValue:
    """Return the value of a text, with the lines below it; empty if it needs YAML."""
    if below:
        return _simple_items(below) or _simple_table(below) if not text else _simple_block(text, below)
    if _is_plain(text):
        return _WORDS.get(text.lower(), text) if len(text) <= _LONGEST_WORD else text
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1] or quoted[2]
    if not _SIMPLE_LIST.fullmatch(text):
        return ""
    return [each.strip() for each in text[1:-1].split(",")]


def _is_plain(text: str) -> bool:
    return bool(text) and text[0] not in _STRUCTURED and " #" not in text and "\t#" not in text


def _simple_items(text: str) -> JsonValue:
    """Return the items of a list, one a line; empty if it needs YAML."""
    lines = text.splitlines()
    indent = lines[0].partition("-")[0]
    items = [line.removeprefix(f"{indent}- ").rstrip() for line in lines]
    is_list = all(line.startswith(f"{indent}- ") for line in lines)
    values = [_simple_item(each) for each in items] if is_list and not indent.strip() else []
    return values if "" not in values and values else ""


def _simple_table(text: str) -> JsonValue:
    """Return a table of texts, such as `metadata` in the specification of skills; empty if it needs YAML."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    values: dict[str, JsonValue] = {}
    for line in text.splitlines():
        found = _LINE.fullmatch(line.removeprefix(indent).rstrip()) if indent and line.startswith(indent) else None
        value = _simple_item(found[2]) if found and found[2] else ""
        if found is None or value == "":
            return ""
        values[found[1]] = value
    return values


def _simple_item(text: str) -> JsonValue:
    is_text = _is_plain(text) and not re.match(r"[-? ]|.*:(?:\s|$)", text)
    return _simple_value(text, "") if is_text or _QUOTED.fullmatch(text) else ""


def _simple_block(style: str, text: str) -> JsonValue:
    """Return a text of several lines, indented equally; empty if it needs YAML."""
    found = _INDENTED.match(text)
    joined = {">": " ", "|": "\n"}.get(style[:1])
    if found is None or joined is None or style[1:] not in ("", "-"):
        return ""
    indent = found[1]
    lines = text.splitlines()
    if any(not line.startswith(indent) or line[len(indent) : len(indent) + 1] in ("", " ", "\t") for line in lines):
        return ""
    return joined.join(line[len(indent) :] for line in lines) + ("" if style[1:] else "\n")


def _recovered(block: str) -> tuple[dict[str, JsonValue], bool]:
    """Return the values of a block that is no YAML as a whole, each read on its own; False if one is incomplete."""
    from tools.yaml_reader import YamlError, parse_yaml

    values: dict[str, JsonValue] = {}
    is_complete = True
    for key, text in _entries(block):
        try:
            loaded = parse_yaml(f"{key}: {text}")
        except YamlError:
            loaded = None
        if isinstance(loaded, dict) and loaded.keys() == {key}:
            values[key] = loaded[key]
        else:
            values[key] = _lenient_value(text)
            is_complete = is_complete and _is_text(text)
    return values, is_complete


def _entries(block: str) -> list[tuple[str, str]]:
    """Return keys and texts, of several lines if these follow.

    A line that is neither a key nor indented is part of a text, such as an example in a description. In a block with
    such lines, unknown keys belong to the text, too: `user: Please review this`.
    """
    lines = block.splitlines()
    has_text = any(line[:1] not in ("", " ", "\t", "-", "#") and _LINE.fullmatch(line) is None for line in lines)
    entries: list[tuple[str, str]] = []
    for line in lines:
        found = _LINE.fullmatch(line.rstrip(" \t"))
        if found is not None and (found[1] in KEYS or not has_text):
            entries.append((found[1], found[2] or ""))
        elif entries:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]}\n{line}")
    return entries


def _lenient_value(text: str) -> JsonValue:
    """Return a text that is no YAML, or the items of a list."""
    text = text.rstrip()
    if text.startswith("[") and text.endswith("]") and not re.search(r"[\[\]]", text[1:-1]):
        return [_unquoted(each.strip()) for each in _split(text[1:-1])]
    if text.startswith("\n"):
        return [_unquoted(item[1]) for line in text.splitlines() if (item := _ITEM.fullmatch(line))] or None
    return _scalar(text)


def _is_text(text: str) -> bool:
    """Return True for a text that only lacks quotes; False if it begins a structure and does not end it."""
    first = text[:1]
    return first not in ("", "\n", "|", ">") and _CLOSING.get(first, "") in text[1:]


def _scalar(text: str) -> JsonValue:
    plain = _unquoted(text)
    return plain if plain != text else _WORDS.get(text.lower(), text)


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if is_quoted else text


def _split(text: str) -> list[str]:
    """Split a text at commas outside of parentheses and braces."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1, "{": 1, "}": -1}.get(character, 0)
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
