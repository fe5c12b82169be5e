"""Words of texts and of queries, for the index.

Scripts without spaces between words are indexed by pairs of characters.
"""

import re
from itertools import pairwise

_UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Japanese and Chinese
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_TERM = re.compile(f"[{_UNSPACED}]+|[^\\W_]+")
_MOST_TERMS = 40


def segmented(text: str) -> str:
    """Return a text whose unspaced runs are divided into pairs of characters."""
    return _RUN.sub(lambda run: f" {_pairs(run[0])} ", text)


def terms_of_query(query: str) -> list[str]:
    """Return the different terms of a query, up to a limit."""
    found: dict[str, None] = {}
    for term in _TERM.findall(query):
        for part in _pairs(term).split() if _RUN.fullmatch(term) else (term.lower(),):
            found[part] = None
    return list(found)[:_MOST_TERMS]


def trigrams(term: str) -> list[str]:
    """Return the parts of a term by which texts that contain it are found."""
    return list(dict.fromkeys(term[at : at + 3] for at in range(len(term) - 2)))


def quoted(term: str) -> str:
    """Return a term as a string of FTS5's query language."""
    return '"' + term.replace('"', '""') + '"'


def _pairs(run: str) -> str:
    return run if len(run) == 1 else " ".join(first + second for first, second in pairwise(run))
