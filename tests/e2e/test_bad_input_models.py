from __future__ import annotations

import json
import time

import pytest
from fakes.script import Cut, Failure, Raw, Reply

KEY = "sk-ant-bad-input-secret"
ONCE = {"CINCH_RETRY_MAX_RETRIES": "0"}
TWICE = {"CINCH_RETRY_MAX_RETRIES": "1"}


@pytest.fixture
def ask(serve, printed):
    """Run print mode with a model that answers from a script; return the output and the server."""

    def run(script, *args, **env):
        server = serve(script)
        done = printed("-p", "hello", *args, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY=KEY, **env)
        assert KEY not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done, server

    return run


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("antropic/claude", "did you mean anthropic?"),
        ("claude-sonnet-5", "no key for Anthropic"),
        ("openai-chat", "no key for OpenAI"),
        ("zzz/zzz", "known are anthropic"),
    ],
)
def test_unavailable_provider_is_a_usage_error_with_the_nearest_names(printed, name, said):
    done = printed("-p", "hello", "-m", name)

    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_missing_key_and_model_explains_what_to_do(printed):
    done = printed("-p", "hello")

    assert done.returncode == 2
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert "-m demo" in done.stderr


def test_unknown_model_suggests_the_nearest_of_the_service(ask):
    body = {"type": "error", "error": {"type": "not_found_error", "message": "model: fake-modle"}}

    done, _ = ask([Failure(404, body)], "-m", "anthropic/fake-modle")

    assert done.returncode == 1
    assert "did you mean fake-model?" in done.stderr


def test_rejected_key_is_reported_with_its_variable_and_never_shown(ask):
    done, server = ask([Failure(401, f"invalid x-api-key: {KEY}")])

    assert done.returncode == 1
    assert "environment variable ANTHROPIC_API_KEY" in done.stderr
    assert len(server.requests) == 1


def test_rejected_key_from_the_file_names_the_file(serve, printed, own_home):
    file = own_home / "cinch" / "data" / "credentials.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"anthropic": KEY}))
    server = serve([Failure(401)])

    done = printed("-p", "hello", ANTHROPIC_BASE_URL=server.url)

    assert str(file) in done.stderr
    assert KEY not in done.stderr


def test_unreachable_server_is_reported_with_its_url(printed):
    done = printed("-p", "hello", ANTHROPIC_BASE_URL="http://127.0.0.1:9", ANTHROPIC_API_KEY=KEY, **ONCE)

    assert done.returncode == 1
    assert "cannot connect to http://127.0.0.1:9" in done.stderr


def test_rate_limit_waits_as_long_as_the_service_asks(ask):
    start = time.monotonic()

    done, server = ask([Failure(429, headers={"retry-after-ms": "400"}), Reply("hello to you")])

    assert time.monotonic() - start >= 0.4
    assert done.stdout == "hello to you\n"
    assert "too many requests" in done.stderr
    assert "(1 of 3)" in done.stderr
    assert len(server.requests) == 2


def test_rate_limit_of_an_hour_is_reported_without_waiting(ask):
    done, server = ask([Failure(429, headers={"retry-after": "3600"})])

    assert done.returncode == 1
    assert "wait 60 min" in done.stderr
    assert len(server.requests) == 1


def test_overloaded_service_is_retried_before_an_error(ask):
    done, server = ask([Failure(529, headers={"retry-after": "0"})] * 2, **TWICE)

    assert done.returncode == 1
    assert "overloaded (HTTP 529)" in done.stderr
    assert len(server.requests) == 2


def test_truncated_reply_is_discarded_and_requested_again(ask):
    done, server = ask([Cut(Reply("half of an ans"), after_events=5), Reply("the whole answer")])

    assert done.returncode == 0
    assert done.stdout == "the whole answer\n"
    assert "was closed early" in done.stderr
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "body",
    [
        b"data: {nope\n\n",
        b"data: [1, 2]\n\n",
        b"data: null\n\n",
        b'data: {"type": "message_start"}\n\n',
        b'data: {"type": "content_block_delta", "index": "x"}\n\n',
        b"\x00\xff\xfe not an event stream at all",
        b"",
    ],
)
def test_malformed_stream_is_one_clean_message(ask, body):
    done, _ = ask([Raw(body)], **ONCE)

    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_html_instead_of_a_stream_is_recognized(ask):
    done, _ = ask([Raw(b"<html><title>Sign in</title></html>", content_type="text/html")], **ONCE)

    assert done.returncode == 1
    assert "Sign in" in done.stderr


def test_empty_reply_is_reported(ask):
    done, server = ask([Reply(""), Reply(""), Reply("")])

    assert done.returncode == 0
    assert "empty response" in done.stderr
    assert len(server.requests) == 3
