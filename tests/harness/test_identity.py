from __future__ import annotations

import time

import pytest

from harness.agent.identity import Identity, segment_of
from harness.messages import ModelSpec

SPEC = ModelSpec("anthropic", "claude-sonnet-4.5", "high")
OTHER = ModelSpec("openai", "gpt-5")


def test_runs_are_numbered_per_configuration():
    identity = Identity(session_id="S")

    ids = [identity.next_run(spec) for spec in (SPEC, OTHER, SPEC, SPEC)]

    assert ids == [
        "S.anthropic/claude-sonnet-4_5/high.1",
        "S.openai/gpt-5/off.1",
        "S.anthropic/claude-sonnet-4_5/high.2",
        "S.anthropic/claude-sonnet-4_5/high.3",
    ]
    assert identity.last_run_id == ids[-1]
    assert identity.run_count == 4


def test_configuration_name_survives_a_model_change():
    identity = Identity(session_id="S", config_id="fast")

    assert [identity.next_run(spec) for spec in (SPEC, OTHER)] == ["S.fast.1", "S.fast.2"]


@pytest.mark.parametrize(
    ("spec", "segment"),
    [
        (SPEC, "anthropic/claude-sonnet-4_5/high"),
        (OTHER, "openai/gpt-5/off"),
        (ModelSpec("local", "org/model:7b.q4"), "local/org/model:7b_q4/off"),
    ],
)
def test_id_segment_is_unique_per_configuration_and_has_no_dot(spec, segment):
    assert segment_of(spec) == segment


def test_run_id_of_a_dotted_name_has_three_parts():
    identity = Identity(session_id="S", config_id="gpt-5.1")

    assert identity.next_run(SPEC).split(".") == ["S", "gpt-5_1", "1"]


def test_new_session_counts_runs_from_one():
    identity = Identity(session_id="S", config_id="c")
    agent_id = identity.agent_id
    identity.next_run(SPEC)

    given = identity.rotate("T")
    first = identity.next_run(SPEC)
    made = identity.rotate()

    assert (given, first) == ("T", "T.c.1")
    assert identity.agent_id == agent_id
    assert made == identity.session_id not in ("S", "T")
    assert (identity.run_count, identity.last_run_id, identity.counters) == (0, "", {})


def test_two_agents_have_different_ids():
    one, other = Identity(), Identity()

    assert one.agent_id != other.agent_id
    assert one.session_id != other.session_id
    one.next_run(SPEC)
    assert other.counters == {}


def test_parallel_agent_shares_the_run_numbers():
    identity = Identity(session_id="S", config_id="c")
    parent = identity.next_run(SPEC)

    beside = identity.parallel()
    ids = [beside.next_run(OTHER), identity.parallel("c").next_run(OTHER), identity.next_run(SPEC)]

    assert ids == ["S.openai/gpt-5/off.1", "S.c.2", "S.c.3"]
    assert beside.parent_run_id == parent
    assert beside.agent_id != identity.agent_id


def test_idle_time_is_measured_from_the_last_run():
    identity = Identity()
    assert identity.idle_for() is None

    before = time.monotonic()
    identity.next_run(SPEC)

    assert 0 <= identity.idle_for() <= time.monotonic() - before


def test_resumed_session_continues_the_run_numbers() -> None:
    identity = Identity(session_id="S")

    identity.restore(["S.a/b/off.1", "S.a/b/off.2", "S.c.1", "other.c.9", "nonsense", ""])

    assert identity.last_run_id == "S.c.1"
    assert identity.run_count == 3
    assert identity.next_run(ModelSpec("a", "b")) == "S.a/b/off.3"
