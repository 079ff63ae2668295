"""What `docs/your-own-provider.md` says is done here as a reader would do it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.model_server import ModelServer, Reply
from fakes.provider_packages import EXAMPLE, ROOT, EchoServer, cinch, install, installed_example, pip_install

from harness.api import WHERE
from providers import plugins

GUIDE = (ROOT / "docs" / "your-own-provider.md").read_text(encoding="utf-8")
# Its blocks, in their order.
PRESET, PROTOCOL, TEST = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
(PROJECT,) = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_package_of_a_preset_is_built_installed_and_answers(tmp_path: Path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "cinch_acme.py").write_text(PRESET, encoding="utf-8")
    (source / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    pip_install([source], tmp_path / "installed")

    with ModelServer([Reply("Good day.")]) as server:
        command = ["-p", "Hello", "-m", "acme", "--base-url", server.openai_url]
        done = cinch(*command, cwd=tmp_path, installed=tmp_path / "installed", ACME_API_KEY="sk-acme")

    assert done.stdout == "Good day.\n", done.stderr
    assert server.requests[0].headers["authorization"] == "Bearer sk-acme"
    assert server.requests[0].body["model"] == "acme-large"


@pytest.mark.parametrize(
    ("answer", "reported"),
    [
        ([{"say": "Good "}, {"say": "day."}, {"end": "done", "read": 5, "wrote": 2}], "Good day."),
        ([{"problem": {"status": 402, "text": "pay first"}}], "Talk: no credit or quota left"),
        ([{"sing": "la"}], "the service sent an invalid event"),
        ([{"say": "Good day."}, {"end": "done", "read": "5", "wrote": 2}], "talk sent an invalid delta"),
    ],
)
def test_the_custom_protocol_answers_and_fails_as_documented(
    answer: list[dict[str, str]], reported: str, tmp_path: Path
):
    packages = install(tmp_path / "installed", "talk", PROTOCOL, entry="talk_package:PLUGIN")

    with EchoServer([answer]) as server:
        done = cinch("-p", "Hello", "-m", "talk", "--base-url", server.url, cwd=tmp_path, installed=packages)

    assert reported in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert server.asked[0]["text"].endswith("Hello")


def test_the_test_of_an_author_passes(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path):
    (tmp_path / "test_guide.py").write_text(TEST, encoding="utf-8")
    installed = installed_example(tmp_path_factory)
    command = ["-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", str(tmp_path)]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{EXAMPLE / 'tests'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert "1 passed" in done.stdout, done.stdout


def test_every_name_in_its_prose_is_there_to_import():
    prose = re.sub(r"^```.*?^```$", "", GUIDE, flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`(?:harness\.)?([A-Z][a-z]\w+)[`(]", prose))

    assert named > {"Preset", "ProviderPlugin", "Service", "Transport", "Done", "StreamError"}
    assert named - {*WHERE, *plugins.__all__} <= {"False", "None", "ValueError", "TypeError", "KeyError"}


def test_every_field_it_describes_is_one_of_a_preset():
    rows = re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE)

    assert len(rows) == 10
    assert set(rows) <= set(plugins.Preset.__struct_fields__)
    assert set(re.findall(r"`(\w+_variables?)`", GUIDE)) <= set(plugins.Preset.__struct_fields__)
