"""Markdown rendering to lines, one top-level element at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markdown_it.token import Token
from msgspec import Struct
from rich.segment import Segment
from rich.style import Style

from cinch_tui.rendering.code import Highlighter, lexer_for_language
from cinch_tui.rendering.safe_text import expand_tabs
from cinch_tui.transcript.lines import (
    BLANK,
    Run,
    StyledLine,
    chop_runs,
    filled,
    indented,
    plain_line,
    text_runs,
    wrap_runs,
)
from cinch_tui.transcript.links import linked, safe_url, true_destination
from cinch_tui.transcript.markdown_splitter import Piece, References, chunk_length, language_of, parser
from cinch_tui.transcript.styles import BlockStyles, StyleName

BULLETS = ("•", "◦", "▪")
_INLINE_STYLES: dict[str, StyleName] = {"strong_open": "strong", "em_open": "emphasis", "s_open": "strike"}
TASKS = {"[ ] ": " [ ] ", "[x] ": " [x] ", "[X] ": " [x] "}
# Minimum text width next to a list marker; narrower items omit the marker.
LEAST = 6
BETWEEN = " │ "
"""Separator of table columns."""
NARROWEST = 4
"""Minimum width of a table column."""


class DrawContext(Struct, frozen=True):
    """Drawing context of elements: styles, width and list depth."""

    styles: BlockStyles
    width: int
    depth: int = 0

    def narrowed(self, cells: int) -> DrawContext:
        return DrawContext(self.styles, self.width - cells, self.depth)

    def nested(self, cells: int) -> DrawContext:
        return DrawContext(self.styles, self.width - cells, self.depth + 1)


def piece_lines(piece: Piece, references: References, page: DrawContext) -> list[StyledLine]:
    """Return the lines of one piece, without the blank line before it."""
    if piece.language is not None:
        return code_lines(piece.source, piece.language, page)
    tokens = parser().parse(piece.source, {"references": dict(references)})
    return element_lines(tokens, page, piece.item)


def element_lines(tokens: Sequence[Token], page: DrawContext, item: int | None = None) -> list[StyledLine]:
    """Return the lines of top-level elements, separated by blank lines; `item` continues a numbered list."""
    lines: list[StyledLine] = []
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


def _draw(element: Sequence[Token], page: DrawContext, item: int | None) -> list[StyledLine]:
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
            rows = [[inline_runs(cell, page.styles) for cell in row] for row in _table_rows(element)]
            alignments = [str(token.attrs.get("style", "")) for token in element if token.type == "th_open"]
            return _table_lines(rows, alignments, page.styles, page.width)
        case "hr":
            return [plain_line("─" * page.width, page.styles.on_base("rule"))]
        case "html_block":
            return wrap_runs([(expand_tabs(first.content.rstrip("\n")), page.styles.on_base("muted"))], page.width)
        case _:
            return wrap_runs([run for token in element for run in inline_runs(token, page.styles)], page.width)


def _heading(element: Sequence[Token], page: DrawContext) -> list[StyledLine]:
    style = page.styles.on_base("heading")
    runs = inline_runs(element[1], page.styles, style + Style(underline=True) if element[0].tag == "h1" else style)
    return wrap_runs(runs, page.width)


def _quotation(content: Sequence[Token], page: DrawContext) -> list[StyledLine]:
    if page.width - 2 < LEAST:
        return element_lines(content, page)
    mark = ("▌ ", page.styles.on_base("quote-mark"))
    return indented(element_lines(content, page.narrowed(2)) or [BLANK], mark, mark)


def code_lines(code: str, language: str, page: DrawContext) -> list[StyledLine]:
    """Return a highlighted code block that fills the width."""
    fill = page.styles.on_base("code-block")
    edge = (" ", fill)
    rows: list[StyledLine] = []
    left = code.split("\n")
    while left:
        # Highlighted in chunks, so that a streamed block looks the same as a complete one.
        length = chunk_length(left) or len(left)
        rows.extend(chop_runs(code_runs("\n".join(left[:length]), language, page.styles), page.width - 2))
        left = left[length:]
    return filled(indented(rows, edge, edge), fill)


def code_runs(code: str, language: str, styles: BlockStyles) -> list[Run]:
    """Return highlighted `code` on the code block style; plain if `language` is unknown."""
    base = styles.on_base("code-block")
    text = expand_tabs(code)
    lexer = lexer_for_language(language)
    if lexer is None:
        return [(text, base)]
    lines = text.split("\n")
    highlighter = Highlighter(lines, lexer, styles.diff.code)
    runs: list[Run] = []
    for index in range(len(lines)):
        if index:
            runs.append(("\n", base))
        runs.extend(text_runs(highlighter.line(index), base))
    return runs


def _list(element: Sequence[Token], page: DrawContext, item: int | None) -> list[StyledLine]:
    ordered = element[0].type == "ordered_list_open"
    number = item if item is not None else int(element[0].attrs.get("start", 1))
    lines: list[StyledLine] = []
    for offset, content in enumerate(_elements(element[1:-1])):
        mark = f"{number + offset:>2}. " if ordered else f" {BULLETS[page.depth % len(BULLETS)]} "
        mark = TASKS.get(_taken_task(content), mark)
        style = page.styles.on_base("done" if "x" in mark else "bullet")
        if page.width - len(mark) < LEAST:
            lines.extend(_item_lines(content[1:-1], page.nested(0)))
            continue
        body = _item_lines(content[1:-1], page.nested(len(mark)))
        lines.extend(indented(body or [BLANK], (mark, style), (" " * len(mark), style)))
    return lines


def _taken_task(item: Sequence[Token]) -> str:
    """Remove and return the checkbox of a list item; empty if absent."""
    # An item starts with its own token and that of its first paragraph.
    children = item[2].children if len(item) > 2 and item[2].type == "inline" else None
    words = children[0] if children else None
    if words is None or words.content[:4] not in TASKS:
        return ""
    task, words.content = words.content[:4], words.content[4:]
    return task


def _item_lines(tokens: Sequence[Token], page: DrawContext) -> list[StyledLine]:
    """Return the elements of a list item without blank lines, except between paragraphs."""
    lines: list[StyledLine] = []
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


def inline_runs(token: Token, styles: BlockStyles, style: Style | None = None) -> list[Run]:
    """Return the styled text of an element."""
    stack = [styles.base if style is None else style]
    runs: list[Run] = []
    label = 0
    for child in token.children or ():
        if child.nesting > 0:
            label = len(runs) if child.type == "link_open" else label
            stack.append(stack[-1] + _opened(child, styles))
        elif child.nesting < 0:
            ended = stack.pop()
            if child.type == "link_close" and ended.link:
                runs.extend(_destination(runs[label:], ended.link, styles))
        else:
            text, leaf = _leaf(child, stack[-1], styles)
            runs.append((expand_tabs(text), leaf))
    return linked(runs, styles.options.root, styles["link"])


def _destination(label: Sequence[Run], url: str, styles: BlockStyles) -> Iterator[Run]:
    """Yield the target of a link after a label that names another URL."""
    if destination := true_destination("".join(text for text, _ in label), url):
        yield f" ({destination})", styles.on_base("muted") + Style(link=url)


def _opened(token: Token, styles: BlockStyles) -> Style:
    if token.type == "link_open":
        return _link_style(str(token.attrs.get("href", "")), styles)
    name = _INLINE_STYLES.get(token.type)
    return styles[name] if name else Style.null()


def _link_style(address: str, styles: BlockStyles) -> Style:
    url = safe_url(address)
    return styles["link"] + Style(link=url) if url else Style.null()


def _leaf(token: Token, style: Style, styles: BlockStyles) -> Run:
    match token.type:
        case "softbreak":
            return " ", style
        case "hardbreak":
            return "\n", style
        case "code_inline":
            return token.content, style + styles["code"]
        case "image":
            address = str(token.attrs.get("src", ""))
            return f"[image: {token.content or address}]", style + _link_style(address, styles)
        case "html_inline" if token.content.lower().replace(" ", "") in {"<br>", "<br/>"}:
            return "\n", style
        case _:
            return token.content, style


def _table_lines(
    rows: Sequence[Sequence[list[Run]]], alignments: Sequence[str], styles: BlockStyles, width: int
) -> list[StyledLine]:
    """Return the rows, the first one as header, in columns that share the width."""
    if not rows or not rows[0]:
        return []
    header = styles["table-header"]
    styled = [[[(text, style + header) for text, style in cell] for cell in rows[0]], *rows[1:]]
    if width < len(rows[0]) * (NARROWEST + len(BETWEEN)) - len(BETWEEN):
        return _records(styled, styles, width)
    widths = _column_widths(styled, width)
    rule = styles.on_base("rule")
    drawn = [_row_lines(row, widths, alignments, styles) for row in styled]
    under = StyledLine((Segment("─┼─".join("─" * width for width in widths), rule),))
    return [*drawn[0], under, *(line for lines in drawn[1:] for line in lines)]


def _records(rows: Sequence[Sequence[list[Run]]], styles: BlockStyles, width: int) -> list[StyledLine]:
    """Draw a table with too many columns row by row, each value after its column name."""
    between = (": ", styles.base)
    rule = StyledLine((Segment("─" * width, styles.on_base("rule")),))
    lines: list[StyledLine] = []
    for row in rows[1:] or rows:
        lines.append(rule)
        for name, value in zip(rows[0], row, strict=True):
            lines.extend(wrap_runs([*name, between, *value], width))
    return [*lines, rule]


def _column_widths(rows: Sequence[Sequence[list[Run]]], width: int) -> list[int]:
    columns = len(rows[0])
    natural = [
        max((line.width for row in rows for line in wrap_runs(row[column], 10_000)), default=1) or 1
        for column in range(columns)
    ]
    room = max(columns * NARROWEST, width - len(BETWEEN) * (columns - 1))
    # Shrink the widest column first, so that short columns keep their words unbroken.
    while sum(natural) > room:
        widest = max(natural)
        second = max((value for value in natural if value < widest), default=NARROWEST)
        count = natural.count(widest)
        excess = sum(natural) - room
        lowered = max(second, widest - -(-excess // count), 1)
        natural = [lowered if value == widest else value for value in natural]
        if lowered == widest:
            break
    return natural


def _row_lines(
    row: Sequence[list[Run]], widths: Sequence[int], alignments: Sequence[str], styles: BlockStyles
) -> list[StyledLine]:
    cells = [wrap_runs(cell, width) for cell, width in zip(row, widths, strict=True)]
    separator = Segment(BETWEEN, styles.on_base("rule"))
    lines: list[StyledLine] = []
    for index in range(max(map(len, cells))):
        segments: list[Segment] = []
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            if column:
                segments.append(separator)
            line = cell[index] if index < len(cell) else BLANK
            left, right = _pads(width - line.width, alignments[column])
            if column == len(cells) - 1:
                # No trailing blanks in copied lines.
                right = ""
            segments.extend((Segment(left, styles.base), *line.segments, Segment(right, styles.base)))
        lines.append(StyledLine(tuple(segment for segment in segments if segment.text)))
    return lines


def _pads(room: int, alignment: str) -> tuple[str, str]:
    left = {"text-align:right": room, "text-align:center": room // 2}.get(alignment, 0)
    return " " * left, " " * (room - left)
