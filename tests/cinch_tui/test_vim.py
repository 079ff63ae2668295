from __future__ import annotations

import pytest
from fakes.vim_field import PlainField, press
from hypothesis import given
from hypothesis import strategies as st

from cinch_tui.widgets.prompt.vim.state_machine import Vim

KEYS = [*"dcyhjklwWbBeE0^$gGfFtT;,%{}xXDCYsSr~pPJuoOaAiIvV.(2", "escape", "ctrl+r"]


def after(written: str, keys: str) -> str:
    """The text with its cursor as `|`, once these keys were pressed in normal mode."""
    field = PlainField(written.replace("|", ""), written.index("|"))
    vim = Vim(field)
    vim.mode = "normal"
    press(vim, field, keys)
    return f"{field.text[: field.index]}|{field.text[field.index :]}"


MOTIONS = [
    ("on|e two", "h", "o|ne two"),
    ("|one\ntwo", "h", "|one\ntwo"),
    ("on|e\ntwo", "l", "on|e\ntwo"),
    ("|one two", "2l", "on|e two"),
    ("|one two, three", "w", "one |two, three"),
    ("one |two, three", "w", "one two|, three"),
    ("one |two, three", "W", "one two, |three"),
    ("|one two three", "2w", "one two |three"),
    ("|a\n\nb", "w", "a\n|\nb"),
    ("one two, |three", "b", "one two|, three"),
    ("one two, |three", "B", "one |two, three"),
    ("|one two", "e", "on|e two"),
    ("on|e two", "e", "one tw|o"),
    ("|one, two", "E", "one|, two"),
    ("  on|e", "0", "|  one"),
    ("  on|e", "^", "  |one"),
    ("|one\ntwo", "$", "on|e\ntwo"),
    ("|one\ntwo", "2$", "one\ntw|o"),
    ("one\ntwo\n  th|ree", "gg", "|one\ntwo\n  three"),
    ("|one\ntwo\n  three", "G", "one\ntwo\n  |three"),
    ("|one\ntwo\n  three", "2G", "one\n|two\n  three"),
    ("|a-b-c-d", "f-", "a|-b-c-d"),
    ("|a-b-c-d", "2f-", "a-b|-c-d"),
    ("|a-b-c-d", "t-", "|a-b-c-d"),
    ("|a-b-c-d", "f-;", "a-b|-c-d"),
    ("|a-b-c-d", "f-;,", "a|-b-c-d"),
    ("|ab-cd-ef", "t-;", "ab-c|d-ef"),
    ("a-b-c-|d", "F-", "a-b-c|-d"),
    ("a-b-c-|d", "T-", "a-b-c-|d"),
    ("|a-b", "fx", "|a-b"),
    ("|f(a(b)c)d", "%", "f(a(b)c|)d"),
    ("f(a(b)c|)d", "%", "f|(a(b)c)d"),
    ("|a\nb\n\nc", "}", "a\nb\n|\nc"),
    ("a\n\nb\n|c", "{", "a\n|\nb\nc"),
    ("lo|ng\na\nlong", "jj", "long\na\nlo|ng"),
    ("long\na\nlon|g", "kk", "lon|g\na\nlong"),
]

OPERATORS = [
    ("|one two", "dw", "|two"),
    ("one |two\nthree", "dw", "one| \nthree"),
    ("|one two three", "d2w", "|three"),
    ("|one two three", "2dw", "|three"),
    ("|one two", "cwsix␛", "si|x two"),
    ("on|e two", "cwx␛", "on|x two"),
    ("one |two", "db", "|two"),
    ("|one two", "de", "| two"),
    ("one |two three", "d$", "one| "),
    ("one |two", "D", "one| "),
    ("one |two", "Cx␛", "one |x"),
    ("one |two", "d0", "|two"),
    ("|one, two", "dt,", "|, two"),
    ("|one, two", "df,", "| two"),
    ("f|(a, b) c", "d%", "f| c"),
    ("one\nt|wo\nthree", "dd", "one\n|three"),
    ("one\ntw|o", "dd", "|one"),
    ("|one", "dd", "|"),
    ("|one\ntwo\nthree", "2dd", "|three"),
    ("|one\ntwo\nthree", "dj", "|three"),
    ("one\ntwo\n|three", "dgg", "|"),
    ("|one\ntwo", "dG", "|"),
    ("  o|ne\ntwo", "ccx␛", "|x\ntwo"),
    ("  o|ne\ntwo", "Sx␛", "|x\ntwo"),
    ("|one two", "yw$p", "one twoone| "),
    ("|one\ntwo", "yyp", "one\n|one\ntwo"),
    ("one\n|two", "yyP", "one\n|two\ntwo"),
    ("|one\ntwo", "Yjp", "one\ntwo\n|one"),
    ("|one\ntwo", "ddp", "two\n|one"),
    ("|ab", "xp", "b|a"),
    ("|abc", "2x", "|c"),
    ("ab|c", "x", "a|b"),
    ("ab|c", "2X", "|c"),
    ("|abc", "sx␛", "|xbc"),
    ("|abc", "rx", "|xbc"),
    ("|abc", "2rx", "x|xc"),
    ("|abc", "9rx", "|abc"),
    ("|aBc", "3~", "Ab|C"),
    ("|one\n  two\nthree", "J", "one| two\nthree"),
    ("|one\n  two\nthree", "3J", "one two| three"),
    ("|ab", "yl3p", "aaa|ab"),
]

