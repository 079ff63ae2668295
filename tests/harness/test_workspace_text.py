from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import FileNotText
from harness.workspace.encoding import decode
from harness.workspace.excerpt import excerpt_of
from harness.workspace.file_text import FileText, Splice, difference, file_text

SAMPLES = {
    "utf-8": "naïve 漢字 🙂",
    "utf-8-sig": "naïve 漢字 🙂",
    "utf-16": "naïve 漢字 🙂",
    "utf-32": "naïve 漢字 🙂",
    "cp1252": "El niño comió “ñoquis” – 5 €",
    "latin-1": "Größe, Müller, Straße",
    "cp1250": "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "koi8_r": "Привет, мир, это длинный текст для проверки",
    "cp932": "こんにちは世界。これはテストです。",
    "euc_jp": "こんにちは世界。これはテストです。",
    "gb18030": "你好，世界。这是一个测试文件。",
    "cp949": "안녕하세요 세계. 이것은 테스트입니다.",
}
ENDINGS = ["\n", "\r\n", "\r"]
ENCODINGS = st.sampled_from(sorted(SAMPLES))
LINES = st.lists(st.text(st.sampled_from("ab \t")), min_size=1, max_size=8)


@pytest.mark.parametrize("encoding", SAMPLES)
def test_text_round_trips_byte_for_byte(encoding: str):
    data = f"{SAMPLES[encoding]}\n".encode(encoding)

    file = file_text(data)

    assert file.text == f"{SAMPLES[encoding]}\n"
    assert file.data == data


@pytest.mark.parametrize(("mark", "encoding"), [(codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF32_BE, "utf-32-be")])
def test_big_endian_text_keeps_its_byte_order_mark(mark: bytes, encoding: str):
    data = mark + "é\r\nb\r\n".encode(encoding)

    file = file_text(data).spliced([Splice(0, 1, "ü\nx")])

    assert file.data == mark + "ü\r\nx\r\nb\r\n".encode(encoding)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("iso-8859-2", "ščř"),
        ("iso-8859-7", "ώρα"),
        ("windows-1251", "ёж"),
        ("windows-1255", "שלום"),
        ("koi8-u", "їжак"),
        ("shift_jis", "ｶﾅ"),
        ("gb2312", "汉字"),
        ("euc_kr", "한글"),
        ("big5", "漢字"),
        ("macroman", "é√"),
        ("cp437", "é√"),
    ],
)
def test_declared_encoding_is_used_if_it_decodes(encoding: str, text: str):
    data = f"# -*- coding: {encoding} -*-\nx = '{text}'\n".encode(encoding)

    assert decode(data).raw.endswith(f"x = '{text}'\n")


@pytest.mark.parametrize(
    "data", [b"a\0b", b"\xff\xfea", b"\xff\xfe\0\xd8", b"\xff\xfea\0\0\0", bytes(range(1, 9)) * 9 + b"\xff"]
)
def test_binary_is_distinguished_from_text(data: bytes):
    with pytest.raises(FileNotText):
        decode(data)


@given(st.binary(max_size=400))
def test_any_text_round_trips_unchanged(data: bytes):
    try:
        file = file_text(data)
    except FileNotText:
        return

    assert file.data == data


@given(ENCODINGS, LINES, st.lists(st.sampled_from(ENDINGS)), st.data())
def test_splice_changes_only_the_bytes_of_its_span(
    encoding: str, lines: list[str], endings: list[str], data: st.DataObject
):
    pairs = zip(lines, endings + ["\n"] * len(lines), strict=False)
    raw = SAMPLES[encoding] + "".join(line + end for line, end in pairs)
    original = raw.encode(encoding)
    file = file_text(original)
    start = data.draw(st.integers(0, len(file.text)))
    end = data.draw(st.integers(start, len(file.text)))

    edited = file.spliced([Splice(start, end, "new")])

    before = FileText.spliced(file, [Splice(start, len(file.text), "")])
    after = FileText.spliced(file, [Splice(0, end, "")])
    assert edited.raw == before.raw + "new" + after.raw
    assert (
        edited.data
        == edited.bom + before.data[len(file.bom) :] + "new".encode(file.encoding) + after.data[len(file.bom) :]
    )
    assert original.startswith(before.data)
    assert original.endswith(after.data[len(file.bom) :])


