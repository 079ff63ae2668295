from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.ports.provider import ToolSpec
from providers.wire.text_tool_calls import Piece, TextPiece, TextToolCalls, ThinkingPiece, dialects_in
from providers.wire.tool_call_dialects import ParsedCall

BASH = ToolSpec(
    "bash", "", {"type": "object", "properties": {"command": {"type": "string"}, "wait": {"type": "integer"}}}
)
READ = ToolSpec("read_file", "", {"type": "object", "properties": {"path": {"type": "string"}}})
TOOLS = (BASH, READ)

LS = ParsedCall("bash", '{"command": "ls"}')
SEE = ParsedCall("read_file", '{"path": "a.py"}')
TAGGED = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'
TAGGED_READ = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'
HARD = {"command": 'echo "</tool_call>" {[ \\ \n ü'}
CUT = '<tool_call>\n{"name": "bash", "arguments": {"command": "rm -rf '

REPLIES: dict[str, tuple[str, list[Piece]]] = {
    "words": ("Hello, world.", [TextPiece("Hello, world.")]),
    "words with marks of other things": ("a < b, [x], {y}: z\n\n<b>", [TextPiece("a < b, [x], {y}: z\n\n<b>")]),
    "code in a fence": ("So:\n```py\nif x:\n    y()\n```\n", [TextPiece("So:\n```py\nif x:\n    y()\n```")]),
    "a call in tags": (TAGGED, [LS]),
    "words, then a call": (f"I look.\n\n{TAGGED}\n", [TextPiece("I look."), LS]),
    "two calls in tags": (f"{TAGGED}\n{TAGGED_READ}", [LS, SEE]),
    "two calls in one tag": (TAGGED.replace("}}", '}}\n{"name":"read_file","arguments":{"path":"a.py"}}'), [LS, SEE]),
    "words after a call": (f"{TAGGED}\n\nThere.", [LS, TextPiece("There.")]),
    "a call without its closing tag": (TAGGED.removesuffix("\n</tool_call>"), [LS]),
    "a closing tag within a string": (
        f"<tool_call>{json.dumps({'name': 'bash', 'arguments': HARD})}</tool_call>",
        [ParsedCall("bash", json.dumps(HARD, ensure_ascii=False))],
    ),
    "arguments that are JSON in a string": (
        f"<tool_call>{json.dumps({'name': 'bash', 'arguments': LS.arguments})}</tool_call>",
        [LS],
    ),
    "no arguments": ('<tool_call>{"name": "bash"}</tool_call>', [ParsedCall("bash", "{}")]),
    "a line end within a string": (
        '<tool_call>{"name": "bash", "arguments": {"command": "a\nb"}}</tool_call>',
        [ParsedCall("bash", r'{"command": "a\nb"}')],
    ),
    "a call written out": (
        "<tool_call>\n<function=bash>\n<parameter=command>\nls <a>\n\n{x}\n</parameter>\n<parameter=wait>\n3\n"
        "</parameter>\n</function>\n</tool_call>",
        [ParsedCall("bash", '{"command": "ls <a>\\n\\n{x}", "wait": 3}')],
    ),
    "thinking": ("<think>\nHm, <tool_call>?\n</think>\n\nYes.", [ThinkingPiece("Hm, <tool_call>?"), TextPiece("Yes.")]),
    "thinking, then a call": (f"<think>\nHm.\n</think>\n\n{TAGGED}", [ThinkingPiece("Hm."), LS]),
    "an empty thought": ("<think>\n\n</think>\n\nYes.", [TextPiece("Yes.")]),
    "a thought that does not end": ("<think>Hm", [ThinkingPiece("Hm")]),
    "a later thought is words": ("So.\n<think>Hm</think>", [TextPiece("So.\n<think>Hm</think>")]),
    "bare JSON": ('{"name": "bash", "parameters": {"command": "ls"}}', [LS]),
    "bare JSON, twice": (
        '{"name": "bash", "parameters": {"command": "ls"}}; {"name": "read_file", "parameters": {"path": "a.py"}}',
        [LS, SEE],
    ),
    "bare JSON as a function": (
        '{"type": "function", "function": {"name": "bash", "parameters": {"command": "ls"}}}',
        [LS],
    ),
    "bare JSON, marked for python": ('<|python_tag|>{"name": "bash", "parameters": {"command": "ls"}}', [LS]),
    "code for python": ("<|python_tag|>print(1)", [TextPiece("<|python_tag|>print(1)")]),
    "JSON that names no tool": ('{"name": "Anna", "age": 3}', [TextPiece('{"name": "Anna", "age": 3}')]),
    "JSON that is no call": ('{"age": 3}', [TextPiece('{"age": 3}')]),
    "bare JSON after words": ('So: {"name": "bash"}', [TextPiece('So: {"name": "bash"}')]),
    "a marked list": ('[TOOL_CALLS] [{"name": "bash", "arguments": {"command": "ls"}}]', [LS]),
    "a marked list of two": (
        '[TOOL_CALLS][{"name":"bash","arguments":{"command":"ls"}},{"name":"read_file","arguments":{"path":"a.py"}}]',
        [LS, SEE],
    ),
    "a marked name": ('Now.[TOOL_CALLS]bash[ARGS]{"command": "ls"}', [TextPiece("Now."), LS]),
    "marked names": (
        '[TOOL_CALLS]bash[ARGS]{"command": "ls"}[TOOL_CALLS]read_file[CALL_ID]123456789[ARGS]{"path": "a.py"}',
        [LS, SEE],
    ),
    "a mark that is talked of": ("Write [TOOL_CALLS] first.", [TextPiece("Write [TOOL_CALLS] first.")]),
    "a tag that is talked of": ("Write <tool_call> first.", [TextPiece("Write <tool_call> first.")]),
    "half a call": (CUT, [ParsedCall("bash", CUT.removeprefix("<tool_call>\n").strip())]),
    "half a name": ('Now <tool_call>{"name": "ba', [TextPiece('Now <tool_call>{"name": "ba')]),
    "half a marked call": ('[TOOL_CALLS]bash[ARGS]{"command": "l', [ParsedCall("bash", '{"command": "l')]),
    "half a bare call": (
        '{"name": "bash", "parameters": {"com',
        [ParsedCall("bash", '{"name": "bash", "parameters": {"com')],
    ),
    "half a call written out": (
        "<tool_call><function=bash><parameter=command>rm",
        [ParsedCall("bash", "<function=bash><parameter=command>rm")],
    ),
    "a call that is no JSON": (
        '<tool_call>{"name": "bash", "arguments": {"command": ls}}</tool_call>',
        [ParsedCall("bash", '{"name": "bash", "arguments": {"command": ls}}')],
    ),
    "a call that is closed too early": (
        '<tool_call>{"name": "bash", "arguments": {"command": "ls"}</tool_call>\nDone.',
        [ParsedCall("bash", '{"name": "bash", "arguments": {"command": "ls"}'), TextPiece("Done.")],
    ),
}


