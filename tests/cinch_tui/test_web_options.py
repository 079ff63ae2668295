"""Options of the web tools by settings and keys, and keys of search services."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes.web_site import WebSite

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.api_keys.provider_key import KeyAccepted, KeyRefused, KeyUnchecked
from cinch_tui.api_keys.search_key import SearchKey
from cinch_tui.config.paths import find_paths
from cinch_tui.config.tables.tools import WebSearch, WebSettings
from cinch_tui.web_options import secret_variables, web_options
from harness.ports.provider import Hosting
from tools.web.options import SEARCH_KEYS


def store(folder: Path, **environment: str) -> KeyStore:
    known: Mapping[str, str] = {"HOME": str(folder), "CINCH_KEYRING": "off", **environment}
    return KeyStore(find_paths(known), known)


@pytest.mark.parametrize(
    ("search", "keys", "service", "hosting"),
    [
        ("auto", (), "", "only"),
        ("auto", ("EXA_API_KEY", "TAVILY_API_KEY"), "tavily", "preferred"),
        ("native", ("BRAVE_API_KEY",), "", "only"),
        ("exa", ("BRAVE_API_KEY",), "exa", ""),
        ("searxng", (), "searxng", ""),
        ("off", ("BRAVE_API_KEY",), "", ""),
    ],
)
def test_search_service_by_setting_and_keys(
    tmp_path: Path, search: WebSearch, keys: tuple[str, ...], service: str, hosting: Hosting
) -> None:
    options = web_options(WebSettings(search=search), store(tmp_path, **dict.fromkeys(keys, "secret")))

    assert (options.service, options.hosting) == (service, hosting)


def test_damaged_key_file_does_not_prevent_a_start(tmp_path: Path) -> None:
    keys = store(tmp_path)
    keys.file.parent.mkdir(parents=True, exist_ok=True)
    keys.file.write_text("{", encoding="utf-8")

    assert web_options(WebSettings(), keys).service == ""


def test_keys_of_search_services_are_hidden_from_commands() -> None:
    assert {"BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "ANTHROPIC_API_KEY"} <= set(secret_variables())


@pytest.mark.parametrize(("status", "kind"), [(200, KeyAccepted), (403, KeyRefused), (500, KeyUnchecked)])
async def test_key_of_a_search_service_is_checked_by_a_search(tmp_path: Path, status: int, kind: type) -> None:
    with WebSite() as site:
        site.page("/search", json.dumps({"results": []}), "application/json", status=status)

        assert isinstance(await SearchKey(store(tmp_path), "searxng").check(site.url), kind)


async def test_stored_key_is_found_at_the_next_start(tmp_path: Path) -> None:
    report = await SearchKey(store(tmp_path), "brave").store("secret", KeyAccepted())
    keys = store(tmp_path)
    options = web_options(WebSettings(), keys)

    assert report.startswith("Brave Search accepted the key. It is stored in ")
    assert "secret" not in report
    assert options.service == "brave"
    assert options.find_key("brave", SEARCH_KEYS["brave"]) == "secret"
    assert "EXA_API_KEY is set" in SearchKey(store(tmp_path, EXA_API_KEY="x"), "exa").note
