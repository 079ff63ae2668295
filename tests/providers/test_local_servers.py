from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from fakes import model_lists as lists
from fakes.asking import Serve

from harness.messages import JsonValue
from harness.ports.provider import ModelInfo
from providers import connect, list_models
from providers.model_catalog.listing import metadata_of_model
from providers.model_catalog.local_servers import LocalServer, find_local_servers
from providers.model_catalog.metadata import FREE, LazyModelInfo, ModelMetadata


@contextmanager
def port_with(answer: bytes) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, suppress(ConnectionError):
                        connection.sendall(answer)
                        connection.recv(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


async def test_the_servers_that_answer_are_found_with_their_models(serve: Serve) -> None:
    server = serve([])
    server.models = ("qwen3-coder", "gpt-oss:20b")

    with port_with(b"") as dumb, port_with(b"SSH-2.0-OpenSSH\r\n") as other, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        ports = {"ollama": server.port, "vllm": dumb, "lmstudio": other, "llamacpp": unused.getsockname()[1]}
        found = await find_local_servers(ports, seconds=5)

    assert found == [LocalServer("ollama", server.openai_url, ("qwen3-coder", "gpt-oss:20b"))]


async def test_the_models_of_a_server_are_listed(serve: Serve) -> None:
    server = serve([])
    server.models = ("a", "b")

    assert await list_models("openai-chat", base_url=server.openai_url) == ["a", "b"]
    assert await list_models("anthropic", base_url=server.url) == ["a", "b"]


@pytest.mark.parametrize(
    ("answer", "window"),
    [
        ({"default_generation_settings": {"n_ctx": 65536, "params": {}}, "total_slots": 1}, 65536),
        ({"data": [{"id": "x", "max_model_len": 1}, {"id": "m", "max_model_len": 40960}]}, 40960),
        ({"data": [{"id": "m", "max_context_length": 131072, "loaded_context_length": 8192}]}, 8192),
        ({"models": [{"name": "m", "model": "m", "context_length": 4096}]}, 4096),
        ({"models": [{"name": "other", "context_length": 4096}]}, None),
        ({"models": []}, None),
        ([], None),
        ("text", None),
    ],
)
def test_the_window_is_found_in_each_servers_answer(answer: JsonValue, window: int | None) -> None:
    assert metadata_of_model(answer, "m").context_window == window


@pytest.mark.parametrize(
    ("answer", "model_id", "known"),
    [
        (lists.LM_STUDIO_V0, "qwen2-vl-7b-instruct", ModelMetadata(8_192, images=True, tools=True)),
        (lists.LM_STUDIO_V0, "another", ModelMetadata()),
        (lists.LLAMA_CPP_PROPS, "whatever", ModelMetadata(16_384, images=True, tools=True)),
        (lists.VLLM, "Qwen/Qwen3-8B", ModelMetadata(40_960)),
        ("nothing", "m", ModelMetadata()),
    ],
)
def test_model_details_are_found_in_the_answer_of_a_server(
    answer: JsonValue, model_id: str, known: ModelMetadata
) -> None:
    assert metadata_of_model(answer, model_id) == known


async def test_a_model_on_this_machine_is_known_to_see_or_not(serve: Serve) -> None:
    server = serve([])
    server.shown = {"capabilities": ["completion", "tools"]}
    model = connect("ollama/m", base_url=server.url)

    facts = await model.info.load()

    assert (facts.images, facts.tools, facts.thinking) == (False, True, False)
    await model.provider.close()


async def test_a_local_server_that_reports_no_window_gets_a_modest_one(serve: Serve) -> None:
    server = serve([])
    server.shown = {}
    model = connect("ollama/m", base_url=server.openai_url)

    before, loaded = model.info.now, await model.info.load()

    assert isinstance(model.info, LazyModelInfo)
    assert before is None
    assert loaded == model.info.now == ModelInfo(context_window=32_768, price=FREE)
    await model.provider.close()
