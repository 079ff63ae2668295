from __future__ import annotations

from pathlib import Path

from cinch_tui.app.crash import report_crash


def failure(text: str) -> RuntimeError:
    key = "sk-hidden"
    try:
        raise RuntimeError(text)
    except RuntimeError as error:
        assert key
        return error


def test_a_report_names_the_path_and_contains_no_values(tmp_path: Path):
    reported = report_crash(failure("no \x1b[31mway"), tmp_path / "state")

    (report,) = (tmp_path / "state").iterdir()
    assert reported.endswith(str(report))
    assert "RuntimeError: no way" in reported
    assert "in failure" in report.read_text()
    assert "sk-hidden" not in report.read_text()


def test_a_text_that_no_file_can_hold_is_reported_too(tmp_path: Path):
    report_crash(failure("\ud800"), tmp_path)

    assert len(list(tmp_path.iterdir())) == 1


def test_without_a_place_to_write_the_sentence_still_comes():
    reported = report_crash(failure("broken"), Path("/proc/nowhere"))

    assert "RuntimeError: broken" in reported
    assert "could not be written" in reported


def test_a_crash_report_contains_the_place_and_the_log_before_it(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-\x1b[31mkitty")
    (tmp_path / "cinch.log").write_text("\n".join(f"line {number}" for number in range(100)))

    report_crash(failure("broken"), tmp_path)

    report = next(tmp_path.glob("crash-*")).read_text()
    assert "TERM=xterm-kitty" in report
    assert "textual " in report.splitlines()[0]
    assert "line 99" in report
    assert "line 69" not in report
