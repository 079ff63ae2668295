from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.ports.provider import Price
from providers.model_catalog.metadata import ModelMetadata
from providers.model_catalog.prices import PriceCache, look_up, look_up_in_subprocess

LOOK_UPS = [look_up, look_up_in_subprocess]


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


@pytest.mark.parametrize("look_up", LOOK_UPS)
def test_a_lookup_of_today_is_not_repeated(
    look_up: Callable[[str, str, PriceCache | None], ModelMetadata], tmp_path: Path
) -> None:
    shelf = PriceCache(tmp_path / "prices")
    first = look_up("anthropic", "claude-sonnet-4-5", shelf)
    kept = only_file(shelf.folder)
    kept.write_text(kept.read_text(encoding="utf-8").replace(str(first.context_window), "4711"), encoding="utf-8")

    again = look_up("anthropic", "claude-sonnet-4-5", shelf)

    assert first == look_up("anthropic", "claude-sonnet-4-5")
    assert again == ModelMetadata(4711, price=first.price)


def test_a_second_look_loads_no_price_data(tmp_path: Path) -> None:
    PriceCache(tmp_path).put("openai", "gpt-5", ModelMetadata(400_000, price=Price(1, 2, 0.5, 0, None)))
    code = (
        "import sys; from pathlib import Path; from providers.model_catalog.prices import look_up\n"
        "from providers.model_catalog.prices import PriceCache\n"
        f"print(look_up('openai', 'gpt-5', PriceCache(Path({str(tmp_path)!r}))))\n"
        "assert not {'genai_prices', 'pydantic', 'importlib.metadata'} & set(sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "400000" in done.stdout
    assert "output=2.0" in done.stdout


def test_an_unknown_model_is_looked_up_once_a_day_too(tmp_path: Path) -> None:
    look_up("openai", "model-of-tomorrow", PriceCache(tmp_path))

    assert PriceCache(tmp_path).get("openai", "model-of-tomorrow") == ModelMetadata()
    assert PriceCache(tmp_path).get("openai", "another") is None


def test_a_price_that_depends_on_the_hour_is_not_kept(tmp_path: Path) -> None:
    shelf = PriceCache(tmp_path / "prices")

    assert look_up("deepseek", "deepseek-reasoner", shelf).price
    assert shelf.get("deepseek", "deepseek-reasoner") is None


@pytest.mark.parametrize("spoilt", ["", "{", "[]", '{"of": ["2001-01-01", 1], "window": 5, "price": null}'])
def test_outdated_or_invalid_cache_files_are_refreshed(spoilt: str, tmp_path: Path) -> None:
    shelf = PriceCache(tmp_path)
    known = look_up("anthropic", "claude-sonnet-4-5", shelf)
    only_file(tmp_path).write_text(spoilt, encoding="utf-8")

    assert shelf.get("anthropic", "claude-sonnet-4-5") is None
    assert look_up("anthropic", "claude-sonnet-4-5", shelf) == known
    assert json.loads(only_file(tmp_path).read_text(encoding="utf-8"))["window"] == known.context_window


def test_an_unwritable_cache_folder_costs_only_time(tmp_path: Path) -> None:
    # Root may write everywhere, but into no folder that is a file.
    (tmp_path / "prices").write_text("")

    assert look_up("anthropic", "claude-sonnet-4-5", PriceCache(tmp_path / "prices")).price


def test_a_name_leads_nowhere_else(tmp_path: Path) -> None:
    shelf = PriceCache(tmp_path / "prices")

    shelf.put("openai", "../../../etc/x", ModelMetadata(5))

    assert [path.parent for path in tmp_path.rglob("*.json")] == [shelf.folder]
    assert shelf.get("openai", "../../../etc/x") == ModelMetadata(5)