@given(LINES, st.sampled_from(ENDINGS), st.data())
def test_new_lines_use_the_line_ending_of_their_neighbours(lines: list[str], ending: str, data: st.DataObject):
    file = file_text((ending.join(["x", *lines]) + ending).encode())
    at = data.draw(st.integers(0, len(file.text)))

    edited = file.spliced([Splice(at, at, "one\ntwo\n")])

    assert edited.raw.replace(ending, "\n") == edited.text
    assert edited.text == file.text[:at] + "one\ntwo\n" + file.text[at:]
    assert file_text(edited.data).text == edited.text


def test_mixed_line_endings_are_kept():
    file = file_text(b"a\r\nb\nc\r\nd\n")

    assert file.newline == "mixed"
    assert file.rewritten("a\nB\nc\nD\n").data == b"a\r\nB\nc\nD\n"
    assert file.spliced([Splice(4, 5, "c\nc")]).data == b"a\r\nb\nc\r\nc\r\nd\n"


def test_content_with_other_line_endings_is_written_with_those_of_the_file():
    assert file_text(b"a\r\nb\r\n").rewritten("a\r\nB\n").data == b"a\r\nB\r\n"
    assert file_text(b"a\rb\r").rewritten("a\r\nB\n").data == b"a\rB\r"
    assert file_text(b"a\nb\n").rewritten("a\r\nB\n").data == b"a\nB\n"


def test_missing_final_newline_stays_missing():
    assert file_text(b"a\r\nb").spliced([Splice(0, 1, "x")]).data == b"x\r\nb"


@given(st.text("ab\n"), st.text("ab\n"))
def test_diff_turns_one_text_into_the_other(old: str, new: str):
    splice = difference(old, new)

    assert old[: splice.start] + splice.text + old[splice.end :] == new


@given(st.lists(st.text("aé"), min_size=1, max_size=30), st.integers(-35, 35).filter(bool), st.integers(1, 40))
def test_excerpt_equals_the_slice_of_a_full_read(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], first: int, count: int
):
    path = tmp_path_factory.getbasetemp() / "excerpt.txt"
    path.write_text("\n".join([*lines, "end"]) + "\n")
    everything = [*lines, "end"]
    start = first - 1 if first > 0 else max(len(everything) + first, 0)

    excerpt = excerpt_of(path, first, count, clip=100)

    assert list(excerpt.lines) == everything[start : start + count]
    assert excerpt.first == start + 1
    assert excerpt.total in (None, len(everything))


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize(("size", "count"), [(0, 200_000), (1_500_000, 4)], ids=["many lines", "long lines"])
def test_excerpt_of_a_long_file_equals_the_slice_of_a_full_read(tmp_path: Path, size: int, count: int, end: str):
    lines = [f"line {number}{'x' * size}" for number in range(1, count + 1)]
    path = tmp_path / "long.txt"
    path.write_text("\n".join(lines) + end)
    clipped = tuple(each[:50] for each in lines)

    for first in (1, 2, count // 2, count - 1, count):
        excerpt = excerpt_of(path, first, 2, clip=50)
        assert (excerpt.lines, excerpt.first) == (clipped[first - 1 : first + 1], first)
    last = excerpt_of(path, -3, 3, clip=50)
    assert (last.lines, last.first, last.total) == (clipped[-3:], count - 2, count)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_excerpt_of_a_marked_file_has_its_encoding_and_no_mark(tmp_path: Path, encoding: str):
    path = tmp_path / "marked.txt"
    path.write_bytes("é\r\n漢字\r\n".encode(encoding))

    excerpt = excerpt_of(path, 1, 5, clip=100)

    assert excerpt.lines == ("é", "漢字")
    assert excerpt.encoding.startswith(encoding.removesuffix("-sig"))
    assert excerpt.newline == "\r\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_text(encoding: str):
    text = "Grüße, 一二三 🙂\r\nzwei\r\n"

    decoded = decode(text.encode(encoding))

    assert (decoded.raw, decoded.encoding, decoded.bom) == (text, encoding, b"")


@pytest.mark.parametrize("data", [bytes(range(0, 64, 2)), b"\x41\x00" * 20 + b"\x00\x00", b"ELF\x00" * 40, b"a\x00"])
def test_binary_data_does_not_pass_for_utf16(data: bytes):
    with pytest.raises(FileNotText):
        decode(data)
