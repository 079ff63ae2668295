from __future__ import annotations

import pytest

from harness.workspace.file_text import file_text
from tools.editing.edits import AppliedEdits, Edit, RejectedEdits, apply_edits

FUNCTION = """\
def first(items):
    total = 0
    for item in items:
        total += item.price

    log.debug("total %s", total)
    return total


def second(items):
    return [item.name for item in items]
"""
TWINS = "def a():\n    x = 1\n    y = 2\n    return x\n\n\ndef b():\n    x = 1\n    y = 3\n    return x\n"


def edited(text: str, old: str, new: str) -> AppliedEdits | RejectedEdits:
    return apply_edits(file_text(text.encode()), [Edit(old, new)])


@pytest.mark.parametrize(
    ("text", "old", "new", "result", "ignoring"),
    [
        pytest.param(
            FUNCTION,
            "def first(items):\n    ...\n    return total",
            "def first(items, tax):\n    ...\n    return total + tax",
            FUNCTION.replace("first(items)", "first(items, tax)").replace("return total", "return total + tax"),
            "elided lines",
            id="ellipsis",
        ),
        pytest.param(
            FUNCTION,
            "def first(items):\n    # ... existing code ...\n    return total\n",
            "def first(items):\n    # ... existing code ...\n    return int(total)\n",
            FUNCTION.replace("return total", "return int(total)"),
            "elided lines",
            id="comment that elides",
        ),
        pytest.param(
            "if a:\n    x()\n    y()\nelse:\n    z()\n    y()\n",
            "if a:\n    ...\n    y()",
            "if a:\n    ...\n    w()",
            "if a:\n    x()\n    w()\nelse:\n    z()\n    y()\n",
            "elided lines",
            id="elided lines stay within the indentation of the ellipsis",
        ),
        pytest.param(
            FUNCTION,
            "    for item in items:\n        total += item.price\n    log.debug('total', total)\n    return total\n",
            "    for item in items:\n        total += item.cost\n    log.debug('total', total)\n    return total\n",
            FUNCTION.replace("item.price", "item.cost"),
            "lines that the edit keeps",
            id="misremembered line that the edit keeps, and a missing blank line",
        ),
        pytest.param(
            FUNCTION,
            "    total = 0\n\n    for item in items:\n        total += item.price\n",
            "    total = 0.0\n\n    for item in items:\n        total += item.price\n",
            FUNCTION.replace("total = 0\n", "total = 0.0\n"),
            "blank lines",
            id="added blank line",
        ),
        pytest.param(
            "func f() {\n\tif a {\n\t\tb()\n\t}\n}\n",
            "    if a {\n        b()\n    }",
            "    if a {\n        if c {\n            b()\n        }\n    }",
            "func f() {\n\tif a {\n\t\tif c {\n\t\t\tb()\n\t\t}\n\t}\n}\n",
            "indentation",
            id="spaces for tabs, with a deeper new line",
        ),
        pytest.param(
            'say("it\'s")\nend()\n',
            "say(“it’s”)\nend()",
            "say(“it’s”)\nsay(“more”)\nend()",
            'say("it\'s")\nsay("more")\nend()\n',
            "typographic",
            id="typographic quotes in new lines",
        ),
        pytest.param(
            "if (a < b && c) {\n",
            "if (a &lt; b &amp;&amp; c) {",
            "if (a &gt; b) {",
            "if (a > b) {\n",
            "HTML",
            id="HTML",
        ),
        pytest.param(
            'x = "a"\ny = 1\n', 'x = \\"a\\"\\ny = 1', 'x = \\"b\\"\\ny = 2', 'x = "b"\ny = 2\n', "escapes", id="JSON"
        ),
        pytest.param(
            'x = "a\\n"\ny = 1\n',
            'x = \\"a\\n\\"\ny = 1',
            'x = \\"b\\n\\"\ny = 1',
            'x = "b\\n"\ny = 1\n',
            "escaped quotes",
            id="quotes only",
        ),
        pytest.param(
            "    x()\n      y()\n",
            "  y()",
            "  y()\n  if z:\n    y()",
            "    x()\n      y()\n      if z:\n        y()\n",
            "indentation",
            id="part of the indentation of one line",
        ),
        pytest.param("a\nb\nc\n", "\nb\n", "B", "a\nB\nc\n", "", id="line feeds around the old text join no lines"),
        pytest.param("f(\n    a)\n", "f(\n    a", "f(a", "f(a)\n", "", id="lines are joined on purpose"),
    ],
)
def test_mistakes_without_consequence_are_overlooked(text: str, old: str, new: str, result: str, ignoring: str):
    outcome = edited(text, old, new)

    assert isinstance(outcome, AppliedEdits)
    assert outcome.file.text == result
    assert ignoring in " ".join(outcome.notes)


