from __future__ import annotations

import pytest

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import Family, Invocation, NearMiss, Registry
from cinch_tui.commands.secrets import TypedKey, take_keys


@pytest.fixture(scope="module")
def registry() -> Registry:
    return builtin_commands()


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        ("/plan", "/plan", ""),
        ("  /plan\n", "/plan", ""),
        ("/Q", "/quit", ""),
        ("/exit", "/quit", ""),
        ("/help", "#help", ""),
        ("/model  demo/tour ", "/model", "demo/tour"),
        ("#approve untrust write_file", "#approve", "untrust write_file"),
        ("/system You are  terse.", "/system", "You are  terse."),
    ],
)
def test_known_first_word_of_one_line_is_a_command(registry: Registry, text: str, name: str, argument: str):
    parsed = registry.parse(text)

    assert isinstance(parsed, Invocation)
    assert (parsed.command.name, parsed.argument) == (name, argument)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "#",
        "# Heading",
        "# Heading\nbody",
        "## plan",
        "#help\nand more",
        "/etc/hosts is broken",
        "/usr/bin/x is broken",
        "/etc/hosts",
        "/model\ngpt",
        "#define FOO 1",
        "#1 is the worst of them",
        "/frobnicate all the things",
        "// a comment",
        "//plan",
        "\\#clear",
        "fix the /plan command",
        "please #help",
    ],
)
def test_prompt_that_looks_like_a_command_stays_a_prompt(registry: Registry, text: str):
    assert registry.parse(text) is None


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("#aprove", "#approve"),
        ("#aprove on", "#approve"),
        ("/hlep", "#help"),
        ("/clear", "#clear"),
        ("#plan", "/plan"),
        ("/approve on", "#approve"),
        ("/thinkin high", "/thinking"),
    ],
)
def test_near_miss_names_what_was_probably_meant(registry: Registry, text: str, suggestion: str):
    parsed = registry.parse(text)

    assert isinstance(parsed, NearMiss)
    assert parsed.suggestions[0] == suggestion


def test_unknown_single_word_is_asked_about_without_suggestions(registry: Registry):
    assert registry.parse("#frobnicate") == NearMiss("#frobnicate", (), "there is no command #frobnicate")


def test_text_after_a_command_that_takes_none_is_not_swallowed(registry: Registry):
    parsed = registry.parse("/new idea: rewrite it all")

    assert isinstance(parsed, NearMiss)
    assert parsed.reason == "/new takes nothing after it"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("//plan", "/plan"),
        ("\\#clear", "#clear"),
        ("\\/plan", "/plan"),
        ("//plam", "/plam"),
        ("// a comment", "// a comment"),
        ("\\alpha", "\\alpha"),
        ("plain", "plain"),
    ],
)
def test_escape_sends_the_literal_command(registry: Registry, text: str, sent: str):
    assert registry.literal(text) == sent


def test_two_commands_of_one_name_are_refused():
    family = Family("Twice")

    @family.command("/same", "first")
    @family.command("/same", "second")
    async def same(front: object, argument: str) -> None: ...

    with pytest.raises(ValueError, match="/same"):
        Registry([family])


def test_keys_are_taken_out_of_a_longer_text():
    text = "use this:\n#key openai sk-secret\nand go on\n  #key anthropic sk-other trailing words\nend"

    rest, keys = take_keys(text)

    assert rest == "use this:\nand go on\nend"
    assert keys == (TypedKey("openai", "sk-secret"), TypedKey("anthropic", "sk-other"))


def test_a_typed_key_does_not_show_its_secret():
    assert "sk-secret" not in repr(TypedKey("openai", "sk-secret"))


@pytest.mark.parametrize("text", ["#keys", "#key", "#key openai", "a #key b c", "# key points here", "plain"])
def test_text_without_a_whole_key_line_is_left_alone(text: str):
    assert take_keys(text) == (text, ())
