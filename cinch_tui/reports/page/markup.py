"""Text, Markdown, code and views of tool results as HTML; everything is escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from harness.messages import Image, JsonObject, JsonValue
from harness.terminal_text import strip_escapes
from harness.views import DiffView, ImageView, ListingView, TerminalView, TextView, TodoView, View
from harness.workspace.unified_diff import unified

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict
    from pygments.lexer import Lexer

_MOST_HIGHLIGHTED = 100_000
"""Maximum length of highlighted code in characters."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_DATA = re.compile(r"[A-Za-z0-9+/=\s]*")
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_DIFF_CLASSES = {"+": "add", "-": "del", "@": "hunk"}
_TODO_MARKS = {"pending": "☐", "in_progress": "▶", "completed": "☑"}


def text(value: str) -> str:
    """Return text for HTML, in elements and quoted attributes: no escape sequences, controls visible, escaped."""
    return escape(_clean(value))


def plain(value: str, kind: str = "plain") -> str:
    """Return text with its line breaks and blanks."""
    return f'<pre class="{kind}">{text(value)}</pre>\n' if value else ""


def markdown(value: str) -> str:
    """Return rendered Markdown; HTML in it is text, and images that are not part of it become links."""
    return f'<div class="md">{_parser().render(_clean(value))}</div>\n'


def code(value: str, language: str) -> str:
    """Return highlighted code, without highlighting if the language is unknown or the code is long."""
    return f'<pre class="code">{_highlighted(value, language)}</pre>\n'


def json_code(value: JsonValue) -> str:
    """Return a JSON value as highlighted code."""
    return code(json.dumps(value, ensure_ascii=False, indent=2), "json")


def image(each: Image) -> str:
    """Return an embedded image; a note if its type or data cannot be embedded safely."""
    if each.media_type in _IMAGE_TYPES and _DATA.fullmatch(each.data):
        return f'<img alt="image" src="data:{each.media_type};base64,{each.data}">\n'
    return f'<p class="note">[image: {text(each.media_type)}]</p>\n'


def view_of(view: View, *, highlights_files: bool) -> str:
    """Return the display of a tool result; `highlights_files` colours the code of files."""
    match view:
        case TextView(value, language):
            return markdown(value) if language == "markdown" else code(value, language if highlights_files else "")
        case DiffView():
            changes = diff(unified(view)) or '<p class="note">no difference</p>\n'
            notes = "".join(map(note_of, view.notes.splitlines()))
            return changes + notes + (plain(view.problems, "output") if view.problems else "")
        case TerminalView(command, output, exit_code, note):
            ending = note or (f"exit code {exit_code}" if exit_code else "")
            return code(f"$ {command}", "console") + plain(output, "output") + note_of(ending)
        case ListingView(title, entries, total):
            rest = f"\n… {total - len(entries)} more" if total > len(entries) else ""
            return note_of(title) + plain("\n".join(entries) + rest, "output")
        case TodoView(items):
            rows = (f"<li>{_TODO_MARKS[item.status]} {text(item.content)}</li>" for item in items)
            return f'<ul class="todo">{"".join(rows)}</ul>\n'
        case ImageView(path):
            return note_of(path)


def diff(value: str) -> str:
    """Return a unified diff, or a patch, with coloured lines."""
    if not value:
        return ""
    lines = (_diff_line(line) for line in value.removesuffix("\n").split("\n"))
    return f'<pre class="diff">{"".join(lines)}</pre>\n'


def note_of(value: str) -> str:
    return f'<p class="note">{text(value)}</p>\n' if value else ""


def argument_diff(arguments: JsonObject) -> str:
    """Return the change that the arguments of an edit describe, for tools of other programs; empty for others."""
    match arguments:
        case {"old_string": str(old), "new_string": str(new)}:
            path = arguments.get("file_path") or arguments.get("path") or ""
            return diff(unified(DiffView(str(path), old, new)))
        case {"input": str(patch)} if patch.startswith("*** Begin Patch"):
            return diff(patch)
        case _:
            return ""


def token_styles() -> str:
    """Return the CSS of highlighted code for a light and a dark page."""
    from pygments.styles import get_style_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.token import STANDARD_TYPES

    light, dark = get_style_by_name("default"), get_style_by_name("github-dark")
    rules: list[str] = []
    for kind, name in STANDARD_TYPES.items():
        colours = [_colour(style, kind) for style in (light, dark)]
        if name and any(colours):
            pair = ", ".join(f"#{colour}" if colour else "inherit" for colour in colours)
            rules.append(f".h-{name} {{ color: light-dark({pair}) }}" if all(colours) else "")
    return "\n".join(filter(None, rules))


def _clean(value: str) -> str:
    return _SURROGATES.sub("\ufffd", strip_escapes(value))


def _colour(style: Any, kind: Any) -> str:
    found = style.style_for_token(kind)["color"]
    return str(found) if found else ""


def _diff_line(line: str) -> str:
    kind = "" if line.startswith(("+++", "---")) else _DIFF_CLASSES.get(line[:1], "")
    return f'<span class="{kind}">{text(line)}</span>\n' if kind else f"{text(line)}\n"


def _highlighted(value: str, language: str) -> str:
    value = _clean(value)
    lexer = _lexer(language) if len(value) <= _MOST_HIGHLIGHTED else None
    if lexer is None:
        return escape(value)
    from pygments import highlight

    return highlight(value, lexer, _formatter()).removesuffix("\n")


@cache
def _formatter() -> Any:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True, classprefix="h-")  # pyright: ignore[reportUnknownVariableType]


@cache
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import find_lexer_class_by_name
    from pygments.util import ClassNotFound

    try:
        return find_lexer_class_by_name(language)(stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    options: dict[str, Any] = {"html": False, "linkify": False, "highlight": _fenced}
    made = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    made.add_render_rule("image", _image_rule)
    made.add_render_rule("link_open", _link_rule)
    made.add_render_rule("th_open", _cell_rule)
    made.add_render_rule("td_open", _cell_rule)
    return made


def _fenced(value: str, language: str, attributes: str) -> str:
    del attributes
    shown = _highlighted(value.removesuffix("\n"), language)
    return f'<pre class="code">{shown}</pre>'


def _image_rule(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    """Return an image of a data URL, or a link: the page loads nothing from the network."""
    del env
    token = tokens[index]
    source, label = str(token.attrGet("src") or ""), text(token.content) or "image"
    if source.startswith("data:image/"):
        return f'<img alt="{label}" src="{escape(source)}">'
    if index and tokens[index - 1].type == "link_open":
        return label
    return f'<a href="{escape(source)}" rel="noopener noreferrer nofollow" target="_blank">[{label}]</a>'


def _link_rule(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    del env
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    tokens[index].attrSet("target", "_blank")
    return renderer.renderToken(tokens, index, options, {})


def _cell_rule(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    """Return a table cell aligned by a class: the page's policy forbids inline styles."""
    del env
    alignment = str(tokens[index].attrs.pop("style", "")).removeprefix("text-align:")
    if alignment:
        tokens[index].attrSet("class", alignment)
    return renderer.renderToken(tokens, index, options, {})
