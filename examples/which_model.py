"""Model selection for the examples: the named model, else the first provider with a key, else a script."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from functools import cache

from harness import ConfigError, Model
from providers import EnvironmentCredentials, connect
from providers.demo import Reply, scripted

SERVICES = ("anthropic", "openai-chat", "openrouter")


def which_model(*script: Reply | str) -> Model:
    """Return the model of `--model provider/model`; with `--demo`, or without any key, one that plays `script`."""
    parser = ArgumentParser()
    parser.add_argument("--model", help="such as anthropic/claude-sonnet-5-5; the key is read from the environment")
    parser.add_argument("--demo", action="store_true", help="play a script and send nothing")
    chosen = parser.parse_args()
    if chosen.model:
        return connect(chosen.model)
    for service in () if chosen.demo else SERVICES:
        try:
            # With explicit credentials, a missing key is an error here instead of at the first request.
            return connect(service, credentials=EnvironmentCredentials())
        except ConfigError:  # no key for this one
            continue
    report_script()
    return scripted(*script)


@cache
def report_script() -> None:
    print("(A script answers instead of a model: no key was found, or --demo was given.)", file=sys.stderr)