def merged(pieces: list[Piece]) -> list[Piece]:
    whole: list[Piece] = []
    for piece in pieces:
        match whole[-1:], piece:
            case [TextPiece(before)], TextPiece(text):
                whole[-1] = TextPiece(before + text)
            case [ThinkingPiece(before)], ThinkingPiece(text):
                whole[-1] = ThinkingPiece(before + text)
            case _:
                whole.append(piece)
    return whole


def read(text: str, cuts: list[int], **options: object) -> list[Piece]:
    reader = TextToolCalls(TOOLS, **options)
    ends = sorted({min(cut, len(text)) for cut in cuts} | {len(text)})
    found: list[Piece] = []
    for begin, end in zip([0, *ends], ends, strict=False):
        found += reader.feed(text[begin:end])
    return merged(found + reader.finish())


@pytest.mark.parametrize("name", REPLIES)
def test_calls_written_into_the_text_are_recognized(name):
    text, pieces = REPLIES[name]

    assert read(text, []) == pieces


@pytest.mark.parametrize("name", REPLIES)
def test_single_characters_make_no_difference(name):
    text, pieces = REPLIES[name]

    assert read(text, list(range(len(text)))) == pieces


PARTS = st.sampled_from(
    [text for text, _ in REPLIES.values()]
    + [
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "</think>",
        "[TOOL_CALLS]",
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        "\n",
        " ",
        "<",
    ]
    + ["bash", "<function=bash>", "</function>", "[ARGS]", ";", "<|python_tag|>", '{"name": "bash"', "ü", "word " * 30]
)


