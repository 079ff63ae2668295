"""Markdown rendering to lines, one top-level element at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.style import Style

from cinch_tui.rendering.safe_text import expand_tabs
from cinch_tui.transcript.code import code_runs
from cinch_tui.transcript.lines import BLANK, Line, Run, chop_runs, indented, plain_line, wrap_runs
from cinch_tui.transcript.links import linked, safe_url, true_destination
from cinch_tui.transcript.markdown_splitter import Piece, References, language_of, parser, stretch
from cinch_tui.transcript.tables import table_lines

if TYPE_CHECKING:
    from markdown_it.token import Token

    from cinch_tui.transcript.styles import BlockStyles

BULLETS = ("•", "◦", "▪")
TASKS = {"[ ] ": " [ ] ", "[x] ": " [x] ", "[X] ": " [x] "}
# Minimum text width next to a list marker; narrower items omit the marker.
LEAST = 6


class Page(Struct, frozen=True):
    """Drawing context of elements: styles, width and list depth."""

    look: BlockStyles
    width: int
    depth: int = 0

    def narrowed(self, cells: int) -> Page:
        return Page(self.look, self.width - cells, self.depth)

    def nested(self, cells: int) -> Page:
        return Page(self.look, self.width - cells, self.depth + 1)


def piece_lines(piece: Piece, references: References, page: Page) -> list[Line]:
    """Return the lines of one piece, without the blank line before it."""
    if piece.language is not None:
        return code_lines(piece.source, piece.language, page)
    tokens = parser().parse(piece.source, {"references": dict(references)})
    return element_lines(tokens, page, piece.item)


def element_lines(tokens: Sequence[Token], page: Page, item: int | None = None) -> list[Line]:
    """Return the lines of top-level elements, separated by blank lines; `item` continues a numbered list."""
    lines: list[Line] = []
    for index, element in enumerate(_elements(tokens)):
        if index:
            lines.append(BLANK)
        lines.extend(_draw(element, page, item if index == 0 else None))
    return lines


def _elements(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    start, depth = 0, 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield tokens[start : index + 1]
            start = index + 1


def _draw(element: Sequence[Token], page: Page, item: int | None) -> list[Line]:
    first = element[0]
    match first.type:
        case "heading_open":
            return _heading(element, page)
        case "fence" | "code_block":
            return code_lines(first.content.removesuffix("\n"), language_of(first.info), page)
        case "bullet_list_open" | "ordered_list_open":
            return _list(element, page, item)
        case "blockquote_open":
            return _quotation(element[1:-1], page)
        case "table_open":
            rows = [[inline_runs(cell, page.look) for cell in row] for row in _table_rows(element)]
            return table_lines(rows, [_alignment(token) for token in element if token.type == "th_open"], page)
        case "hr":
            return [plain_line("─" * page.width, page.look.on_base("rule"))]
        case "html_block":
            return wrap_runs([(expand_tabs(first.content.rstrip("\n")), page.look.on_base("muted"))], page.width)
        case _:
            return wrap_runs([run for token in element for run in inline_runs(token, page.look)], page.width)


def _heading(element: Sequence[Token], page: Page) -> list[Line]:
    style = page.look.on_base("heading")
    runs = inline_runs(element[1], page.look, style + Style(underline=True) if element[0].tag == "h1" else style)
    return wrap_runs(runs, page.width)


def _quotation(content: Sequence[Token], page: Page) -> list[Line]:
    if page.width - 2 < LEAST:
        return element_lines(content, page)
    mark = ("▌ ", page.look.on_base("quote-mark"))
    return indented(element_lines(content, page.narrowed(2)) or [BLANK], mark, mark)


def code_lines(code: str, language: str, page: Page) -> list[Line]:
    """Return a highlighted code block that fills the width."""
    fill = page.look.on_base("code-block")
    edge = (" ", fill)
    rows: list[Line] = []
    left = code.split("\n")
    while left:
        # Highlighted in chunks, so that a streamed block looks the same as a complete one.
        length = stretch(left) or len(left)
        rows.extend(chop_runs(code_runs("\n".join(left[:length]), language, page.look), page.width - 2))
        left = left[length:]
    return [Line(row.segments, row.gutter, row.end, fill) for row in indented(rows, edge, edge)]


def _list(element: Sequence[Token], page: Page, item: int | None) -> list[Line]:
    ordered = element[0].type == "ordered_list_open"
    number = item if item is not None else int(element[0].attrs.get("start", 1))
    lines: list[Line] = []
    for offset, content in enumerate(_elements(element[1:-1])):
        mark = f"{number + offset:>2}. " if ordered else f" {BULLETS[page.depth % len(BULLETS)]} "
        mark = TASKS.get(_taken_task(content), mark)
        style = page.look.on_base("done" if "x" in mark else "bullet")
        if page.width - len(mark) < LEAST:
            lines.extend(_item_lines(content[1:-1], page.nested(0)))
            continue
        body = _item_lines(content[1:-1], page.nested(len(mark)))
        lines.extend(indented(body or [BLANK], (mark, style), (" " * len(mark), style)))
    return lines


def _taken_task(item: Sequence[Token]) -> str:
    """Remove and return the checkbox of a list item; empty if there is none."""
    # An item starts with its own token and that of its first paragraph.
    children = item[2].children if len(item) > 2 and item[2].type == "inline" else None
    words = children[0] if children else None
    if words is None or words.content[:4] not in TASKS:
        return ""
    task, words.content = words.content[:4], words.content[4:]
    return task


def _item_lines(tokens: Sequence[Token], page: Page) -> list[Line]:
    """Return the elements of a list item without blank lines, except between paragraphs."""
    lines: list[Line] = []
    before = ""
    for element in _elements(tokens):
        kind = element[0].type
        if before and not kind.endswith("list_open") and not before.endswith("list_open"):
            lines.append(BLANK)
        lines.extend(_draw(element, page, None))
        before = kind
    return lines


def _table_rows(element: Sequence[Token]) -> Iterator[list[Token]]:
    row: list[Token] = []
    for token in element:
        if token.type == "inline":
            row.append(token)
        elif token.type == "tr_close":
            yield row
            row = []


def _alignment(token: Token) -> str:
    return str(token.attrs.get("style", "")).removeprefix("text-align:")


def inline_runs(token: Token, look: BlockStyles, style: Style | None = None) -> list[Run]:
    """Return the styled text of an element."""
    stack = [look.base if style is None else style]
    runs: list[Run] = []
    label = 0
    for child in token.children or ():
        if child.nesting > 0:
            label = len(runs) if child.type == "link_open" else label
            stack.append(stack[-1] + _opened(child, look))
        elif child.nesting < 0:
            ended = stack.pop()
            if child.type == "link_close" and ended.link:
                runs.extend(_beside(runs[label:], ended.link, look))
        else:
            text, leaf = _leaf(child, stack[-1], look)
            runs.append((expand_tabs(text), leaf))
    return linked(runs, look.ways.root, look["link"])


def _beside(label: Sequence[Run], url: str, look: BlockStyles) -> Iterator[Run]:
    """Yield the target of a link after a label that names another URL."""
    if destination := true_destination("".join(text for text, _ in label), url):
        yield f" ({destination})", look.on_base("muted") + Style(link=url)


def _opened(token: Token, look: BlockStyles) -> Style:
    match token.type:
        case "strong_open":
            return look["strong"]
        case "em_open":
            return look["emphasis"]
        case "s_open":
            return look["strike"]
        case "link_open":
            return _link_style(str(token.attrs.get("href", "")), look)
        case _:
            return Style.null()


def _link_style(address: str, look: BlockStyles) -> Style:
    url = safe_url(address)
    return look["link"] + Style(link=url) if url else Style.null()


def _leaf(token: Token, style: Style, look: BlockStyles) -> Run:
    match token.type:
        case "softbreak":
            return " ", style
        case "hardbreak":
            return "\n", style
        case "code_inline":
            return token.content, style + look["code"]
        case "image":
            address = str(token.attrs.get("src", ""))
            return f"[image: {token.content or address}]", style + _link_style(address, look)
        case "html_inline" if token.content.lower().replace(" ", "") in {"<br>", "<br/>"}:
            return "\n", style
        case _:
            return token.content, style
