from __future__ import annotations

import re
from pathlib import Path

import pytest

from cinch_tui.models.connecting import connect
from cinch_tui.reports.formatting import app_hints
from harness.errors import ConfigError
from providers.preset import EnvironmentCredentials

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("groq/m", "no key for Groq: set GROQ_API_KEY, or enter it with #key groq"),
        ("proxy/m", "set LLM_BASE_URL=https://…, or start cinch with --base-url"),
        ("ollama", "name a model, as in ollama/NAME; cinch models ollama lists them"),
    ],
)
def test_the_app_replaces_python_arguments_by_its_own_commands(name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        connect(name, credentials=EnvironmentCredentials({}))

    assert hint in str(caught.value)
    assert "connect()" not in str(caught.value)


def test_other_texts_stay_as_they_are() -> None:
    assert app_hints("rate limit reached") == "rate limit reached"


def test_no_error_of_the_library_names_a_command_of_the_app() -> None:
    """The tour of the demo model, which is part of the app, is the exception."""
    sources = [*ROOT.glob("harness/**/*.py"), *ROOT.glob("providers/**/*.py")]
    named = re.compile(r"#key\\b|--base-url|--model\\b")

    assert [path.name for path in sources if path.name != "tour.py" and named.search(path.read_text("utf-8"))] == []
