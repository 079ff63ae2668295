"""The tools of a real FastAPI service, made from its own document and called against it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from fakes.api_service import PNG, ApiService
from fakes.workplace import Called, Workplace

from harness.errors import InvalidArguments
from harness.messages import JsonValue
from harness.ports.tool import Tool
from tools.openapi import Credentials, OpenApi, OpenApiTools, OperationFilter

SECRET = 's3cret/+"%x'
ALL = Credentials(bearer=SECRET, username="ada", password=SECRET, api_key=SECRET)


@pytest.fixture(scope="module")
def service() -> Iterator[ApiService]:
    with ApiService() as running:
        yield running


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "work").mkdir()
    return Workplace(tmp_path / "work")


class Caller:
    """Tools of the service by the id of their operation."""

    def __init__(self, tools: tuple[Tool, ...], place: Workplace, apis: OpenApiTools) -> None:
        self.apis = apis
        self.tools = {tool.name.removeprefix("openapi__test__"): tool for tool in tools}
        self._place = place

    async def call(self, id: str, /, **arguments: JsonValue) -> Called:
        return await self._place.call(self.tools[id], **arguments)

    async def answer(self, id: str, /, **arguments: JsonValue) -> Any:
        called = await self.call(id, **arguments)
        assert not called.output.is_error, called.text
        return json.loads(content_of(called))


def content_of(called: Called) -> str:
    """Return the body of a response in its frame."""
    frame = called.text.partition("<untrusted_content ")[2].partition("\n</untrusted_content>")[0]
    return frame.partition("\n\n")[2]


Load: TypeAlias = Callable[..., Awaitable[Caller]]


@pytest.fixture
async def load(service: ApiService, place: Workplace) -> AsyncIterator[Load]:
    """Loads the tools of the service; the options are those of `OpenApi`."""
    opened: list[OpenApiTools] = []

    async def load_tools(**options: Any) -> Caller:
        apis = OpenApiTools(OpenApi("test", document=f"{service.url}/openapi.json", **options))
        opened.append(apis)
        return Caller(await apis.load(), place, apis)

    yield load_tools
    for each in opened:
        await each.close()


async def test_parameters_arrive_in_every_place(load: Load) -> None:
    api = await load()

    arrived = await api.answer("read_item", id=3, tag=["a b", "c&d"], **{"x-trace": "t-1"}, theme="dark", limit=None)

    assert arrived == {"id": 3, "tag": ["a b", "c&d"], "x_trace": "t-1", "theme": "dark", "limit": 10}


async def test_parameters_of_one_name_are_distinguished(load: Load) -> None:
    api = await load()

    arrived = await api.answer("clash", id="p-1", id_query="q", body="b")

    assert arrived == {"path": "p-1", "query": "q", "body": "b"}


COLORS: JsonValue = ["blue", "black"]
POINT: JsonValue = {"R": 100, "G": 200}


@pytest.mark.parametrize(
    ("id", "text", "array", "object_"),
    [
        ("simple_joined", "blue", "blue,black", "R,100,G,200"),
        ("simple_exploded", "blue", "blue,black", "R=100,G=200"),
        ("label_joined", ".blue", ".blue,black", ".R,100,G,200"),
        ("label_exploded", ".blue", ".blue.black", ".R=100.G=200"),
        ("matrix_joined", ";value=blue", ";value=blue,black", ";value=R,100,G,200"),
        ("matrix_exploded", ";value=blue", ";value=blue;value=black", ";R=100;G=200"),
        ("form_joined", "value=blue", "value=blue,black", "value=R,100,G,200"),
        ("form_exploded", "value=blue", "value=blue&value=black", "R=100&G=200"),
        ("spaceDelimited_joined", "value=blue", "value=blue%20black", "value=R%20100%20G%20200"),
        ("spaceDelimited_exploded", "value=blue", "value=blue&value=black", "R=100&G=200"),
        ("pipeDelimited_joined", "value=blue", "value=blue%7Cblack", "value=R%7C100%7CG%7C200"),
        ("pipeDelimited_exploded", "value=blue", "value=blue&value=black", "R=100&G=200"),
        ("deepObject_exploded", "value=blue", "value=blue&value=black", "value%5BR%5D=100&value%5BG%5D=200"),
    ],
)
async def test_each_style_is_sent_as_the_standard_shows_it(
    load: Load,
    id: str,
    text: str,
    array: str,
    object_: str,
) -> None:
    api = await load(filter=OperationFilter(operations=(id,)))

    for value, expected in (("blue", text), (COLORS, array), (POINT, object_)):
        arrived = await api.answer(id, value=value)
        assert (arrived["query"] or arrived["path"].rpartition("/")[2]) == expected


async def test_content_reserved_header_and_cookie_parameters(load: Load) -> None:
    api = await load()

    arrived = await api.answer(
        "others", filter={"a": [1]}, free="a/b?c&d", **{"X-List": ["x", "y"]}, pages=["1", "2;3"]
    )

    assert arrived["query"] == "filter=%7B%22a%22%3A%5B1%5D%7D&free=a/b?c%26d"
    assert arrived["list"] == "x,y"
    assert arrived["cookie"] == "pages=1,2%3B3"


async def test_json_body_with_cycle_and_discriminator(load: Load, service: ApiService) -> None:
    api = await load()
    item: JsonValue = {"name": "box", "parent": {"name": "shelf"}, "pet": {"kind": "dog", "breed": "pug"}}

    called = await api.call("create_item", body=item)

    assert called.lines[0] == f"POST {service.url}/items -> 201 Created"
    assert called.lines[1] == "location: /items/7"
    assert json.loads(content_of(called))["pet"] == {"kind": "dog", "breed": "pug"}


async def test_read_only_property_and_wrong_tag_are_rejected_before_the_call(load: Load) -> None:
    api = await load()
    tool = api.tools["create_item"]

    assert '"id"' not in json.dumps(tool.parameters)
    with pytest.raises(InvalidArguments, match="kind"):
        tool.validate({"body": {"name": "box", "pet": {"kind": "fish"}}})
    with pytest.raises(InvalidArguments, match="name"):
        tool.validate({"body": {"color": "red"}})


async def test_bodies_of_each_kind(load: Load, service: ApiService, place: Workplace) -> None:
    api = await load()
    place.put("a.txt", "hello")
    place.put("b.png", PNG)

    form = await api.answer("send_form", body={"name": "Ada & Bob", "tags": ["x", "y z"]})
    upload = await api.answer("upload", body={"one": "a.txt", "note": "n", "more": ["b.png", "a.txt"]})
    text = await api.answer("send_text", body='"quoted"')
    raw = await api.answer("send_raw", body="b.png")
    deleted = await api.call("delete_item", id=3)

    assert form == {"name": "Ada & Bob", "tags": ["x", "y z"]}
    assert upload["note"] == "n"
    assert upload["files"] == [["a.txt", "text/plain", 5], ["b.png", "image/png", len(PNG)], ["a.txt", "text/plain", 5]]
    assert text["text"] == '"quoted"'
    assert raw == {"bytes": len(PNG), "type": "application/octet-stream"}
    assert deleted.text == f"DELETE {service.url}/items/3 -> 204 No Content\n(no body)"


async def test_files_of_a_call_are_part_of_its_risk(load: Load) -> None:
    api = await load()

    risk = api.tools["upload"].risk({"body": {"one": ".env", "note": "n", "more": ["b.png"]}})

    assert sorted(access.path for access in risk.accesses) == [".env", "b.png"]
    assert risk.level == "execute"
    assert api.tools["read_item"].risk({"id": 3}).level == "read"
    assert not api.tools["read_item"].mutates
    assert api.tools["delete_item"].mutates


@pytest.mark.parametrize("id", ["auth_bearer", "auth_basic", "auth_header", "auth_query", "auth_cookie"])
async def test_each_kind_of_authentication_and_no_secret_in_results(load: Load, id: str) -> None:
    api = await load(credentials=ALL)

    called = await api.call(id)

    assert "-> 200 OK" in called.text
    shown = called.text + repr(called.output) + repr(api.tools[id].__dict__)
    for secret in (SECRET, json.dumps(SECRET)[1:-1], "s3cret"):
        assert secret not in shown


async def test_missing_credentials_are_explained(load: Load, service: ApiService) -> None:
    api = await load()

    called = await api.call("auth_bearer")

    assert called.output.is_error
    assert called.lines[-1] == "No credentials are configured for HTTPBearer."
    assert any("HTTPBearer (1 operation" in problem for problem in api.apis.loaded[0].problems)


async def test_binary_answer_is_saved_and_long_one_cut(load: Load, place: Workplace) -> None:
    api = await load(max_bytes=5000)

    image = await api.call("image")
    long = await api.call("long", count=1000)

    saved = place.context.spill_dir / "response-call-1.png"
    assert f"[image/png, {len(PNG)} bytes, saved to {saved}]" in image.text
    assert saved.read_bytes() == PNG
    assert saved.stat().st_mode & 0o777 == 0o600
    assert long.lines[-1] == "[truncated: only the first 5,000 bytes were read]"


async def test_failures_are_results(load: Load) -> None:
    api = await load(timeout_s=0.2)

    invalid = await api.call("read_item", id=3)
    slow = await api.call("slow")

    assert not invalid.output.is_error
    assert slow.output.is_error
    assert slow.lines[-1] == "no response within 0.2 s"


async def test_error_status_is_a_failed_result_with_the_body(load: Load) -> None:
    api = await load()

    called = await api.call("send_form", body={"name": "only"} | {"tags": []})

    assert called.output.is_error
    assert "-> 422 Unprocessable" in called.lines[0]
    assert "Field required" in called.text


async def test_busy_service_is_asked_once_more(load: Load) -> None:
    api = await load()

    assert await api.answer("busy") == {"attempts": 2}


async def test_redirects_are_followed_only_within_the_origin(load: Load) -> None:
    api = await load(credentials=ALL)

    inside = await api.call("redirect", to="/long?count=1")
    with ApiService() as other:
        outside = await api.call("redirect", to=f"{other.url}/long")

    assert content_of(inside) == "0123456789"
    assert outside.output.is_error
    assert "The redirect leads to another origin and was not followed." in outside.text


async def test_cancelled_call_ends_at_once(load: Load) -> None:
    api = await load()
    call = asyncio.create_task(api.call("slow"))
    await asyncio.sleep(0.05)

    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, 0.8)


async def test_segments_that_lead_elsewhere_and_header_lines_are_rejected(load: Load) -> None:
    api = await load()

    with pytest.raises(InvalidArguments, match="part of the path"):
        await api.call("simple_joined", value="..")
    with pytest.raises(InvalidArguments, match="one line"):
        await api.call("read_item", id=1, **{"x-trace": "a\r\nX-Admin: 1"})


async def test_preview_shows_the_request_without_secrets(load: Load, service: ApiService, place: Workplace) -> None:
    api = await load(credentials=ALL)

    view = await place.foresee(api.tools["create_item"], body={"name": "box"})

    assert f"POST {service.url}/items\n" in view.text  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
    assert '"name": "box"' in view.text  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]


async def test_filters_select_operations(load: Load) -> None:
    by_tag = await load(filter=OperationFilter(tags=("items",), methods=("GET", "delete")))
    by_id = await load(filter=OperationFilter(operations=("auth_*",), excluded=("*_basic",)))
    by_path = await load(filter=OperationFilter(paths=("/form", "/text")))

    assert set(by_tag.tools) == {"read_item", "delete_item"}
    assert set(by_id.tools) == {"auth_bearer", "auth_header", "auth_query", "auth_cookie"}
    assert set(by_path.tools) == {"send_form", "send_text"}


async def test_answer_is_framed_and_the_view_is_not(load: Load) -> None:
    api = await load()

    called = await api.call("read_item", id=3)

    assert called.lines[1] == '<untrusted_content source="127.0.0.1">'
    assert called.lines[-1] == "</untrusted_content>"
    assert "untrusted" not in called.output.view.text  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
