"""The HTML page of a session."""

from __future__ import annotations

import base64
import re
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, tell

from cinch_tui.reports.page.document import html_page
from harness.codec import encode
from harness.events import MessageEnd, SubagentEvent, ToolExecutionEnd
from harness.messages import (
    AssistantMessage,
    Citation,
    Cost,
    CustomMessage,
    Image,
    ModelSpec,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    new_id,
    synthetic,
    user,
)
from harness.session.notes import CheckpointNote, CompactionNote, ModelNote, ModeNote, UsageNote
from harness.session.recorder import SessionRecorder
from harness.session.records import to_bytes
from harness.session.resume import load_session
from harness.views import DiffView, ImageView, ListingView, TerminalView, TextView, TodoItem, TodoView

EVIL = (
    "</script></style></title></pre><script>alert(1)</script><img src=x onerror=alert(1)>"
    "\"'><svg onload=alert(1)> \x1b[31m\x00\u202e"
)
MARKDOWN = f"""{EVIL}

[link](javascript:alert(1)) [data](data:text/html,x) ![remote](https://evil.example/x.png) <b onclick=x>

```x" onload="alert(1)
{EVIL}
```

| {EVIL.replace("|", "")} |
|--:|
| 1 |
"""
ALLOWED = frozenset(
    [
        "a",
        "article",
        "b",
        "blockquote",
        "body",
        "br",
        "button",
        "code",
        "details",
        "div",
        "em",
        "h1",
        "h2",
        "h3",
        "head",
        "header",
        "hr",
        "html",
        "i",
        "img",
        "input",
        "li",
        "main",
        "meta",
        "nav",
        "ol",
        "output",
        "p",
        "pre",
        "s",
        "script",
        "section",
        "span",
        "strong",
        "style",
        "summary",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "time",
        "title",
        "tr",
        "ul",
    ]
)
ATTRIBUTES = frozenset(
    [
        "alt",
        "aria-label",
        "charset",
        "class",
        "content",
        "datetime",
        "href",
        "http-equiv",
        "id",
        "lang",
        "name",
        "open",
        "placeholder",
        "rel",
        "role",
        "src",
        "start",
        "target",
        "title",
        "type",
    ]
)


class Page(HTMLParser):
    """Elements of a page, with the text of its style and its script."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self._open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        self.text.setdefault(self._open, []).append(data)

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def attributes(self, name: str) -> list[str]:
        return [value or "" for _, attributes in self.elements if (value := attributes.get(name, "absent")) != "absent"]


@pytest.fixture
def page(tmp_path: Path) -> str:
    """Return the page of a session with hostile text in every field."""
    store = SessionRecorder(tmp_path / "data", tmp_path / EVIL.replace("/", "").replace("\x00", ""), new_id())
    views = (
        TextView(EVIL, EVIL),
        TextView(MARKDOWN, "markdown"),
        DiffView(EVIL, f"a\n{EVIL}\n", f"b\n{EVIL}\n"),
        TerminalView(EVIL, EVIL, 1, EVIL),
        ListingView(EVIL, (EVIL,), 5),
        TodoView((TodoItem(EVIL, "pending"),)),
        ImageView(EVIL, EVIL),
        None,
    )
    calls = [ToolCall(f"{EVIL}{number}", EVIL, {EVIL: EVIL, "command": EVIL}) for number in range(len(views))]
    edits = (call("e", "Edit", file_path=EVIL, old_string=EVIL, new_string="x"), ToolCall("p", "x", {}, EVIL))
    content = (Thinking(MARKDOWN), Text(MARKDOWN, citations=(Citation(f"https://{EVIL}", EVIL),)), *calls, *edits)
    first = user(EVIL)
    tell(
        store,
        UserMessage(
            (Text(EVIL), Image("image/svg+xml", "QQ=="), Image("image/png", '"><script>'), Image("image/png", "QQ=="))
        ),
        synthetic(EVIL),
    )
    tell(store, first, AssistantMessage(content, EVIL, EVIL, Usage(1, 2, cost=Cost(1.0)), "tool_use"))
    for each, view in zip(calls, views, strict=True):
        tell(store, ToolResult(each.id, EVIL, (Text(EVIL),), view=view, is_error=view is None))
    tell(store, AssistantMessage((Text(EVIL),), EVIL, EVIL, stop_reason="error", error=EVIL))
    store.store(MessageEnd(message=CustomMessage(EVIL, {EVIL: EVIL})))
    store.store(SubagentEvent(call_id="e", event=MessageEnd(message=user(EVIL), run_id="child.m.1")))
    store.rename(EVIL)
    store.close()
    notes = (
        CompactionNote(id=EVIL, after=first.id, summary=MARKDOWN),
        CheckpointNote(id=EVIL, leaf=first.id, label=EVIL),
        ModelNote(spec=encode(ModelSpec(EVIL, EVIL))),
        ModeNote(mode=EVIL),
        UsageNote(model=EVIL, usage={"input_tokens": 1}),
    )
    with store.path.open("ab") as file:
        file.writelines(map(to_bytes, notes))
    return "".join(html_page(load_session(store.path)))


def test_hostile_text_in_every_field_is_escaped(page: str):
    parsed = Page(page)

    assert {tag for tag, _ in parsed.elements} <= ALLOWED
    assert {name for _, attributes in parsed.elements for name in attributes} <= ATTRIBUTES
    assert page.count("<script") == page.count("<style") == page.count("<title") == 1
    assert all(re.match(r"(https?://|#)", link) for link in parsed.attributes("href"))
    assert not set("\x00\x1b\u202e") & set(page)


def test_page_loads_nothing_and_runs_its_own_script_only(page: str):
    parsed = Page(page)

    policy = next(value for value in parsed.attributes("content") if value.startswith("default-src 'none'"))
    for name in ("style", "script"):
        digest = base64.b64encode(sha256("".join(parsed.text[name]).encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert parsed.attributes("src") == ["data:image/png;base64,QQ=="]


def test_page_shows_prompts_replies_calls_and_changes(tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    edit = call("e", "edit_file", path="src/app.py")
    change = DiffView("src/app.py", "a\nold\n", "a\nnew\n")
    tell(
        store,
        user("Add **bold** text"),
        AssistantMessage((Thinking("hm"), Text("It is *done*."), edit), "m", "p", Usage(7, 3)),
    )
    tell(store, ToolResult("e", "edit_file", (Text("edited"),), view=change), user("thanks"))
    begun = reply(call("sub", "delegate_subagent"))
    tell(store, begun)
    store.store(SubagentEvent(call_id="sub", event=MessageEnd(message=user("the task"), run_id="child.m.1")))
    store.store(ToolExecutionEnd(result=result("sub", "ok", "delegate_subagent"), child_run_id="child.m.1"))
    store.close()

    page = "".join(html_page(load_session(store.path)))

    assert "Add **bold** text" in page
    assert "It is <em>done</em>." in page
    assert '<span class="del">-old</span>\n<span class="add">+new</span>' in page
    assert page.count('<li><a href="#m') == 2
    assert re.search(r'<a href="#(m\d+)">thanks</a>.*<article class="user" id="\1">', page, re.DOTALL)
    assert page.index("Subagent: 1 messages") < page.index("the task") < page.index("<h2>Usage</h2>")
    assert "<td>7</td>" in page


def test_code_is_highlighted(tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    tell(store, user("go"), reply("```python\ndef add(): pass\n```"))
    store.close()

    assert '<span class="h-k">def</span>' in "".join(html_page(load_session(store.path)))
