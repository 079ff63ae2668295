from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness import api

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", api.__all__)
def test_every_name_of_the_api_can_be_imported_from_harness(name: str):
    assert getattr(harness, name) is getattr(api, name)


def test_a_name_that_is_not_there_is_no_attribute():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = harness.nonsense


def test_one_module_of_the_harness_does_not_load_the_agent():
    code = "import sys, harness.errors; print('harness.agent' in sys.modules)"

    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "False"


@pytest.mark.parametrize("package", ["harness", "providers", "tools", "cinch_tui"])
def test_every_package_tells_that_it_is_typed(package: str):
    assert (ROOT / package / "py.typed").exists()
