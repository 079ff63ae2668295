from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.config.paths import find_paths
from cinch_tui.config.settings import Settings
from cinch_tui.config.tables.model import ModelSettings
from cinch_tui.models.connecting import NoModel, choose_model
from harness.errors import ConfigError
from providers.preset import presets

PROXY = "https://models.example.com"


def keys_of(folder: Path, monkeypatch: pytest.MonkeyPatch, **environ: str) -> KeyStore:
    for preset in presets().values():
        for variable in (*preset.variables, preset.base_url_variable):
            monkeypatch.delenv(variable or "NONE", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    everything = {"CINCH_HOME": str(folder), "CINCH_KEYRING": "off", **environ}
    return KeyStore(find_paths(everything), everything)


def test_with_no_key_the_commonest_variables_and_the_list_of_the_others_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NoModel) as caught:
        choose_model(Settings(), keys_of(tmp_path, monkeypatch))

    for word in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "cinch models --providers", "-m demo"):
        assert word in str(caught.value)
    assert len(str(caught.value)) < 300


def test_no_key_leads_past_a_proxy_that_was_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = keys_of(tmp_path, monkeypatch, LLM_BASE_URL=PROXY, OPENAI_API_KEY="sk-of-somebody")

    with pytest.raises(NoModel, match=r"LLM_BASE_URL sets a proxy.*-m proxy/MODEL"):
        choose_model(Settings(), keys)


def test_a_model_that_is_named_is_taken_next_to_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = keys_of(tmp_path, monkeypatch, LLM_BASE_URL=PROXY, OPENAI_API_KEY="sk-of-somebody")

    named = choose_model(Settings(model=ModelSettings(name="openai/gpt-6-sol")), keys)
    behind = choose_model(Settings(model=ModelSettings(name="proxy/ours")), keys)

    assert (named.spec.name, behind.spec.name) == ("openai/gpt-6-sol", "proxy/ours")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("claude-sonnet-5-5", "anthropic/claude-sonnet-5-5"),
        ("claude-opus-99", "anthropic/claude-opus-99"),
        ("mistral-medium-3-5", "mistral/mistral-medium-3-5"),
        ("medium 3-5", "mistral/mistral-medium-3-5"),
        ("anthropic/never-heard-of", "anthropic/never-heard-of"),
        ("demo", "demo/tour"),
    ],
)
def test_model_is_found_without_its_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, wanted: str
) -> None:
    keys = keys_of(tmp_path, monkeypatch, ANTHROPIC_API_KEY="k-anthropic", MISTRAL_API_KEY="k-mistral")

    assert choose_model(Settings(model=ModelSettings(name=name)), keys).spec.name == wanted


def test_ambiguous_model_name_lists_the_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = keys_of(tmp_path, monkeypatch, ANTHROPIC_API_KEY="k-anthropic", MISTRAL_API_KEY="k-mistral")

    with pytest.raises(ConfigError, match=r"'sonnet' is ambiguous: anthropic/claude-.*sonnet.*; add the provider"):
        choose_model(Settings(model=ModelSettings(name="sonnet")), keys)


def test_bare_model_name_without_a_key_asks_for_the_key_of_its_vendor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="no key for Anthropic"):
        choose_model(Settings(model=ModelSettings(name="claude-sonnet-5-5")), keys_of(tmp_path, monkeypatch))


def test_exact_model_name_loads_no_price_data(tmp_path: Path) -> None:
    code = (
        "import sys, os; from pathlib import Path; from cinch_tui.models.connecting import full_name\n"
        "from cinch_tui.api_keys.key_store import KeyStore; from cinch_tui.config.paths import find_paths\n"
        "full_name('anthropic/claude-x', KeyStore(find_paths(os.environ), os.environ))\n"
        "print([name for name in sys.modules if name in ('genai_prices', 'cinch_tui.models.offers')])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_the_first_provider_with_a_key_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = keys_of(tmp_path, monkeypatch, GROQ_API_KEY="k-groq", MISTRAL_API_KEY="k-mistral")

    assert choose_model(Settings(), keys).spec.provider == "mistral"
