"""Parquet files that pyarrow wrote: their texts, what isn't supported, and damage. See `files/README.md`."""

from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.prompt_sets import snappy
from mlx_engine.prompt_sets.parquet import NotReadable, numbers_in, text_column
from mlx_engine.prompt_sets.snappy import decompress

FILES = Path(__file__).parent / "files"
READABLE = ("snappy", "plain", "gzip", "pages-2", "pages-2-plain")
QUESTIONS = [f"Question {n}: how many are {n} and {n % 7}?" + " Ünïcödé 数" * (n % 3) for n in range(60)]
NOTES = [None if n % 5 == 0 else f"note {n % 4}" for n in range(60)]


def column(file: str, name: str = "question") -> list[str | None]:
    return list(text_column((FILES / f"{file}.parquet").read_bytes(), name))


@pytest.mark.parametrize("file", READABLE)
def test_texts_and_missing_values_are_read(file: str) -> None:
    assert (column(file), column(file, "note")) == (QUESTIONS, NOTES)


def test_a_required_column_and_a_dictionary_of_one_word_are_read() -> None:
    assert column("required") == QUESTIONS
    assert column("one-word") == ["same"] * 60


def test_pages_are_decoded_as_they_are_needed() -> None:
    data = bytearray((FILES / "plain.parquet").read_bytes())
    at = data.index(b"Question 59")
    data[at] = 0xFF  # isn't UTF-8
    values = text_column(bytes(data), "question")
    assert list(islice(values, 59)) == QUESTIONS[:59]
    with pytest.raises(NotReadable, match="it is damaged"):
        next(values)


@pytest.mark.parametrize(
    ("file", "name", "words"),
    [
        ("zstd", "question", "compression 6 isn't supported"),
        ("delta", "question", "encoding 7 isn't supported"),
        ("plain", "answer", "it has no column “answer”"),
        ("plain", "number", "its column “number” isn't text"),
        ("plain", "tests", "its column “tests” isn't text"),
        ("plain", "element", "isn't text|is damaged"),
    ],
)
def test_what_is_not_supported_is_named(file: str, name: str, words: str) -> None:
    with pytest.raises(NotReadable, match=words):
        column(file, name)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" * 3, b"PAR1\xff\xff\xff\xffPAR1", b'{"question": "Why?"}'])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(NotReadable):
        list(text_column(data, "question"))


@given(st.sampled_from(READABLE), st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8))
def test_damaged_files_raise_only_one_error(file: str, changes: list[tuple[int, int]]) -> None:
    data = bytearray((FILES / f"{file}.parquet").read_bytes())
    for at, value in changes:
        data[at % len(data)] = value
    with suppress(NotReadable):
        assert len(list(text_column(bytes(data), "question"))) <= 10_000


@given(st.binary(max_size=60), st.integers(0, 200))
def test_damaged_blocks_have_no_other_length(data: bytes, size: int) -> None:
    with suppress(ValueError, IndexError):
        assert len(decompress(data, size)) == size


def test_a_copy_may_overlap_its_own_end() -> None:
    assert decompress(bytes([7, 1 << 2, *b"ab", (5 - 1) << 2 | 2, 2, 0]), 7) == b"abababa"
    assert decompress(bytes([5, 0, ord("a"), 1, 1]), 5) == b"aaaaa"


def packed(numbers: list[int], width: int) -> bytes:
    """Return numbers as one packed run, as the format describes it."""
    head, groups = [], (len(numbers) + 7) // 8
    left = groups << 1 | 1
    while left > 127:
        head.append(left & 127 | 128)
        left >>= 7
    bits = sum(number << at * width for at, number in enumerate(numbers))
    return bytes([*head, left]) + bits.to_bytes(groups * width, "little")


@given(st.integers(0, 32), st.data())
def test_packed_numbers_are_read(width: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, (1 << width) - 1), max_size=2000))
    assert numbers_in(packed(numbers, width), width, len(numbers)) == numbers


class Watched(bytes):
    """Bytes that know the longest part that was copied."""

    longest = 0

    def __getitem__(self, key: object) -> object:
        part = super().__getitem__(key)  # type: ignore[call-overload]
        Watched.longest = max(Watched.longest, len(part) if isinstance(part, bytes) else 1)
        return part


def test_the_work_for_a_packed_number_does_not_grow_with_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watched, "longest", 0)
    numbers = [*range(5000)]
    assert numbers_in(Watched(packed(numbers, 13)), 13, len(numbers)) == numbers
    assert Watched.longest <= 13


def test_the_work_for_a_copy_does_not_grow_with_its_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []

    class Text(bytearray):
        def __getitem__(self, key: object) -> object:
            part = super().__getitem__(key)  # type: ignore[call-overload]
            copied.append(len(part))
            return part

    monkeypatch.setattr(snappy, "bytearray", Text, raising=False)
    text = bytes(range(250)) * 4
    data = bytes([*(0xF2, 0x07), 61 << 2, *(999).to_bytes(2, "little"), *text, (10 - 1) << 2 | 2, *(990).to_bytes(2, "little")])
    assert decompress(data, 1010) == text + text[10:20] and sum(copied) <= 10


def test_a_second_dictionary_of_a_column_is_refused() -> None:
    data = (FILES / "one-word.parquet").read_bytes()
    dictionary = data[4 : data.index(b"same") + 4]
    with pytest.raises(NotReadable, match="a column has too many words"):
        list(text_column(data[:4] + dictionary * 2 + data[4 + len(dictionary) :], "question"))