OBJECTS = [
    ("one t|wo three", "diw", "one | three"),
    ("one t|wo three", "daw", "one |three"),
    ("one tw|o", "daw", "on|e"),
    ("a (b, |c) d", "di(", "a (|) d"),
    ("a (b, |c) d", "dab", "a | d"),
    ("a (b (x) |c) d", "ci)y␛", "a (|y) d"),
    ("f(|(a))", "di(", "f((|))"),
    ("{ a: [1, |2] }", "di[", "{ a: [|] }"),
    ("{ a: |1 }", "daB", "|"),
    ('say "h|i there" now', 'ci"yo␛', 'say "y|o" now'),
    ("say |it 'so' now", "da'", "say it | now"),
    ("a|b <c>", "di<", "a|b <c>"),
    ("x\n\na\n|b\n\ny", "dip", "x\n\n|\ny"),
    ("x\n\na\n|b\n\ny", "dap", "x\n\n|y"),
]

MODES = [
    ("|b", "ia␛", "|ab"),
    ("|b", "aa␛", "b|a"),
    ("on|e", "A!␛", "one|!"),
    ("  on|e", "I-␛", "  |-one"),
    ("o|ne\ntwo", "ox␛", "one\n|x\ntwo"),
    ("one\nt|wo", "Ox␛", "one\n|x\ntwo"),
    ("|one two", "ved", "| two"),
    ("|one two", "vwlcx␛", "|xo"),
    ("o|ne\ntwo\nthree", "Vjd", "|three"),
    ("one t|wo", "viwU", "one |TWO"),
    ("|one two", "vey$p", "one twoon|e"),
    ("|one two", "yiwwviwp", "one |one"),
    ("a|bc", "vohd", "|c"),
    ("|abcd", "vlrx", "|xxcd"),
    ("|abc", "vl␛x", "a|c"),
    ("|one\ntwo", "VJ", "one| two"),
    ("|abc", "vVd", "|"),
]

AGAIN = [
    ("|a b c", "dw.", "|c"),
    ("|one one", "cwx␛w.", "x |x"),
    ("|abcdef", "x3.", "|ef"),
    ("|a\nb", "A;␛j.", "a;\nb|;"),
    ("|a b c", "dwu", "|a b c"),
    ("|a b c", "dwdwuu", "|a b c"),
    ("|a b c", "dwu^R", "|b c"),
    ("|a b c", "dz.", "|a b c"),
    ("|a b c", "2gzdw", "|b c"),
]


@pytest.mark.parametrize(
    ("written", "keys", "wanted"),
    [*MOTIONS, *OPERATORS, *OBJECTS, *MODES, *AGAIN],
    ids=[f"{keys} in {written!r}" for written, keys, _ in [*MOTIONS, *OPERATORS, *OBJECTS, *MODES, *AGAIN]],
)
def test_keys_do_what_they_do_in_vi(written: str, keys: str, wanted: str):
    assert after(written, keys) == wanted


def test_escape_is_left_to_others_only_in_normal_mode_with_nothing_begun():
    field = PlainField("text", 2)
    vim = Vim(field)

    assert press(vim, field, "␛␛") == ["taken", "left"]
    assert press(vim, field, "d␛␛") == ["taken", "taken", "left"]
    assert press(vim, field, "v␛␛") == ["taken", "taken", "left"]


def test_up_and_down_at_the_ends_ask_for_other_prompts():
    field = PlainField("one\ntwo", 0)
    vim = Vim(field)
    vim.mode = "normal"

    assert press(vim, field, "kjj") == ["older", "taken", "newer"]


def test_keys_of_no_letter_are_left_and_end_what_was_begun():
    field = PlainField("one two", 0)
    vim = Vim(field)
    vim.mode = "normal"
    vim.key("d")

    assert (vim.key("enter"), vim.key("ctrl+c"), vim.pending) == ("left", "left", "")
    vim.key("w")
    assert field.text == "one two"


def test_visual_mode_marks_the_selected_text():
    field = PlainField("one two\nthree", 4)
    vim = Vim(field)
    vim.mode = "normal"

    press(vim, field, "ve")
    assert (vim.mode, field.marked) == ("visual", "two")
    press(vim, field, "V")
    assert (vim.mode, field.marked) == ("visual line", "one two")


@given(st.text('ab ("\n.é', max_size=30), st.lists(st.sampled_from(KEYS), max_size=25))
def test_no_keys_lead_out_of_the_text(text: str, keys: list[str]):
    field = PlainField(text, len(text) // 2)
    vim = Vim(field)
    vim.key("escape")

    for key in keys:
        vim.key(key)
        assert 0 <= field.index <= len(field.text)
        assert (
            vim.mode != "normal"
            or field.text[field.index : field.index + 1] != "\n"
            or field.text[field.index - 1 : field.index] in ("", "\n")
        )
