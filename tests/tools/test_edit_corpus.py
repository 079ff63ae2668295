"""Edits of this repository's own history, with the mistakes of models; `benchmarks/edits.py` has the large corpus."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FEWEST_COMMITS = 200


def commits() -> int:
    done = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else 0


@pytest.mark.skipif(commits() < FEWEST_COMMITS, reason="needs the history of the repository")
def test_mistaken_edits_are_applied_right_or_refused_and_never_wrong(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from edit_corpus import edits_of  # the path comes first
    from edit_mistakes import trials_of
    from edits import cinch_results, outcome_of

    trials = [trial for edit in edits_of(ROOT, 12, seed=17) for trial in trials_of(edit, 17)]
    outcomes = [outcome_of(trial, result) for trial, result in zip(trials, cinch_results(trials), strict=True)]

    wrong = [
        f"{trial.mistake}: {trial.edit.name}" for trial, each in zip(trials, outcomes, strict=True) if each == "wrong"
    ]
    assert len(trials) > 150
    assert wrong == []
    assert outcomes.count("right") >= 0.97 * (outcomes.count("right") + outcomes.count("refused"))
