"""APIs in the configuration: tables, trust, what the agent is offered, and `cinch openapi`."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes.api_service import ApiService
from fakes.cinch_process import CINCH
from fakes.cinch_process import run as run_process
from fakes.model_server import ModelServer, Reply

from cinch_tui.assembly.building import assemble
from cinch_tui.cli.start import config_sources
from cinch_tui.config.api_tables import read_apis
from cinch_tui.config.config import Config
from cinch_tui.config.layers import load_config
from cinch_tui.config.names import build
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.openapi import run
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.store import TrustStore
from harness.errors import ConfigError
from harness.events import Notice
from harness.ports.interaction import NonInteractive
from tools.openapi import Credentials, OpenApi, OperationFilter

PATHS: dict[str, Any] = {"/pets/{id}": {"get": {"operationId": "read_pet"}, "delete": {"operationId": "delete_pet"}}}


def document(paths: dict[str, Any] = PATHS) -> str:
    servers = [{"url": "https://api.example.org"}]
    return json.dumps({"openapi": "3.1.0", "info": {"title": "Pets"}, "servers": servers, "paths": paths})


class Home:
    """A user's files and a project's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "home"
        self.project = folder / "project"
        (self.project / ".git").mkdir(parents=True)

    def write(self, text: str, name: str = "config.toml", *, project: bool = False) -> Path:
        path = (self.project / ".cinch" if project else self.folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def config(self) -> Config:
        return load_config(config_sources(find_paths(os.environ), self.project))

    def trust(self) -> None:
        paths = find_paths(os.environ)
        TrustStore(paths.trust_file).trust(inventory(self.project, paths.config_file))

    def apis(self, **environ: str) -> tuple[list[OpenApi], list[str]]:
        return read_apis(self.config().apis, environ)

    def list(self, *argv: str) -> tuple[int, str]:
        stream = io.StringIO()
        status = run(["list", *argv], self.project, Output(stream))
        return status, stream.getvalue()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path)
    monkeypatch.setenv("CINCH_HOME", str(made.folder))
    return made


def test_all_keys_of_a_table(home: Home) -> None:
    home.write("""
        [openapi.apis.pets]
        document = "pets.yaml"
        server = "https://${REGION:-eu}.example.org"
        tags = ["pets"]
        operations = ["read_*"]
        excluded_operations = ["*_all"]
        methods = ["get"]
        paths = ["/pets"]
        bearer = "${TOKEN}"
        username = "ada"
        timeout_s = 5
        headers."X-Team" = "docs"
        variables.base = "v2"
        credentials.admin = "${TOKEN}-2"
    """)

    apis, problems = home.apis(TOKEN="s3cret")

    assert problems == []
    assert apis == [
        OpenApi(
            "pets",
            str(home.folder / "pets.yaml"),
            server="https://eu.example.org",
            variables={"base": "v2"},
            credentials=Credentials("s3cret", "ada", schemes={"admin": "s3cret-2"}),
            headers={"X-Team": "docs"},
            filter=OperationFilter(("pets",), ("read_*",), ("*_all",), ("get",), ("/pets",)),
            timeout_s=5.0,
        )
    ]


@pytest.mark.parametrize("source", ["a.json", "http://docs.example.org/a.json", "http://["])
def test_document_that_others_can_change_does_not_decide_who_receives_secrets(home: Home, source: str) -> None:
    home.write(f'[openapi.apis.a]\ndocument = "{source}"\nbearer = "secret"\n')

    apis, problems = home.apis()

    assert apis == []
    assert "the API a needs `server`: whoever changes its document" in problems[0]


def test_missing_variable_affects_one_api_only(home: Home) -> None:
    home.write('[openapi.apis.a]\ndocument = "a.json"\nserver = "${NONE}"\n[openapi.apis.b]\ndocument = "b.json"\n')

    apis, problems = home.apis()

    assert [api.name for api in apis] == ["b"]
    assert len(problems) == 1
    assert problems[0].endswith("line 2: the API a needs the environment variable NONE, which is not set")


def test_unknown_key_is_an_error(home: Home) -> None:
    home.write('[openapi.apis.a]\ndocumnt = "a.json"\n')

    with pytest.raises(ConfigError, match=r"unknown key 'openapi\.apis\.a\.documnt'; did you mean"):
        home.config()


def test_untrusted_project_offers_no_api(home: Home) -> None:
    home.write('[openapi.apis.pets]\ndocument = "pets.json"\ntags = ["${TOKEN}"]\n', project=True)

    assert home.apis(TOKEN="s3cret") == ([], [])
    assert any("openapi.apis.pets" in notice for notice in home.config().notices)
    assert "offers tools of the API pets" in inventory(home.project).found[0].summary

    home.trust()

    assert [api.document for api in home.apis(TOKEN="s3cret")[0]] == [str(home.project / "pets.json")]


def test_another_file_cannot_redirect_the_credentials(home: Home) -> None:
    home.write('[openapi.apis.pets]\ndocument = "https://example.org/pets.json"\nbearer = "secret"\n')
    home.write('[openapi.apis.pets]\nserver = "https://evil.example"\n', project=True)
    home.write('[openapi.apis.pets]\nmethods = ["get"]\n', "config.local.toml", project=True)
    home.trust()

    (api,), problems = home.apis()

    assert api.server == ""
    assert api.filter.methods == ("get",)
    assert "server can only be set next to the document of pets" in problems[0]


