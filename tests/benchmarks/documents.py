"""Measure how long documents take to index and to search.

    python -m tests.benchmarks.documents [--pages 1000] [--passages 100000] [--json]

The pages are those of four PDFs, each with about 3,000 characters. The passages are of text files. Their words, and those of the
queries, are as frequent as in real texts (Zipf's law). The check for changed files before a search is measured separately.
"""

import argparse
import json
import random
import tempfile
import time
from itertools import accumulate
from pathlib import Path
from statistics import median

from mlx_engine.documents.document_index import DocumentIndex
from mlx_engine.documents.document_search import documents_in, find_passages
from mlx_engine.documents.passages import LONGEST_PASSAGE
from mlx_engine.media import media_process
from tests.mlx_engine.media.made_media import line, pdf

_WORDS = 50_000
_PDFS = 4
_LINES, _LINE_WORDS = 45, 9  # of a page
_FILES, _PARAGRAPH_WORDS = 1_000, 100
_QUERIES = 200
_QUERY_WORDS, _OTHER_WORDS = 10, 20  # from 1, and from 0, to this


class Writer:
    """Writes texts of made-up words."""

    def __init__(self) -> None:
        self._random = random.Random(1)
        syllables = [first + second for first in "bcdfghklmnprstvw" for second in "aeiou"]
        self._words = list(
            dict.fromkeys("".join(self._random.choices(syllables, k=self._random.randint(1, 4))) for _ in range(2 * _WORDS))
        )
        del self._words[_WORDS:]
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))

    def words(self, count: int) -> str:
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=count))

    def page(self) -> str:
        return "".join(line(self.words(_LINE_WORDS), 10, 780 - 17 * row) for row in range(_LINES))


def measure_pages(pages: int) -> dict[str, float]:
    """Index PDFs."""
    writer = Writer()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "Documents")
        folder.mkdir()
        for number in range(_PDFS):
            count = pages // _PDFS + (number < pages % _PDFS)
            (folder / f"{number}.pdf").write_bytes(pdf(*(writer.page() for _ in range(count)), size=(600, 800)))
        index = DocumentIndex(Path(name, "documents.sqlite"), [str(folder)])
        began = time.perf_counter()
        index.update()
        seconds = time.perf_counter() - began
        assert sum(document.pages for document in index.read(documents_in)) == pages
    return {"pages": pages, "index_s": seconds}


def measure_search(passages: int) -> dict[str, float]:
    """Search in text files."""
    writer = Writer()
    with tempfile.TemporaryDirectory() as name:
        folder, file = Path(name, "Documents"), Path(name, "documents.sqlite")
        folder.mkdir()
        for number in range(_FILES):  # one paragraph is one passage
            texts = [writer.words(_PARAGRAPH_WORDS).ljust(LONGEST_PASSAGE - 100, ".") for _ in range(passages // _FILES)]
            (folder / f"{number}.txt").write_text("\n\n".join(texts))
        index = DocumentIndex(file, [str(folder)])
        began = time.perf_counter()
        index.update()
        index_s = time.perf_counter() - began
        began = time.perf_counter()
        index.update()
        update_s = time.perf_counter() - began
        (count,) = index.read(lambda found: found.execute("SELECT count(*) FROM passage").fetchone())
        times, cpu_times = [], []
        for number in range(_QUERIES):
            query, others = writer.words(1 + number % _QUERY_WORDS), writer.words(number % (_OTHER_WORDS + 1))
            began, cpu_began = time.perf_counter(), time.thread_time()
            assert index.read(lambda found, query=query, others=others: find_passages(found, query, 5, others))
            times.append(1000 * (time.perf_counter() - began))
            cpu_times.append(1000 * (time.thread_time() - cpu_began))
        size = file.stat().st_size
    return {
        "passages": count,
        "index_s": index_s,
        "update_ms": 1000 * update_s,
        "search_ms": median(times),
        "search_max_ms": max(times),
        "search_cpu_max_ms": max(cpu_times),
        "megabytes": size / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    pages, search = measure_pages(given.pages), measure_search(given.passages)
    media_process.stop()
    if given.json:
        print(json.dumps({"pages": pages, "search": search}))
        return
    print("| What | Time |\n|---|---|")
    print(f"| Indexing {pages['pages']:,} pages of PDFs | {pages['index_s']:.1f} s |")
    print(f"| Indexing {search['passages']:,} passages of text, {search['megabytes']:,.0f} MB | {search['index_s']:.1f} s |")
    print(f"| Looking for changed files among {_FILES:,} | {search['update_ms']:.0f} ms |")
    times = f"{search['search_ms']:.1f} ms, {search['search_max_ms']:.1f} ms, {search['search_cpu_max_ms']:.1f} ms"
    print(f"| A search in {search['passages']:,} passages: median and maximum of {_QUERIES}, maximum of the CPU's time | {times} |")


if __name__ == "__main__":
    main()
