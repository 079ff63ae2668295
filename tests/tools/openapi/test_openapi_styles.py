from __future__ import annotations

from typing import Literal
from urllib.parse import parse_qsl

import pytest
import uritemplate
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.messages import JsonValue
from tools.openapi.styles import Serialization, Style, encoded, header_text, path_text, query_pairs, text_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
LISTS = st.lists(TEXTS, min_size=1, max_size=4)
# In the order in which the judge writes them.
OBJECTS = st.dictionaries(NAMES, TEXTS, min_size=1, max_size=4).map(lambda each: dict(sorted(each.items())))


def query(value: JsonValue, style: Style, *, explode: bool) -> str:
    pairs = query_pairs("value", value, Serialization(style, explode))
    return "&".join(f"{name}={text}" for name, text in pairs)


@given(TEXTS | LISTS | OBJECTS, st.booleans(), st.sampled_from(["simple", "label", "matrix"]))
def test_path_styles_are_expansions_of_rfc_6570(
    value: str | list[str] | dict[str, str], explode: bool, style: Literal["simple", "label", "matrix"]
) -> None:
    # The judge adds `=` to an empty item, unlike section 3.2.1 of the RFC.
    assume(not (style == "matrix" and explode and "" in (value.values() if isinstance(value, dict) else value)))
    operator = {"simple": "", "label": ".", "matrix": ";"}[style]
    template = f"{{{operator}value{'*' if explode else ''}}}"

    written = path_text("value", value, Serialization(style, explode))  # pyright: ignore[reportArgumentType]

    assert written == uritemplate.expand(template, value=value)


@given(TEXTS | LISTS | OBJECTS, st.booleans())
def test_form_style_is_an_expansion_of_rfc_6570(value: str | list[str] | dict[str, str], explode: bool) -> None:
    expanded = uritemplate.expand(f"{{?value{'*' if explode else ''}}}", value=value)

    assert query(value, "form", explode=explode) == expanded.removeprefix("?")  # pyright: ignore[reportArgumentType]


@given(OBJECTS)
def test_deep_object_arrives_unchanged(value: dict[str, str]) -> None:
    written = query(value, "deepObject", explode=True)  # pyright: ignore[reportArgumentType]

    assert parse_qsl(written, keep_blank_values=True) == [(f"value[{name}]", text) for name, text in value.items()]


@given(LISTS, st.sampled_from([("spaceDelimited", " "), ("pipeDelimited", "|")]))
def test_delimited_list_arrives_unchanged(value: list[str], delimited: tuple[Style, str]) -> None:
    style, delimiter = delimited

    written = query(value, style, explode=False)  # pyright: ignore[reportArgumentType]

    assert parse_qsl(written, keep_blank_values=True) == [("value", delimiter.join(value))]


@given(TEXTS)
def test_reserved_characters_cannot_end_the_value(text: str) -> None:
    written = encoded(text, allow_reserved=True)

    assert not set(written) & set("&#+[] ")
    assert written.isascii()


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (None, ""), (1.5, "1.5"), (10, "10"), ({"a": [1]}, '{"a":[1]}'), ("", "")],
)
def test_values_as_text(value: JsonValue, text: str) -> None:
    assert text_of(value) == text


def test_nested_objects_and_empty_values() -> None:
    assert query({"a": {"b": [1, 2]}}, "deepObject", explode=True) == "value%5Ba%5D%5Bb%5D=1&value%5Ba%5D%5Bb%5D=2"
    assert [query(empty, "form", explode=True) for empty in (None, [], {})] == ["", "", ""]
    assert header_text({"a": 1, "b": True}, Serialization("simple", True)) == "a=1,b=true"
    assert header_text({"a": 1}, Serialization("simple", False)) == "a,1"