@settings(max_examples=400, deadline=None)
@given(parts=st.lists(PARTS, max_size=6), cuts=st.lists(st.integers(0, 600), max_size=30), thinks=st.booleans())
def test_any_split_of_a_reply_gives_the_same_result(parts, cuts, thinks):
    text = "".join(parts)

    assert read(text, cuts, in_thought=thinks) == read(text, [], in_thought=thinks)


@settings(max_examples=200, deadline=None)
@given(
    arguments=st.dictionaries(
        st.text(max_size=8), st.text() | st.integers() | st.lists(st.text(max_size=5)), max_size=4
    ),
    cuts=st.lists(st.integers(0, 300), max_size=20),
    form=st.sampled_from(["<tool_call>{}</tool_call>", "[TOOL_CALLS] [{}]", "{}"]),
)
def test_any_arguments_come_through(arguments, cuts, form):
    written = form.replace("{}", json.dumps({"name": "bash", "arguments": arguments}, ensure_ascii=False))

    pieces = read(written, cuts)

    assert [(type(piece), piece.name, json.loads(piece.arguments)) for piece in pieces] == [
        (ParsedCall, "bash", arguments)
    ]


def test_text_is_yielded_as_it_arrives():
    reader = TextToolCalls(TOOLS)

    assert [reader.feed(text) for text in ("I ", "look", " <too", "ls>")] == [
        [TextPiece("I")],
        [TextPiece(" look")],
        [],
        [TextPiece(" <tools>")],
    ]


def test_json_that_is_no_call_is_not_held_back():
    reader = TextToolCalls(TOOLS)

    assert [merged(reader.feed(text)) for text in ('{"na', 'mes": ', "[1, 2")] == [
        [],
        [TextPiece('{"names":')],
        [TextPiece(" [1, 2")],
    ]


def test_without_tools_nothing_is_a_call():
    reader = TextToolCalls()

    assert merged([*reader.feed(f"<think>Hm</think>{TAGGED}"), *reader.finish()]) == [
        ThinkingPiece("Hm"),
        TextPiece(TAGGED),
    ]


def test_another_dialect_is_no_call():
    reader = TextToolCalls(TOOLS, {"marked"})

    assert merged([*reader.feed(TAGGED), *reader.finish()]) == [TextPiece(TAGGED)]


@pytest.mark.parametrize(
    ("template", "dialects"),
    [
        ('… \'<tool_call>\\n{"name": …', {"tagged"}),
        ("… '\"parameters\": ' …", {"bare"}),
        ("… [TOOL_CALLS] …", {"marked"}),
        ("…", {"tagged", "bare", "marked"}),
    ],
)
def test_a_template_shows_the_dialect(template, dialects):
    assert dialects_in(template) == dialects


def test_a_long_call_in_many_pieces_is_read():
    content = "x = {'a': [1, 2]}\n" * 2000
    written = f"<tool_call>{json.dumps({'name': 'bash', 'arguments': {'command': content}})}</tool_call>"

    (call,) = read(written, list(range(0, len(written), 40)))

    assert isinstance(call, ParsedCall)
    assert json.loads(call.arguments) == {"command": content}
