from __future__ import annotations

from pathlib import Path

import pytest

from tools.output import CapturedOutput


@pytest.fixture
def spill(tmp_path: Path) -> Path:
    return tmp_path / "spill" / "full.txt"


def fed(captured: CapturedOutput, data: bytes, step: int) -> CapturedOutput:
    for start in range(0, len(data), step):
        captured.feed(data[start : start + step])
    captured.close()
    return captured


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_text_does_not_depend_on_how_the_bytes_arrive(step: int, spill: Path) -> None:
    data = "grün \x1b[31mred\x1b[0m\r\n50 %\r100 %\nwrong ".encode() + b"\xff byte"

    captured = fed(CapturedOutput(1000, spill), data, step)

    assert captured.text() == "grün red\n100 %\nwrong \ufffd byte"
    assert captured.bytes == len(data)


def test_short_output_makes_no_file(spill: Path) -> None:
    captured = fed(CapturedOutput(100, spill), b"x" * 100, 7)

    assert captured.text() == "x" * 100
    assert not spill.parent.exists()


@pytest.mark.parametrize("step", [1, 11, 5000])
def test_long_output_keeps_head_and_tail_and_names_the_file_with_all_of_it(step: int, spill: Path) -> None:
    whole = "".join(f"line {number}\n" for number in range(1000))

    captured = fed(CapturedOutput(500, spill), whole.encode(), step)

    text = captured.text()
    head, _, tail = text.partition("\n[… ")
    note, _, tail = tail.partition(" …]\n")
    assert whole.startswith(head)
    assert head.splitlines()[-1] in whole.splitlines()
    assert whole.endswith(tail)
    assert tail.startswith("line ")
    assert f"characters left out of {len(whole):,} bytes" in note
    assert str(spill) in note
    assert spill.read_text() == whole
    assert spill.stat().st_mode & 0o777 == 0o600
    assert len(text) < 800


def test_blanks_and_empty_lines_at_the_cut_are_kept(spill: Path) -> None:
    whole = "    indented  \n\n" * 100

    text = fed(CapturedOutput(500, spill), whole.encode(), 64).text()

    head, _, tail = text.partition("\n[… ")
    tail = tail.partition(" …]\n")[2]
    assert head.count("    indented  \n") == 300 // 16
    assert whole.startswith(f"{head}\n")
    assert whole.endswith(tail)


def test_one_endless_line_is_bounded_too(spill: Path) -> None:
    captured = fed(CapturedOutput(1000, spill), b"x" * 500_000, 4096)

    assert len(captured.text()) < 1300
    assert spill.stat().st_size == 500_000


def test_the_latest_shows_a_line_that_is_not_finished(spill: Path) -> None:
    captured = CapturedOutput(1000, spill)

    captured.feed(b"one\n10 %\r20 %")

    assert captured.latest(100) == "one\n20 %"
    captured.close()


def test_the_output_file_has_a_size_limit(spill: Path) -> None:
    captured = fed(CapturedOutput(100, spill, largest_file=2000), b"0123456789\n" * 1000, 100)

    assert spill.stat().st_size == 2000
    assert "the rest was not saved" in captured.text()


def test_an_unwritable_output_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    captured = fed(CapturedOutput(100, tmp_path / "file" / "full.txt"), b"0123456789\n" * 100, 50)

    assert captured.text().startswith("0123456789\n")
    assert "could not be saved to a file: File exists …]" in captured.text()


@pytest.mark.parametrize("step", [1, 13, 1000, 70_000])
def test_a_flood_keeps_head_and_tail_and_loses_no_letter_of_them(step: int, spill: Path) -> None:
    lines = [f"Zeile {number} größer 数\n" for number in range(3_000)]
    captured = CapturedOutput(500, spill, largest_file=2000)
    data = "".join(lines).encode()
    latest: list[str] = []

    for start in range(0, len(data), step):
        captured.feed(data[start : start + step])
        if start // step in (2_000 // step, 60_000 // step):
            latest.append(captured.latest(10_000))
    captured.close()

    text = captured.text()
    assert captured.is_flood
    assert captured.bytes == len(data)
    assert text.startswith("".join(lines[:8]))
    assert text.endswith("".join(lines[-6:]))
    assert "\ufffd" not in "".join([text, *latest])
    assert spill.stat().st_size < 3000


def test_only_new_output_of_a_flood_is_reported(spill: Path) -> None:
    captured = CapturedOutput(100, spill, largest_file=1000)
    captured.feed(b"0123456789\n" * 200)
    captured.new_text()

    captured.feed(b"one more\nand a beg")
    first = captured.new_text()
    captured.feed(b"inning\n")

    assert first == "one more\nand a beg"
    assert captured.new_text() == "and a beginning\n"
