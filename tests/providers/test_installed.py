from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes.model_server import ModelServer, Reply
from fakes.provider_packages import cinch, install, preset_code

IMPORTED = "import os; open(os.environ['TRACE'], 'a').write(__name__ + '\\n')\n"
REPORT = """
import json, sys
from providers.installed import all_presets, problems
print(json.dumps({"names": list(all_presets()), "problems": problems()}))
"""
OWN = """
from providers.plugins import Preset, ProviderPlugin
PRESET = Preset("{name}", "A label", "own", "https://api.example.com", key_variables=("ACME_API_KEY",){more})
{name} = ProviderPlugin(PRESET, {open})
"""
# Content of each package, and the report on it.
BROKEN = {
    "absent": ("import no_such_module\n", "No module named 'no_such_module'"),
    "syntax": ("this is no Python\n", "SyntaxError"),
    "exits": ("raise SystemExit('goodbye')\n", "SystemExit: goodbye"),
    "nameless": ("", "has no attribute 'nameless'"),
    "wrong": ("wrong = {}\n", "expected a Preset or a ProviderPlugin, not dict"),
    "raises": ("def raises(): raise KeyError('x')\n", "KeyError"),
    "lacks": ("from providers.plugins import Preset\nlacks = Preset('lacks')\n", "Missing required argument"),
    "other": (preset_code("another") + "other = another\n", "is named 'other' but its preset 'another'"),
    "speech": (preset_code("speech").replace("openai_chat", "elvish"), "no code for the protocol 'elvish'"),
    "ours": (OWN.format(name="ours", more="", open="print").replace("own", "gemini"), "use another protocol name"),
    "bare": (preset_code("bare").replace('("ACME_API_KEY",)', '"ACME_API_KEY"'), "key_variables must be a tuple"),
    "keyless": (preset_code("keyless").replace('"ACME_API_KEY",', ""), "or set key_required=False"),
    "address": (preset_code("address", url="example.com"), "base_url must begin with http"),
    "pattern": (OWN.format(name="pattern", more=', own_urls="("', open="print"), "own_urls is not a valid regular"),
    "headers": (OWN.format(name="headers", more=', headers={"x": 1}', open="print"), "headers must be strings"),
    "anthropic": (preset_code("anthropic"), "cinch has a built-in provider of that name"),
    "demo": (preset_code("demo"), "cinch has a built-in provider of that name"),
    "Shout": (preset_code("Shout"), "a name consists of lower-case letters"),
}


def python(code: str, installed: Path, **variables: str) -> Any:
    """What the code prints as JSON, in a process that finds these packages."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(installed), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Of all the broken ones beside a good one."""
    folder = tmp_path_factory.mktemp("packages")
    for name, (code, _) in BROKEN.items():
        install(folder, name, code)
    install(folder, "good", preset_code("good"))
    for damaged in ("half-1.0.dist-info", "void-1.0.dist-info"):
        (folder / damaged).mkdir()
    (folder / "half-1.0.dist-info" / "entry_points.txt").write_text("[cinch.providers]\nhalf\n")
    (folder / "void-1.0.dist-info" / "entry_points.txt").write_text("[cinch.providers]\nvoid = void:void\n")
    return python(REPORT, folder)


@pytest.mark.parametrize("name", BROKEN)
def test_a_provider_that_cannot_be_used_is_reported_with_its_package_and_what_to_do(
    name: str, report: dict[str, list[str]]
):
    (reported,) = [problem for problem in report["problems"] if f"the provider {name!r}" in problem]

    assert reported.startswith(f"the provider {name!r} of the package {name}-package 1.2 cannot be used: ")
    assert BROKEN[name][1] in reported
    assert reported.endswith(f"; update the package, or remove it: pip uninstall {name}-package")


def test_other_providers_are_listed_after_builtin_ones(report: dict[str, list[str]]):
    assert report["names"][0] == "anthropic"
    assert report["names"][-1] == "good"
    assert set(report["names"]) & BROKEN.keys() == {"anthropic"}


def test_a_builtin_name_cannot_be_replaced(tmp_path: Path):
    folder = install(tmp_path, "anthropic", IMPORTED + preset_code("anthropic"))
    code = "import json; from providers import connect; print(json.dumps(connect('anthropic').spec.model_id))"

    model = python(code, folder, ANTHROPIC_API_KEY="k", TRACE=str(tmp_path / "trace"))

    assert model.startswith("claude-")
    assert not (tmp_path / "trace").exists()


