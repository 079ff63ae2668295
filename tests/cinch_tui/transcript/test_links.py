from __future__ import annotations

import socket
from pathlib import Path

import pytest
from fakes.transcript_stage import Stage, screen

from cinch_tui.transcript.blocks import ReplyBlock, ToolBlock, UserBlock
from cinch_tui.transcript.layout import Layout
from cinch_tui.transcript.links import Link, file_location, links_in, safe_url
from cinch_tui.transcript.styles import BlockStyles, DisplayOptions
from cinch_tui.transcript.view import Transcript
from harness.views import ListingView, TerminalView

SMALL = (60, 14)
HOST = socket.gethostname()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text("x")
    (tmp_path / "Make file").write_text("x")
    return tmp_path


def links_of(block: ReplyBlock | ToolBlock | UserBlock, root: Path, width: int = 60) -> list[Link]:
    layout = Layout(BlockStyles(BlockStyles.bare().base, {}, BlockStyles.bare().diff, DisplayOptions(root=str(root))))
    layout.width = width
    layout.extend([block])
    return links_in(layout.lines_of(block))


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("See https://example.org/a_b(c).", "https://example.org/a_b(c)"),
        ("(https://example.org/a)", "https://example.org/a"),
        ("[there](https://example.org/x)", "https://example.org/x"),
        ("<mailto:ada@example.org>", "mailto:ada@example.org"),
        ("https://example.org/ä", "https://example.org/%C3%A4"),
        ("`https://example.org/code`", "https://example.org/code"),
    ],
)
def test_addresses_in_a_reply_are_links(said: str, url: str, root: Path) -> None:
    assert [link.url for link in links_of(ReplyBlock(said), root)] == [url]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "ssh://example.org",
        "vscode://x/y",
        "file://elsewhere.example.org/share",
        "https://example.org/\x1b\\bad",
        "https://example.org/\u202egnp",
        "https://" + "a" * 3000,
        "https://[broken",
        "relative/path",
    ],
)
def test_nothing_else_is_a_link(url: str) -> None:
    assert safe_url(url) == ""


def test_a_link_of_another_kind_is_plain_text(root: Path) -> None:
    assert links_of(ReplyBlock("[click](javascript:alert(1)) and ![x](vbscript:y)"), root) == []


def test_places_in_files_that_exist_are_links(root: Path) -> None:
    app = f"file://{HOST}{root}/src/app.py"
    said = f"In `src/app.py:12:3`, ./src/app.py, {root}/src/app.py:7 but not src/none.py:1, app.py:1 or and/or."

    found = links_of(ReplyBlock(said), root, width=400)

    assert [link.url for link in found] == [f"{app}#12", app, f"{app}#7"]
    assert found[0].label == "src/app.py:12:3"


def test_locations_in_tool_results_are_links(root: Path) -> None:
    listing, printed = ToolBlock("1", "Grep", "x"), ToolBlock("2", "Bash", "make")
    listing.view = ListingView("", ("src/app.py:3: x = 1",), 1)
    printed.view = TerminalView("make", "src/app.py:9:1: error\nsee https://example.org/e1", 1)
    for block in (listing, printed):
        block.status, block.folded = "done", False

    assert [link.label for link in links_of(listing, root)] == ["src/app.py:3"]
    assert [link.url.rpartition("/")[2] for link in links_of(printed, root)] == ["app.py#9", "e1"]


def test_a_wrapped_address_is_one_link(root: Path) -> None:
    url = "https://example.org/" + "long/" * 12

    assert links_of(ReplyBlock(f"See {url}"), root, width=30) == [Link(url, url)]


def test_a_link_to_a_file_leads_back_to_it(root: Path) -> None:
    link = links_of(ReplyBlock("`src/app.py:12`"), root)[0]

    assert file_location(link.url) == (root / "src" / "app.py", 12)
    assert file_location("https://example.org/a#3") is None


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("[https://bank.example](https://evil.example/x)", "https://bank.example (https://evil.example/x)"),
        ("[bank.example](https://evil.example)", "bank.example (https://evil.example)"),
        ("[log in at www.bank.example](https://evil.example)", "log in at www.bank.example (https://evil.example)"),
        (
            "[https://bank.example](https://bank.example@evil.example)",
            "https://bank.example (https://bank.example@evil.example)",
        ),
        ("[ada@bank.example](mailto:eve@evil.example)", "ada@bank.example (mailto:eve@evil.example)"),
        ("[https://bank.example](https://bank.example/)", "https://bank.example"),
        ("[www.bank.example](http://bank.example)", "www.bank.example"),
        ("[the manual](https://bank.example)", "the manual"),
        ("[src/app.py](https://evil.example/src/app.py)", "src/app.py (https://evil.example/src/app.py)"),
        (
            "[bank.example](https://evil.example/" + "x" * 200 + ")",
            "bank.example (https://evil.example/" + "x" * 58 + "…)",
        ),
    ],
)
def test_true_destination_is_shown_next_to_a_label_that_names_another(reply: str, shown: str, root: Path) -> None:
    layout = Layout(BlockStyles(BlockStyles.bare().base, {}, BlockStyles.bare().diff, DisplayOptions(root=str(root))))
    layout.width = 120
    block = ReplyBlock(reply)
    layout.extend([block])

    assert "".join(line.text for line in layout.lines_of(block)).strip() == shown
    assert len({link.url for link in links_in(layout.lines_of(block))}) == 1


async def test_hovering_a_link_shows_its_address_and_leaving_hides_it() -> None:
    app = Stage(ReplyBlock("[the manual](https://bank.example/manual) is here"))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        y = next(y for y, row in enumerate(screen(app.view)) if "the manual" in row)
        await pilot.hover(app.view, offset=(4, y))
        over = str(app.view.tooltip)
        await pilot.hover(app.view, offset=(4, y + 3))

        assert over == "https://bank.example/manual"
        assert app.view.tooltip is None


async def test_the_links_of_a_block_are_offered_by_key() -> None:
    app = Stage(ReplyBlock("See https://example.org/a and [b](https://example.org/b)."))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("shift+up", "l")

        message = app.heard[-1]
        assert isinstance(message, Transcript.LinksRequested)
        assert [link.label for link in message.links] == ["https://example.org/a", "b"]