def test_only_the_table_with_the_document_can_allow_plain_http(home: Home) -> None:
    home.write('[openapi.apis.a]\ndocument = "a.json"\nallow_http = true\n[openapi.apis.b]\ndocument = "b.json"\n')
    home.write("[openapi.apis.b]\nallow_http = true\n", project=True)
    home.trust()

    apis, problems = home.apis()

    assert [(api.name, api.allow_http) for api in apis] == [("a", True), ("b", False)]
    assert "allow_http can only be set next to the document of b" in problems[0]


def test_agent_has_the_tools_that_the_settings_offer(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    (home.project / "pets.json").write_text(document(PATHS | {"/t": {"trace": {}}}))
    home.write(
        '[openapi.apis.pets]\ndocument = "pets.json"\n[openapi.apis.none]\ndocument = "none.json"\n', project=True
    )
    home.trust()
    config = home.config()
    paths = find_paths(os.environ)
    sources = config_sources(paths, home.project)
    options = Options(
        cwd=home.project, paths=paths, environ=os.environ, sources=sources, keep_session=False, apis=config.apis
    )
    settings = build({"model.name": "anthropic/main", "tools.disabled": ("openapi__pets__delete*",)})

    assembly = asyncio.run(assemble(options, settings, NonInteractive()))

    names = [tool.name for tool in assembly.agent.state.callable_tools]
    assert names[-1] == "openapi__pets__read_pet"
    assert "openapi__pets__delete_pet" not in names
    assert [text for text in assembly.warnings if text.startswith("API")] == [
        "API pets: 1 operation is not offered: TRACE /t: TRACE is not supported: its response repeats the credentials "
        "of the request",
        f"API none: {home.project / 'none.json'}: there is no such file",
    ]


async def test_document_that_takes_long_is_loaded_in_the_background(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    monkeypatch.setattr("cinch_tui.api_tools.STARTUP_WAIT_S", 0)
    home.folder.mkdir()
    (home.folder / "pets.json").write_text(document(PATHS | {"/t": {"trace": {}}}))
    home.write('[openapi.apis.pets]\ndocument = "pets.json"\n')
    paths, apis = find_paths(os.environ), home.config().apis
    sources = config_sources(paths, home.project)
    options = Options(cwd=home.project, paths=paths, environ=os.environ, sources=sources, keep_session=False, apis=apis)

    assembly = await assemble(options, build({"model.name": "anthropic/main"}), NonInteractive())
    notices: list[str] = []
    assembly.agent.subscribe(lambda event: notices.append(event.text) if isinstance(event, Notice) else None)

    assert assembly.warnings == []
    assert not [tool for tool in assembly.agent.state.callable_tools if tool.name.startswith("openapi__")]
    while not notices:
        await asyncio.sleep(0.01)
    assert len([tool for tool in assembly.agent.state.callable_tools if tool.name.startswith("openapi__")]) == 2
    assert notices[0].startswith("API pets: 1 operation is not offered")
    await assembly.apis.close()


def test_print_mode_calls_an_operation(home: Home) -> None:
    calls = [("openapi__test__read_item", {"id": 3}), ("openapi__test__delete_item", {"id": 3})]
    with ApiService() as service, ModelServer([Reply(calls=[each]) for each in calls] + [Reply("done")]) as model:
        home.write(
            f'[openapi.apis.test]\ndocument = "{service.url}/openapi.json"\noperations = ["*_item"]\n'
            f'[model]\nname = "anthropic/fake-model"\nbase_url = "{model.url}"\n'
        )
        done = run_process(
            [*CINCH, "-p", "read item 3"],
            cwd=home.project,
            ANTHROPIC_API_KEY="sk-ant-not-a-key",
            CINCH_HOME=str(home.folder),
        )
        results = json.dumps([request.body["messages"][-1] for request in model.requests[1:]])
        declared = {tool["name"] for tool in model.requests[0].body["tools"]}

    assert done.stdout == "done\n", done.stderr
    assert {"openapi__test__read_item", "openapi__test__create_item", "openapi__test__delete_item"} <= declared
    assert f"GET {service.url}/items/3 -> 200 OK" in results
    assert "DELETE" not in results


def test_list_shows_tools_and_reasons(home: Home) -> None:
    (home.folder).mkdir()
    (home.folder / "pets.json").write_text(document(PATHS | {"/t": {"trace": {}}}))
    home.write('[openapi.apis.pets]\ndocument = "pets.json"\n[openapi.apis.none]\ndocument = "none.json"\n')

    status, text = home.list("pets")

    assert status == 0
    assert text == (
        "pets (Pets): 2 tools\n"
        "  openapi__pets__read_pet    GET /pets/{id}\n"
        "  openapi__pets__delete_pet  DELETE /pets/{id}\n"
        "  not offered: TRACE /t: TRACE is not supported: its response repeats the credentials of the request\n"
    )
    status, text = home.list()
    assert status == 1
    assert "problem: " in text
    assert home.list(str(home.folder / "pets.json"))[1].startswith("document (Pets): 2 tools\n")
    with pytest.raises(ConfigError, match="no API named 'other' is configured"):
        home.list("other")


def test_nothing_is_imported_without_an_api() -> None:
    loaded = "sorted(m for m in sys.modules if 'openapi' in m or m == 'yaml')"
    code = f"import sys, cinch_tui.assembly.building; print({loaded})"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
