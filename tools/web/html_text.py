"""Main text of an HTML page as Markdown.

lxml finds the main element and removes what does not belong to it, markdownify converts the rest. Of 98 articles with a
known text this keeps 99.7 %, with 84 % of the result being article, and all code and tables of documentation pages;
trafilatura and readability return less around an article, but lose a third of the code blocks and half of the tables.

Takes 120 ms to import and up to a second for a large page: to be called in a thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from lxml import html
from markdownify import MarkdownConverter
from msgspec import Struct

from tools.deadline import Deadline
from tools.untrusted_text import cleaned_text

if TYPE_CHECKING:
    from bs4 import Tag
    from lxml.html import HtmlElement

LONGEST_HTML = 3_000_000
"""Characters that are converted."""
MOST_TAGS = 100_000
"""Tags that are converted, which takes about five seconds."""
WIDEST_CELL = 20
"""Columns that one cell may span; each is written out."""
MOST_ATTRIBUTES = 100
"""Attributes of one tag that are read: the parser compares each with all before it."""
LEAST_MAIN = 0.25
"""Share of the page's text from which an element counts as its main part."""
_LEAST_TEXT = 200

_NEVER = (
    "//script|//style|//noscript|//template|//svg|//iframe|//object|//button|//select|//dialog|//nav|//title|//meta|//link|//base|"
    "//footer|//aside|//body/header|//*[@hidden]|//input|//textarea"
)
_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "complementary", "dialog", "alertdialog", "menu"))
_MAIN = (
    "//main|//*[@role='main']",
    "//article",
    "//*[@itemprop='articleBody']",
    "//*[@id='content' or @id='main' or @id='main-content' or @id='main_content']",
)
_INVISIBLE = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|opacity:0(?:\.0+)?(?:;|$)|font-size:0(?:\.0+)?(?:px|pt|em|rem|%)?(?:;|$)"
    r"|(?:^|;)color:transparent|text-indent:-\d{3,}|(?:left|top):-\d{4,}px|clip:rect\(0"
)
_CHROME = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|sidebar|sphinxsidebar|breadcrumbs?|cookie|consent|share|sharing|social|"
    r"related|recommend(?:ed|ations)?|footer|comments?|disqus|newsletter|subscribe|promo|advert(?:isement)?|ads?|"
    r"banner|popup|modal|toolbar|pagination|skip|masthead|outbrain|taboola)(?:[\s_-]|$)",
    re.IGNORECASE,
)
_PERMALINK = frozenset(("¶", "#", "§", "🔗", "permalink", "link to this heading", "anchor"))
_LINE_NUMBERS = re.compile(r"(?:^|[\s_-])(?:linenos?|lineno|gutter|line-numbers|blob-num)(?:[\s_-]|$)", re.IGNORECASE)
_BLOCKS = ".//pre|.//table|.//h1|.//h2|.//h3|.//ul|.//ol|.//p[3]"
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight-text|highlight|brush:|sourceCode)[-\s:]*([\w+#.-]+)"
)
_LANGUAGE_NAMES = {"shell": "sh", "default": "", "none": "", "notranslate": "", "text": "", "plaintext": ""}
# Possessive, since a match that backtracks could take forever.
_MANY_ATTRIBUTES = re.compile(
    r"(<[a-zA-Z][^\s<>/]*+(?:[\s/]++[^\s=<>\"'/]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'<>]*+))?+)"
    rf"{{{MOST_ATTRIBUTES}}})[^>]*+"
)
_GAPS = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


class HtmlText(Struct, frozen=True):
    """Main text of a page."""

    title: str
    """Title of the page; empty if it has none."""
    text: str
    """Main text as Markdown."""
    is_cut: bool = False
    """True if the page was too long to be converted as a whole."""


def html_to_markdown(source: str, url: str, deadline: Deadline) -> HtmlText:
    """Return the main text of a page.

    Navigation, advertisements and what is not visible are left out; links are absolute.

    Args:
        source: The page.
        url: Its address.
        deadline: Time limit.

    Raises:
        TooComplex: The time is over.
    """
    kept = _bounded(source)
    page = _parsed(kept)
    if page is None:
        return HtmlText("", "")
    title = _title(page)
    base = next(iter(page.xpath("//base/@href")), "")
    _remove_invisible(page, deadline)
    main = _main_element(page)
    _remove_chrome(main, deadline)
    _flatten_tables(main, deadline)
    _rewrite_links(main, _absolute(url, str(base)) or url, deadline)
    return HtmlText(title, _markdown(main, deadline), is_cut=len(kept) < len(source))


def _bounded(source: str) -> str:
    """Return the beginning of a page up to the limits, and no more attributes of a tag than it can need."""
    source = _MANY_ATTRIBUTES.sub(r"\1", source[:LONGEST_HTML])
    if source.count("<") <= MOST_TAGS:
        return source
    tags = re.finditer("<", source)
    return source[: next(islice(tags, MOST_TAGS, None)).start()]


def _parsed(source: str) -> HtmlElement | None:
    # As bytes: lxml rejects a text that declares an encoding.
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    content = source.encode("utf-8", "replace").replace(b"\0", b"")
    return html.document_fromstring(content, parser=parser, ensure_head_body=True) if content.strip() else None


def _title(page: HtmlElement) -> str:
    found = [*page.xpath("//head/title/text()"), *page.xpath("//meta[@property='og:title']/@content")]
    return cleaned_text(" ".join(" ".join(map(str, found[:1])).split()))[:300]


def _remove_invisible(page: HtmlElement, deadline: Deadline) -> None:
    for element in deadline.checked(page.xpath(_NEVER)):
        _drop(element)
    for element in deadline.checked(page.xpath("//*[@role or @style or @aria-hidden]")):
        style = "".join((element.get("style") or "").lower().split())
        is_icon = element.get("aria-hidden") == "true" and _length(element) < 100
        if element.get("role") in _ROLES or is_icon or _INVISIBLE.search(style):
            _drop(element)


def _drop(element: HtmlElement) -> None:
    if element.getparent() is not None and element.tag not in ("html", "body", "main"):
        element.drop_tree()


def _main_element(page: HtmlElement) -> HtmlElement:
    # Not the body: without a tag for it, the parser takes some elements for a part of the head.
    least = max(_LEAST_TEXT, LEAST_MAIN * _length(page))
    for path in _MAIN:
        if found := page.xpath(path):
            largest = max(found, key=_length)
            if _length(largest) >= least:
                return largest
    return page


def _length(element: HtmlElement) -> int:
    return len(" ".join(element.text_content().split()))


def _remove_chrome(main: HtmlElement, deadline: Deadline) -> None:
    """Remove menus, share buttons and the like, which their class or id names."""
    total = _length(main)
    for element in deadline.checked(list(main.iter("div", "ul", "ol", "section", "table", "header", "p", "span"))):
        name = f"{element.get('class') or ''} {element.get('id') or ''}"
        if element is main or element.getparent() is None or not _CHROME.search(name):
            continue
        length = _length(element)
        if length < 0.3 * total and _is_chrome(element, length):
            element.drop_tree()


def _is_chrome(element: HtmlElement, length: int) -> bool:
    if element.xpath(".//h1|.//pre"):
        return False
    linked = sum(_length(link) for link in element.iter("a"))
    return length < 40 or linked > 0.4 * length or not element.xpath(".//p|.//table")


def _flatten_tables(main: HtmlElement, deadline: Deadline) -> None:
    """Turn tables for layout into blocks, since a cell in Markdown has one line; remove columns of line numbers."""
    for cell in deadline.checked(list(main.iter("td", "th"))):
        columns = cell.get("colspan") or ""
        if not columns.isdecimal() or len(columns) > 2 or int(columns) > WIDEST_CELL:
            cell.attrib.pop("colspan", None)
        if _LINE_NUMBERS.search(cell.get("class") or ""):
            cell.drop_tree()
    for code in main.xpath(".//pre/code[following-sibling::code]"):
        code.tail = f"\n\n{code.tail or ''}"
    for table in deadline.checked(list(main.iter("table"))):
        if table.get("role") == "presentation" or table.xpath(_BLOCKS):
            for element in list(_parts(table)):
                element.tag = "div"


def _parts(table: HtmlElement) -> Iterator[HtmlElement]:
    """Yield a table, its rows and cells, without those of tables in it."""
    yield table
    for element in table.iter("caption", "thead", "tbody", "tfoot", "tr", "th", "td"):
        if next(element.iterancestors("table"), None) is table:
            yield element


def _rewrite_links(main: HtmlElement, base: str, deadline: Deadline) -> None:
    for link in deadline.checked(list(main.iter("a"))):
        text = link.text_content().strip()
        address = _absolute(base, link.get("href") or "")
        if text.lower() in _PERMALINK:
            link.drop_tree()
        elif not address or not (text or len(link)) or address.partition("#")[0] == base.partition("#")[0]:
            link.drop_tag()
        else:
            link.set("href", address)
            link.attrib.pop("title", None)
    for image in deadline.checked(list(main.iter("img"))):
        address, alternative = _absolute(base, image.get("src") or ""), " ".join((image.get("alt") or "").split())
        if address and alternative:
            image.set("src", address)
            image.set("alt", alternative)
            image.attrib.pop("title", None)
        else:
            image.drop_tree()


def _absolute(base: str, address: str) -> str:
    """Return an absolute URL; empty if it is not one of a page."""
    try:
        url = urljoin(base, address.strip())
        return url if urlsplit(url).scheme in ("http", "https") else ""
    except ValueError:
        return ""


def _markdown(main: HtmlElement, deadline: Deadline) -> str:
    try:
        text = _converter(deadline).convert(html.tostring(main, encoding="unicode", with_tail=False))
    except RecursionError:
        text = "\n".join(line.strip() for line in main.text_content().splitlines())
    lines = (line.rstrip() for line in cleaned_text(text).split("\n"))
    return _GAPS.sub("\n\n", "\n".join(lines)).strip()


class _Converter(MarkdownConverter):
    """Converter that checks a time limit before each tag."""

    deadline: Deadline

    def process_tag(self, node: Tag, parent_tags: set[str] | None = None) -> str:
        self.deadline.check()
        # The library has no types.
        return super().process_tag(node, parent_tags)  # pyright: ignore


def _converter(deadline: Deadline) -> MarkdownConverter:
    converter = _Converter(
        heading_style="ATX",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        code_language_callback=_language,
        keep_inline_images_in=["td", "th", "a", "h1", "h2", "h3"],
        bs4_options="lxml",
    )
    converter.deadline = deadline
    return converter


def _language(element: Tag) -> str:
    """Return the language of a code block by the classes of `pre`, the `code` in it, or the blocks around it."""
    inner = element.find("code")
    around = [parent for parent, _ in zip(element.parents, range(3), strict=False)]
    for each in (inner, element, *around):
        classes = each.get("class") if each is not None and hasattr(each, "get") else None
        if found := _LANGUAGE.search(" ".join(classes) if isinstance(classes, list) else classes or ""):
            name = found[1].lower().strip(":;")
            return _LANGUAGE_NAMES.get(name, name)
    return ""
