from __future__ import annotations

from pathlib import Path

import pytest

from cinch_tui.assembly import NoModel, choose_model
from cinch_tui.config.settings import ModelSettings, Settings
from cinch_tui.credentials import KeyStore
from cinch_tui.paths import find_paths
from providers.catalog import presets

PROXY = "https://models.example.com"


def keys_of(folder: Path, monkeypatch: pytest.MonkeyPatch, **environ: str) -> KeyStore:
    for preset in presets().values():
        for variable in (*preset.variables, preset.base_url_variable):
            monkeypatch.delenv(variable or "NONE", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    everything = {"CINCH_HOME": str(folder), "CINCH_KEYRING": "off", **environ}
    return KeyStore(find_paths(everything), everything)


def test_with_no_key_the_commonest_variables_are_named_and_where_the_others_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NoModel) as caught:
        choose_model(Settings(), keys_of(tmp_path, monkeypatch))

    for word in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "cinch models --providers", "-m demo"):
        assert word in str(caught.value)
    assert len(str(caught.value)) < 300


def test_no_key_leads_past_a_proxy_that_was_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = keys_of(tmp_path, monkeypatch, LLM_BASE_URL=PROXY, OPENAI_API_KEY="sk-of-somebody")

    with pytest.raises(NoModel, match=r"LLM_BASE_URL names a proxy.*-m proxy/MODEL"):
        choose_model(Settings(), keys)


def test_a_model_that_is_named_is_taken_beside_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = keys_of(tmp_path, monkeypatch, LLM_BASE_URL=PROXY, OPENAI_API_KEY="sk-of-somebody")

    named = choose_model(Settings(model=ModelSettings(name="openai/gpt-6-sol")), keys)
    behind = choose_model(Settings(model=ModelSettings(name="proxy/ours")), keys)

    assert (named.spec.name, behind.spec.name) == ("openai/gpt-6-sol", "proxy/ours")


def test_the_first_provider_with_a_key_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = keys_of(tmp_path, monkeypatch, GROQ_API_KEY="k-groq", MISTRAL_API_KEY="k-mistral")

    assert choose_model(Settings(), keys).spec.provider == "mistral"
