"""Validation of our Bedrock requests, signatures and stream frames by Amazon's own library."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.eventstream import EventStreamBuffer
from botocore.parsers import EventStreamJSONParser
from botocore.serialize import create_serializer
from botocore.session import Session
from botocore.validate import ParamValidator

BLOBS = ("bytes", "redactedContent")


def accepted_by_bedrock(body: Mapping[str, Any], model_id: str = "some.model") -> bool:
    """Return True if the service's model accepts the body, and its own serializer produces the same."""
    asked = {**_with_bytes(body), "modelId": model_id}
    if report := ParamValidator().validate(asked, _operation().input_shape).generate_report():
        raise AssertionError(report)
    return json.loads(_written(asked)["body"]) == body


def path_of(model_id: str) -> str:
    """Return the path as Amazon's own library writes it."""
    return _written({"modelId": model_id})["url_path"]


def read_frames(body: bytes) -> list[tuple[str, Any]]:
    """Return the events of a stream by kind, as Amazon's own library reads them."""
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    return [(_kind(frame.headers), json.loads(frame.payload)) for frame in buffer]


def understood(body: bytes) -> list[dict[str, Any]]:
    """Return the events of a stream, with the fields that the service's model knows."""
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    shape = _operation().output_shape.members["stream"]
    return [EventStreamJSONParser().parse(frame.to_response_dict(), shape) for frame in buffer]


def is_signed(url: str, headers: Mapping[str, str], content: bytes, keys: Credentials, region: str) -> bool:
    """Return True if the signature is the one these keys produce for the request."""
    reported = headers["authorization"]
    signed_names = reported.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    request = AWSRequest("POST", url, {name: headers[name] for name in signed_names}, content)
    request.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(keys, "bedrock", region)
    canonical = auth.canonical_request(request)
    assert quote(url.partition("/model/")[2]) in canonical
    signature = auth.signature(auth.string_to_sign(request, canonical), request)
    return reported.endswith(f"Signature={signature}")


def _kind(headers: Mapping[str, Any]) -> str:
    return headers.get(":event-type") or headers[":exception-type"]


def _written(asked: Mapping[str, Any]) -> dict[str, Any]:
    return create_serializer("rest-json").serialize_to_request(asked, _operation())


@cache
def _operation() -> Any:
    return Session().get_service_model("bedrock-runtime").operation_model("ConverseStream")


def _with_bytes(value: Any) -> Any:
    """Return the body as the library expects it, which encodes bytes as base64 itself."""
    if isinstance(value, Mapping):
        return {
            key: b64decode(inner) if key in BLOBS and isinstance(inner, str) else _with_bytes(inner)
            for key, inner in value.items()
        }
    return [_with_bytes(inner) for inner in value] if isinstance(value, list) else value
