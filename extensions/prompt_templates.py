"""Prompt templates: the text of a skill or command, with places for arguments and for the output of shell commands.

Source: https://code.claude.com/docs/en/skills for `$ARGUMENTS` and ``!`command` ``; the custom commands of Gemini CLI
for `{{args}}` and `!{command}`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from extensions.front_matter import Document
from harness.messages import JsonValue

MAX_BYTES = 256 * 1024
"""Maximum size of a file with a template, in bytes."""
_SHELL = re.compile(r"(?<!\S)!`(?P<line>[^`\n]+)`|^```![ \t]*\n(?P<block>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_PLACEHOLDER = re.compile(
    r"\$ARGUMENTS\[(?P<index>\d{1,2})\]|\$(?P<all>ARGUMENTS)\b|\$(?P<number>\d)(?![.,]?\d)"
    r"|\$\{(?P<variable>[A-Z_]+)\}|\$(?P<name>[A-Za-z_]\w*)|(?P<braces>\{\{args\}\})"
)


class ShellPart(Struct, frozen=True):
    """A shell command whose output takes its place."""

    command: str
    """The command line; of a template, with places for arguments."""


Part: TypeAlias = str | ShellPart


class FilledTemplate(Struct, frozen=True):
    """A template with its arguments."""

    parts: tuple[Part, ...]
    """Texts, and shell commands whose output belongs between them."""

    @property
    def commands(self) -> tuple[str, ...]:
        """The shell commands, in the order in which they run."""
        return tuple(part.command for part in self.parts if isinstance(part, ShellPart))

    def text(self, outputs: Sequence[str]) -> str:
        """Return the text, with one output for each of `commands`."""
        given = iter(outputs)
        return "".join(next(given) if isinstance(part, ShellPart) else part for part in self.parts).strip()

    @property
    def unexecuted(self) -> str:
        """The text with the commands themselves in place of their output."""
        return self.text([f"!`{command}`" for command in self.commands])


class PromptTemplate(Struct, frozen=True):
    """Text and metadata of a skill or command."""

    parts: tuple[Part, ...]
    """Texts and shell commands, with places for arguments."""
    suffix: str = ""
    """Text at the end, without places for arguments."""
    has_braces: bool = False
    """True if `{{args}}` is a place for the arguments, which are quoted in commands."""
    argument_names: tuple[str, ...] = ()
    """Names of the arguments, in order: `$name` is the place of one."""
    allowed_tools: tuple[str, ...] = ()
    """Permission rules that allow calls in the run that uses the template, as written."""
    denied_tools: tuple[str, ...] = ()
    """Permission rules that deny calls in that run."""
    model: str = ""
    """Model for that run, as written; empty for the one that is set."""
    hooks: JsonValue = None
    """Hooks of that run, as written: groups by event."""

    @property
    def needs_trust(self) -> bool:
        """True if the template runs commands or allows calls."""
        return bool(self.allowed_tools or self.hooks) or any(isinstance(part, ShellPart) for part in self.parts)

    def fill(self, arguments: str, variables: Mapping[str, str] = {}) -> FilledTemplate:
        """Return the template with its arguments, which are appended if it has no place for them.

        `$ARGUMENTS[0]` is the first argument. `$1` is the first one, too, unless the template has a `$0`. A place
        without an argument is kept in texts, where it may be a price, and is empty in commands.

        Args:
            arguments: The arguments, as typed.
            variables: Values of `${NAME}` by name.
        """
        filling = _Filling(self, arguments, variables)
        parts = [filling.part(part) for part in self.parts]
        if arguments and not filling.has_place:
            parts.append(f"\n\nArguments: {arguments}")
        return FilledTemplate((*parts, self.suffix))


class _Filling:
    def __init__(self, template: PromptTemplate, arguments: str, variables: Mapping[str, str]) -> None:
        self.has_place = False
        self._template = template
        self._arguments = arguments
        self._variables = variables
        self._values = _split_arguments(arguments)
        texts = (part.command if isinstance(part, ShellPart) else part for part in template.parts)
        self._first = 0 if any("$0" in text for text in texts) else 1

    def part(self, part: Part) -> Part:
        if isinstance(part, ShellPart):
            return ShellPart(_PLACEHOLDER.sub(lambda place: self._value(place, is_shell=True), part.command))
        return _PLACEHOLDER.sub(lambda place: self._value(place, is_shell=False), part)

    def _value(self, place: re.Match[str], *, is_shell: bool) -> str:
        match place.lastgroup:
            case "all":
                self.has_place = True
                return self._arguments
            case "braces" if self._template.has_braces:
                self.has_place = True
                return shlex.quote(self._arguments) if is_shell and self._arguments else self._arguments
            case "index":
                return self._argument(int(place["index"]), place[0], is_shell=is_shell)
            case "number":
                return self._argument(int(place["number"]) - self._first, place[0], is_shell=is_shell)
            case "name" if place["name"] in self._template.argument_names:
                index = self._template.argument_names.index(place["name"])
                return self._argument(index, place[0], is_shell=is_shell)
            case "variable":
                return self._variables.get(place["variable"], place[0])
            case _:
                return place[0]

    def _argument(self, index: int, place: str, *, is_shell: bool) -> str:
        if not 0 <= index < len(self._values):
            return "" if is_shell else place
        self.has_place = True
        return self._values[index]


def with_variables(text: str, variables: Mapping[str, str]) -> str:
    """Return a text in which `${NAME}` is replaced by the value of a known variable."""
    return re.sub(r"\$\{([A-Z_]+)\}", lambda found: variables.get(found[1], found[0]), text)


def template_of(document: Document, *, has_braces: bool = False, suffix: str = "") -> PromptTemplate:
    """Return the template in a file.

    Args:
        document: The file.
        has_braces: True for the places of Gemini CLI: `{{args}}`, `!{command}` and `@{path}`.
        suffix: Text to append.
    """
    body = document.body.strip()
    parts = [shell for part in (_braced(body) if has_braces else (body,)) for shell in _shell_parts(part)]
    return PromptTemplate(
        tuple(parts),
        suffix,
        has_braces,
        _words(document, "arguments"),
        _words(document, "allowed-tools"),
        _words(document, "disallowed-tools"),
        document.text("model"),
        document.metadata.get("hooks"),
    )


def _shell_parts(part: Part) -> Iterator[Part]:
    if isinstance(part, ShellPart):
        yield part
        return
    end = 0
    for found in _SHELL.finditer(part):
        yield part[end : found.start()]
        yield ShellPart((found["line"] or found["block"] or "").strip())
        end = found.end()
    yield part[end:]


def _braced(text: str) -> Iterator[Part]:
    """Split a text at `!{command}`, and write `@{path}` as a mention of the file."""
    end = 0
    for found in re.finditer(r"[!@]\{", text):
        close = _closing_brace(text, found.end())
        if found.start() < end or close < 0:
            continue
        yield text[end : found.start()]
        inner = text[found.end() : close].strip()
        yield ShellPart(inner) if found[0] == "!{" else f'@"{inner}"'
        end = close + 1
    yield text[end:]


def _closing_brace(text: str, start: int) -> int:
    """Return the index of the brace that closes the one before `start`; -1 if none does."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[start:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return start + brace.start()
    return -1


def _words(document: Document, key: str) -> tuple[str, ...]:
    """Return a list, or a text of values separated by commas or blanks outside of parentheses."""
    value = document.metadata.get(key)
    if isinstance(value, list):
        return document.words(key)
    return tuple(found.strip() for found in re.findall(r"(?:\([^)]*\)|[^\s,(])+", document.text(key)))


def _split_arguments(text: str) -> list[str]:
    """Return the single arguments; quotes keep blanks, as in a shell."""
    try:
        return shlex.split(text)
    except ValueError:
        # An apostrophe is no opening quote.
        return text.split()
