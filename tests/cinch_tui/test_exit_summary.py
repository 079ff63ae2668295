from __future__ import annotations

from cinch_tui.app.exit_summary import last_exchange
from harness.messages import AssistantMessage, Message, Text, UserMessage


def said(text: str, *, synthetic: bool = False) -> UserMessage:
    return UserMessage((Text(text),), synthetic=synthetic)


def reply(text: str) -> AssistantMessage:
    return AssistantMessage((Text(text),))


def test_the_last_prompt_is_a_line_and_the_reply_is_wrapped() -> None:
    history: list[Message] = [said("before"), reply("no"), said("why\nnot?"), reply(""), reply("one two three")]

    assert last_exchange(history, 9) == "> why …\n\none two\nthree"


def test_a_long_reply_shows_its_end() -> None:
    shown = last_exchange([said("count"), reply("\n".join(str(number) for number in range(100)))], 80).splitlines()

    assert len(shown) == 22
    assert shown[2:4] == ["… 81 more lines", "81"]
    assert shown[-1] == "99"


def test_wide_letters_take_two_cells_and_sequences_take_effect_no_more() -> None:
    assert last_exchange([said("\x1b[31m?"), reply("世界 世界\x1b[2J")], 6) == "> ␛[3…\n\n世界\n世界␛[\n2J"


def test_without_answers_nothing_is_shown() -> None:
    assert last_exchange([], 80) == ""
    assert last_exchange([said("hello")], 80) == ""
    assert last_exchange([reply("a notice")], 80) == ""


def test_notices_for_the_user_are_no_prompts() -> None:
    assert last_exchange([said("go"), said("time is up", synthetic=True), reply("done")], 80) == "> go\n\ndone"
