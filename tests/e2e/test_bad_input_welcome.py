from __future__ import annotations

import signal

import pytest
from fakes.script import Reply

pytestmark = pytest.mark.pty

KEY = "sk-welcome-secret"
START = "How do you want to start"


@pytest.fixture(autouse=True)
def _shared_prices() -> None:
    """Start without a cache, so that the home directory is created."""


@pytest.fixture
def welcome(terminal):
    """Start the app without a model, once keys count as answers."""

    def start(*args: str, **options):
        cinch = terminal(*args, **options)
        cinch.see(START)
        return cinch

    return start


def test_esc_goes_back_step_by_step_and_quits_at_the_first(welcome):
    cinch = welcome()
    cinch.choose("1", "Which service")
    cinch.type("6")
    cinch.see("API base URL")
    cinch.type("\x1b")
    cinch.see("Which service")
    cinch.type("\x1b")
    cinch.see(START)
    cinch.type("\x1b")

    assert cinch.wait() == 0


def test_ctrl_c_twice_quits(welcome):
    cinch = welcome()
    cinch.type("\x03")
    cinch.see(r"Ctrl\+C again quits")
    cinch.type("\x03")

    assert cinch.wait() == 130


def test_pasted_key_is_stored_privately_and_a_rejected_one_names_the_file(welcome, own_home, serve):
    server = serve(lambda _: Reply("hello to you"))
    cinch = welcome(env={"ANTHROPIC_BASE_URL": server.url})
    cinch.choose("1", "Which service")
    cinch.type("1")
    cinch.see("never displayed")
    cinch.type(f"{KEY}\r")
    cinch.see("was accepted and is stored in")
    cinch.see("cinch .* · anthropic/claude")
    cinch.enter("hello")
    cinch.see("hello to you")

    file = own_home / "cinch" / "data" / "credentials.json"
    assert server.requests[0].headers["x-api-key"] == KEY
    assert file.stat().st_mode & 0o777 == 0o600
    assert KEY.encode() not in cinch.raw


def test_custom_service_lists_its_models_and_is_remembered_with_its_url(welcome, terminal, serve, own_home):
    server = serve(lambda _: Reply("hello to you"))
    cinch = welcome()
    cinch.choose("1", "Which service")
    cinch.type("6")
    cinch.see("API base URL")
    cinch.type(f"{server.openai_url}\r")
    cinch.see("never displayed")
    cinch.type(f"{KEY}\r")
    cinch.see("fake-model")
    cinch.type("\r")
    cinch.see("openai-chat/fake-model")
    cinch.kill(signal.SIGTERM)

    again = terminal()
    again.see("openai-chat/fake-model")
    again.enter("hello")
    again.see("hello to you")

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_key_for_an_unreachable_service_is_not_stored(welcome, own_home):
    cinch = welcome()
    cinch.choose("1", "Which service")
    cinch.type("6")
    cinch.see("API base URL")
    cinch.type("http://127.0.0.1:9/v1\r")
    cinch.see("never displayed")
    cinch.type(f"{KEY}\r")

    cinch.see("could not be checked")
    assert not (own_home / "cinch" / "data" / "credentials.json").exists()


def test_tour_works_without_a_key(welcome):
    cinch = welcome()

    cinch.choose("3", "demo/tour")
    cinch.see("This is the tour")


def test_unknown_provider_suggests_the_nearest_before_any_question(welcome):
    cinch = welcome("-m", "antropic/claude")

    assert "did you mean anthropic?" in cinch.text


def test_all_choices_fit_a_small_terminal(welcome):
    cinch = welcome(columns=40, rows=10)

    screen = cinch.see("4  Quit")
    for choice in ("Paste an API key", "Use a model", "Take the tour"):
        assert choice in screen
