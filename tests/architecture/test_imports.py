from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.model_server import ModelServer, Reply

ROOT = Path(__file__).parents[2]
HEAVY = {"textual", "rich", "httpx", "pydantic", "keyring", "genai_prices", "asyncio"}
LOOKS_FOR_PACKAGES = {"importlib.metadata", "providers.plugins", "providers.plugin_check"}
OURS = {"cinch_tui", "extensions", "http_client", "providers", "tools", "themes"}


def loaded_by(code: str, **environment: str) -> set[str]:
    """Return the names of the modules that a new process has loaded after running `code`."""
    report = "\nimport sys as _sys; print('\\n'.join(sorted(_sys.modules)), file=_sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code + report],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines())


@pytest.mark.parametrize("module", ["cli.main", "print_mode.run", "assembly", "config", "subcommands.doctor"])
def test_print_mode_loads_no_screen(module: str) -> None:
    loaded = loaded_by(f"import cinch_tui.{module}")

    assert loaded.isdisjoint({"textual", "rich"})


def test_reply_in_print_mode_imports_only_the_request_path(tmp_path: Path) -> None:
    with ModelServer([Reply("done")]) as server:
        command = ["-p", "hi", "-m", "openai-chat/m", "--base-url", server.openai_url]
        code = f"from cinch_tui.cli.main import main; assert main({command!r}) == 0"
        loaded = loaded_by(code, CINCH_HOME=str(tmp_path), CINCH_KEYRING="off", OPENAI_API_KEY="none")

    assert "httpx" in loaded
    assert loaded.isdisjoint({"textual", "rich", "click", "pygments", "pydantic", "genai_prices", "keyring"})
    assert loaded.isdisjoint(LOOKS_FOR_PACKAGES)
    # Without a configured server.
    assert loaded.isdisjoint({"mcp", "mcp_types", "httpx2", "tools.mcp.servers", "tools.mcp.host"})
    # Without subagents in files.
    assert loaded.isdisjoint({"extensions.subagent_tool", "extensions.agent_files", "tools.delegate", "yaml"})


def test_no_package_search_without_provider_packages() -> None:
    loaded = loaded_by("from providers.installed import all_presets, problems; all_presets(); problems()")

    assert loaded.isdisjoint(LOOKS_FOR_PACKAGES)


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_version_and_help_load_nothing_heavy(flag: str) -> None:
    loaded = loaded_by(f"from cinch_tui.cli.main import main; assert main([{flag!r}]) == 0")

    assert loaded.isdisjoint(HEAVY)
    assert "harness" not in loaded


def test_harness_imports_no_other_package_of_cinch_and_no_screen_or_network() -> None:
    loaded = loaded_by(
        "import importlib, pkgutil, harness\n"
        "for module in pkgutil.walk_packages(harness.__path__, 'harness.'): importlib.import_module(module.name)"
    )

    assert {name.partition(".")[0] for name in loaded}.isdisjoint(OURS | {"textual", "rich", "httpx", "keyring"})


@pytest.mark.parametrize(
    ("named", "other"),
    [("anthropic", "openai_chat"), ("openai-chat", "anthropic"), ("demo", "anthropic"), ("bedrock", "openai_chat")],
)
def test_only_the_named_provider_is_imported(named: str, other: str) -> None:
    code = f"from providers import connect; connect({named!r})"

    loaded = loaded_by(code, ANTHROPIC_API_KEY="none", OPENAI_API_KEY="none")

    assert f"providers.{other}" not in loaded
    assert f"providers.{named.replace('-', '_')}" in loaded


def test_no_class_is_a_dataclass() -> None:
    """The decorator compiles methods at import, which took close to half of a start; `DataMessage` does not."""
    folders = ("harness", "http_client", "providers", "tools", "extensions", "cinch_tui")
    sources = [path.read_text(encoding="utf-8") for folder in folders for path in (ROOT / folder).rglob("*.py")]

    assert [found for source in sources for found in re.findall(r"@(?:dataclasses\.)?dataclass\b.*\n.*", source)] == []


def test_first_frame_imports_only_itself() -> None:
    bare = loaded_by("import cinch_tui")

    loaded = loaded_by("import cinch_tui.launch") - bare

    terminal = {"cinch_tui.terminal", "cinch_tui.terminal.first_frame", "cinch_tui.terminal.guard"}
    assert loaded <= {"cinch_tui.launch", *terminal} | {"select", "termios", "_thread", "_signal"}


def test_later_modules_are_not_imported_before_the_first_paint() -> None:
    loaded = loaded_by("import cinch_tui.app.app, cinch_tui.terminal.driver")

    later = {"httpx", "hashlib", "pydantic", "jsonschema", "keyring", "genai_prices", "markdown_it", "PIL"}
    ours = {
        "harness.agent.agent",
        "harness.events",
        "providers",
        "tools",
        "cinch_tui.assembly",
        "cinch_tui.transcript.view",
    }
    assert loaded.isdisjoint(later | ours)


def preloaded_by(call: str) -> set[str]:
    return loaded_by(
        "import asyncio\n"
        "from types import SimpleNamespace\n"
        "from cinch_tui.app.preload import import_modules, warm, warm_reply\n"
        "from cinch_tui.notifications.presence import Presence\n"
        "from providers import connect\n"
        "from tools import builtin_tools\n"
        "state = SimpleNamespace(model=connect('openai/gpt-5'), tools=builtin_tools())\n"
        f"import_modules(); asyncio.run({call})",
        OPENAI_API_KEY="none",
    )


REPLY_MODULES = {"tools.read", "tools.bash", "markdown_it", "pygments.lexers.python", "cinch_tui.screens.approval"}


def test_idle_app_has_loaded_what_a_request_needs_and_nothing_for_its_reply() -> None:
    loaded = preloaded_by("warm(state)")

    assert {"httpx", "anyio._backends._asyncio", "filelock"} <= loaded
    assert loaded.isdisjoint(REPLY_MODULES | {"genai_prices", "pydantic", "jsonschema", "html.entities"})


def test_app_with_a_conversation_has_loaded_what_a_reply_needs() -> None:
    loaded = preloaded_by("warm_reply(state, Presence())")

    assert loaded >= REPLY_MODULES
    assert loaded.isdisjoint({"genai_prices", "pydantic"})


@pytest.mark.parametrize("preset", ["anthropic", "openai", "groq", "gemini", "vertex", "bedrock", "ollama", "proxy"])
def test_model_imports_its_own_protocol_only(preset: str) -> None:
    code = f"from providers import connect; connect('{preset}/m', base_url='http://127.0.0.1:9')"

    loaded = [name for name in loaded_by(code) if name.startswith("providers.") and name.endswith(".provider")]

    assert len(loaded) == 1


def test_call_of_a_built_in_tool_derives_no_schema() -> None:
    loaded = loaded_by(
        "import msgspec\n"
        "from tools import builtin_tools\n"
        "msgspec.json.schema = None\n"
        "read = next(tool for tool in builtin_tools() if tool.name == 'read_file')\n"
        "assert read.validate({'path': 'a', 'limit': '5'})['limit'] == 5"
    )

    assert "tools.read" in loaded
    assert "pydantic" not in loaded
