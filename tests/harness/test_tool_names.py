"""Names of tools from elsewhere."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from harness.function_tools.names import legal_group, legal_tool_name


def test_a_legal_name_stays_as_it_is() -> None:
    assert legal_tool_name("mcp", "github", "create-issue_2") == "mcp__github__create-issue_2"


def test_an_altered_name_ends_with_a_hash_that_tells_similar_names_apart() -> None:
    dotted, spaced = legal_tool_name("mcp", "files", "read.text"), legal_tool_name("mcp", "files", "read text")

    assert re.fullmatch(r"mcp__files__read_text_[0-9a-f]{8}", dotted)
    assert dotted != spaced


def test_a_long_name_is_shortened_to_64_characters_and_keeps_its_beginning() -> None:
    name, other = (legal_tool_name("mcp", "warehouse", "list_all_orders_" * 5 + end) for end in "ab")

    assert len(name) == 64
    assert name.startswith("mcp__warehouse__list_all_orders_")
    assert name != other


NAMES = st.text("ab_ ", min_size=1, max_size=40)


@given(NAMES, NAMES, NAMES, NAMES)
def test_different_servers_or_tools_give_different_names(server: str, tool: str, other: str, other_tool: str) -> None:
    names = {legal_tool_name("mcp", *parts) for parts in ((server, tool), (other, other_tool))}

    assert len(names) == len({(server, tool), (other, other_tool)})


@given(st.text())
def test_a_server_has_one_name_in_front_of_its_tools(server: str) -> None:
    group = legal_group(server)

    assert legal_tool_name("mcp", server, "_" * 99).startswith(f"mcp__{group}___")
    assert "__" not in group
    assert legal_group(group) == group


@given(st.lists(st.text(), min_size=1, max_size=3))
def test_every_name_is_legal_and_stable(parts: list[str]) -> None:
    name = legal_tool_name(*parts)

    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
    assert name == legal_tool_name(*parts)
