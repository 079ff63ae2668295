from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    ModelSpec,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    user,
)
from harness.ports.provider import Request
from providers import connect
from providers.gguf.encode import TEMPLATE_VARIANTS, TemplateVariant, encode
from providers.gguf.store import HubName, choose, quantisation_of, read_name

SPEC = ModelSpec("local", "tiny")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("./x.gguf", Path("x.gguf")),
        ("~/models/x.gguf", Path("~/models/x.gguf")),
        ("/models/o/r/x.gguf", Path("/models/o/r/x.gguf")),
        ("x.gguf", Path("x.gguf")),
        ("models/x.gguf", Path("models/x.gguf")),
        ("o/r-GGUF", HubName("o/r-GGUF")),
        ("o/r:Q4_K_M", HubName("o/r", quantisation="Q4_K_M")),
        ("o/r/x.gguf", HubName("o/r", "x.gguf")),
        ("o/r/sub/x.gguf", HubName("o/r", "sub/x.gguf")),
        ("hf.co/o/r:Q8_0", HubName("o/r", quantisation="Q8_0")),
        ("https://huggingface.co/o/r/resolve/main/x.gguf", HubName("o/r", "x.gguf")),
    ],
)
def test_a_name_is_a_path_or_a_repository(name: str, meant: Path | HubName) -> None:
    assert read_name(name) == (meant.expanduser() if isinstance(meant, Path) else meant)


@pytest.mark.parametrize(
    ("file", "quantisation"),
    [
        ("Qwen3-8B-Q4_K_M.gguf", "Q4_K_M"),
        ("qwen2.5-coder-7b-instruct-q4_k_m.gguf", "q4_k_m"),
        ("Qwen3-8B-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("m-IQ4_XS.gguf", "IQ4_XS"),
        ("model.Q5_K_S.gguf", "Q5_K_S"),
        ("Q8_0/model-Q8_0-00001-of-00002.gguf", "Q8_0"),
        ("gpt-oss-20b-mxfp4.gguf", "mxfp4"),
        ("gemma-3-1b-it-f16.gguf", "f16"),
        ("model.gguf", ""),
    ],
)
def test_a_file_name_shows_its_quantisation(file: str, quantisation: str) -> None:
    assert quantisation_of(file) == quantisation


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        (["a-Q8_0.gguf", "a-Q4_K_M.gguf", "a-BF16.gguf"], ["a-Q4_K_M.gguf"]),
        (["a-BF16.gguf", "a-UD-Q4_K_XL.gguf"], ["a-UD-Q4_K_XL.gguf"]),
        (["a-BF16.gguf", "mmproj-a-Q4_K_M.gguf"], ["a-BF16.gguf"]),
        (["a.gguf"], ["a.gguf"]),
        (
            ["b-Q4_K_M-00002-of-00002.gguf", "b-Q4_K_M-00001-of-00002.gguf"],
            ["b-Q4_K_M-00001-of-00002.gguf", "b-Q4_K_M-00002-of-00002.gguf"],
        ),
    ],
)
def test_the_most_common_quantization_is_the_default(files: list[str], chosen: list[str]) -> None:
    assert choose(files, HubName("o/r")) == chosen


def said(
    *messages: UserMessage | AssistantMessage | ToolResult, variant: TemplateVariant = TEMPLATE_VARIANTS[0]
) -> list[JsonObject]:
    return encode(Request(SPEC, "Be kind.", messages), variant)


def test_a_template_is_given_the_conversation() -> None:
    call = ToolCall("call_1", "look", {"at": "ü"})
    failed = ToolResult("call_1", "look", (Text("gone"), Image("image/png", "aGk=")), is_error=True)

    system, *rest = said(user("Hi"), user("there"), AssistantMessage((Text("I look."), call)), failed)

    assert system == {"role": "system", "content": "Be kind."}
    assert rest[0] == {"role": "user", "content": "Hi\n\nthere"}
    assert rest[1]["tool_calls"] == [
        {"id": rest[2]["tool_call_id"], "type": "function", "function": {"name": "look", "arguments": {"at": "ü"}}}
    ]
    assert rest[2]["content"] == "Error: gone\n(an image, which this model cannot see)"
    assert len(str(rest[2]["tool_call_id"])) == 9


def test_calls_go_one_by_one_with_their_results_where_a_template_wants_it() -> None:
    calls = (ToolCall("a", "look", {}), ToolCall("b", "look", {}))
    results = (ToolResult("a", "look", (Text("one"),)), ToolResult("b", "look", (Text("two"),)))

    messages = said(
        user("Hi"), AssistantMessage((Text("I look."), *calls)), *results, variant=TemplateVariant(one_call=True)
    )

    assert [message["content"] for message in messages[2:]] == ["I look.", "one", "", "two"]


def test_the_system_prompt_becomes_a_user_message_where_a_template_requires_it() -> None:
    messages = said(user("Hi"), variant=TemplateVariant(no_system=True))

    assert messages == [{"role": "user", "content": "Be kind.\n\nHi"}]


def test_without_the_extra_one_sentence_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)

    with pytest.raises(ConfigError, match=r"pip install 'cinch-tui\[local\]'"):
        connect("local/./x.gguf")