def test_one_of_two_packages_with_the_same_name_is_used_everywhere(tmp_path: Path):
    install(tmp_path, "acme", preset_code("acme", url="https://one.example.com"), package="zzz-acme")
    folder = install(tmp_path, "acme", preset_code("acme", url="https://two.example.com"), package="acme-official")
    code = REPORT.replace('"names": list(all_presets())', '"url": all_presets()["acme"].base_url')

    found = python(code, folder)

    assert found["url"] == "https://two.example.com"
    assert (
        "the package zzz-acme 1.2 cannot be used: acme-official 1.2 has a provider of the same name"
        in found["problems"][0]
    )


def test_only_the_provider_that_is_meant_is_imported(tmp_path: Path):
    for name in ("acme", "bystander"):
        install(tmp_path, name, IMPORTED + preset_code(name))
    code = "from providers import connect; connect({!r}); print(0)"

    python(code.format("ollama/x"), tmp_path, TRACE=str(tmp_path / "trace"))
    before = (tmp_path / "trace").exists()
    python(code.format("acme"), tmp_path, TRACE=str(tmp_path / "trace"), ACME_API_KEY="k")

    assert not before
    assert (tmp_path / "trace").read_text(encoding="utf-8") == "acme_package\n"


@pytest.mark.parametrize("python_path", ["", "."])
def test_an_untrusted_folder_adds_no_provider(tmp_path: Path, python_path: str):
    folder = install(tmp_path / "project", "evil", IMPORTED + preset_code("evil"))
    trace = tmp_path / "trace"

    asked = cinch("-p", "hi", "-m", "evil/x", cwd=folder, installed=python_path, TRACE=str(trace))
    listed = cinch("models", "--providers", cwd=folder, installed=python_path, TRACE=str(trace))

    assert "unknown provider 'evil'" in asked.stderr
    assert listed.returncode == 0
    assert not trace.exists()


def test_a_preset_alone_answers_in_the_protocol_it_names(tmp_path: Path):
    with ModelServer([Reply("Good day.")]) as server:
        folder = install(tmp_path / "packages", "acme", preset_code("acme", url=server.openai_url))
        done = cinch("-p", "Hello", "-m", "acme", cwd=tmp_path, installed=folder, ACME_API_KEY="sk-acme")

    assert done.stdout == "Good day.\n", done.stderr
    assert server.requests[0].headers["authorization"] == "Bearer sk-acme"
    assert server.requests[0].body["model"] == "large"


def test_a_key_that_is_missing_is_reported_as_for_any_other(tmp_path: Path):
    folder = install(tmp_path / "packages", "acme", preset_code("acme"))

    done = cinch("-p", "Hello", "-m", "acme", cwd=tmp_path, installed=folder)

    assert done.returncode == 2
    assert "no key for A label: set ACME_API_KEY, or enter it with #key acme" in done.stderr


def test_its_key_is_in_no_recording_of_another_provider(tmp_path: Path):
    packages = install(tmp_path / "packages", "acme", preset_code("acme", variable="ACME_LOGIN"))
    tape = tmp_path / "tape.jsonl"

    with ModelServer([Reply("Good day.")]) as server:
        command = ["-p", "It is acme-login-1234", "-m", "openai-chat/m", "--base-url", server.openai_url]
        cinch(*command, "--record", str(tape), cwd=tmp_path, installed=packages, ACME_LOGIN="acme-login-1234")

    recorded = tape.read_text(encoding="utf-8")
    assert "It is [removed]" in recorded
    assert "acme-login-1234" not in recorded


def test_an_exception_while_streaming_is_a_failed_reply(tmp_path: Path):
    code = OWN.format(name="acme", more="", open="lambda endpoint: WireService(endpoint, Wire())").replace(
        "import Preset", "import WireService, Preset"
    )
    wire = "class Wire:\n    def format_request(self, request): raise RuntimeError('no such words')\n"
    folder = install(tmp_path / "packages", "acme", wire + code)

    done = cinch("-p", "Hello", "-m", "acme/large", cwd=tmp_path, installed=folder, ACME_API_KEY="k")

    assert done.stderr == "cinch: acme failed: RuntimeError: no such words\n"
    assert done.returncode == 1


def test_model_details_of_an_installed_provider_are_known_at_once(tmp_path: Path):
    code = preset_code("acme") + (
        "from providers.plugins import ProviderPlugin\nfrom harness import ModelInfo\n"
        "PLUGIN = ProviderPlugin(acme, facts=lambda model: ModelInfo(9_000) if model == 'small' else None)\n"
    )
    folder = install(tmp_path, "acme", code, entry="acme_package:PLUGIN")
    ask = "import json; from providers import connect; print(json.dumps(connect({!r}).info.now.context_window))"

    windows = [python(ask.format(name), folder, ACME_API_KEY="k") for name in ("acme/small", "acme/other")]

    assert windows == [9_000, 200_000]