@pytest.mark.parametrize(
    ("text", "old", "new", "why"),
    [
        pytest.param(TWINS, "    x = 1\n    ...\n    return x", "    x = 2\n    ...\n    return x", "several places"),
        pytest.param(FUNCTION, "def first(items):\n    ...\n    return total", "def first(items):\n    pass", "elide"),
        pytest.param(
            FUNCTION,
            "    total = 0\n    for item in items:\n        total += item.cost\n\n    log.debug(total)\n",
            "    total = 0\n    for item in items:\n        total += item.value\n\n    log.debug(total)\n",
            "-        total += item.price\n+        total += item.cost",
            id="the replaced line is another one",
        ),
        pytest.param(
            TWINS,
            "    x = 1\n    y = 9\n    return x\n",
            "    x = 1\n    y = 9\n    return y\n",
            "is not in the file",
            id="two blocks would nearly do",
        ),
        pytest.param(
            "a()\n\nb()\n\nc()\n", "a()\nb()\n", "a()\nnew()\nb()\n", "is not in the file", id="place in a blank line"
        ),
        pytest.param("a()\nb()\n", "\na()\nb()", "\nnew()\nb()", "is not in the file", id="blank line before the file"),
        pytest.param(
            FUNCTION,
            '    log.debug("total %s", total)\n    return total\n',
            '    log.info("total %s", total)\n    # ... rest of the code unchanged ...\n',
            "would be lost",
            id="placeholder for existing code",
        ),
        pytest.param(
            "if (a < b) {}\n", "if (a &lt; b) {}", "if (a < b || a &gt; c) {}", "is not in", id="escaped only in part"
        ),
        pytest.param('x("a")\n', 'x(\\"a\\")', 'x(\\"a\\n\\")', "is not in the file", id="two readings of the escapes"),
        pytest.param("a:\n    b\n", "  b", "  b\nc", "is not in", id="one line, shifted or in other units"),
        pytest.param(
            "a:\n    b\n    c\n", "  b\n  c", "  b\n    d\n  c", "is not in", id="indentation shifted or in other units"
        ),
        pytest.param(
            "  a:\n      b\n  c:\n      d\n",
            " a:\n   b\n c:\n     d",
            "x",
            "is not in",
            id="indentation without a rule",
        ),
    ],
)
def test_edits_whose_place_or_result_is_in_doubt_are_refused(text: str, old: str, new: str, why: str):
    outcome = edited(text, old, new)

    assert isinstance(outcome, RejectedEdits)
    assert why in outcome.reason


def test_refusal_shows_a_bounded_difference_with_line_numbers_of_the_file():
    text = "".join(f"line {number} of the file\n" for number in range(1, 200))
    old = "".join(f"line {number} of the text\n" for number in range(50, 150)) + "line 150 of the file\n"

    outcome = edited(text, old, "x")

    assert isinstance(outcome, RejectedEdits)
    assert "@@ -50," in outcome.reason
    assert "-line 50 of the file" in outcome.reason
    assert "+line 50 of the text" in outcome.reason or "more lines" in outcome.reason
    assert len(outcome.reason.splitlines()) < 50
