"""Counts of tokens, calibrated by the reports of services."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.context.tokens import Calibration, Report

MODEL = "anthropic/m"
COUNTS = st.integers(1, 1_000_000)


def calibrated(tokens: int, estimate: int) -> tuple[Calibration, Report]:
    calibration, report = Calibration(), Report(MODEL, tokens, estimate)
    calibration.add(report)
    return calibration, report


def test_part_of_a_context_counts_its_share_even_if_the_report_is_implausible() -> None:
    calibration, report = calibrated(tokens=2_000, estimate=20_000)

    assert calibration.count(10_000, MODEL, report) == 1_000


@given(COUNTS, COUNTS, COUNTS)
def test_a_count_grows_with_its_estimate_from_zero(tokens: int, estimate: int, other: int) -> None:
    calibration, report = calibrated(tokens, estimate)

    counts = [calibration.count(each, MODEL, report) for each in sorted((0, estimate, other))]

    assert counts[0] == 0
    assert counts == sorted(counts)
    assert calibration.count(estimate, MODEL, report) == tokens


@given(COUNTS, COUNTS, COUNTS)
def test_a_context_with_the_estimate_for_a_budget_fits_it(tokens: int, estimate: int, budget: int) -> None:
    calibration, report = calibrated(tokens, estimate)

    assert calibration.count(calibration.estimate_for(budget, MODEL, report), MODEL, report) <= budget
