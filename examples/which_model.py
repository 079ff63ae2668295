"""Which model the examples ask: the one you name, else the first whose key is found, else a script that needs none."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from functools import cache

from harness import ConfigError, Model
from providers import EnvironmentCredentials, connect
from providers.demo import Reply, scripted

SERVICES = ("anthropic", "openai-chat", "openrouter")


def which_model(*script: Reply | str) -> Model:
    """The model of `--model provider/model`; with `--demo`, or without any key, one that plays `script`."""
    parser = ArgumentParser()
    parser.add_argument("--model", help="as in anthropic/claude-sonnet-5-5; its key is taken from the environment")
    parser.add_argument("--demo", action="store_true", help="play a script; nothing is sent anywhere")
    chosen = parser.parse_args()
    if chosen.model:
        return connect(chosen.model)
    for service in () if chosen.demo else SERVICES:
        try:
            # With credentials given, a missing key is an error here instead of at the first request.
            return connect(service, credentials=EnvironmentCredentials())
        except ConfigError:  # no key for this one
            continue
    say_that_it_is_a_script()
    return scripted(*script)


@cache
def say_that_it_is_a_script() -> None:
    print("(A script answers, not a model: no key was found, or --demo was given.)", file=sys.stderr)
