"""Documents in the terminal: automatic passages, and the pages that were read."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mlx_engine.cli.console import note, progress
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.events import PairInfo
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Message
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.documents.citations import cited_pages, quoted_passages
from mlx_engine.engine.bridge import to_iter
from mlx_engine.mcp.document_tools import Documents

_MOST_TOKENS = 2_000
_SHARE = 4  # of the context
_MOST_PASSAGES = 5
_WAKE_S = 0.1  # an endless wait may miss Ctrl-C


class AutomaticPassages:
    """Passages that fit the user's messages, within a budget of tokens.

    Args:
        folders: folders with the documents.
        info: the loaded pair.
    """

    def __init__(self, folders: Sequence[Path], client: EngineClient, info: PairInfo) -> None:
        self._client, self._budget = client, min(_MOST_TOKENS, info.context_limit // _SHARE)
        self._documents = Documents([str(folder.resolve()) for folder in folders])
        self._documents.start()
        note("This model can't call tools. Each message gets the passages of the documents that fit it best.")

    def close(self) -> None:
        self._documents.close()

    def added_to(self, text: str) -> str:
        """Return a message after the passages that fit it."""
        try:
            while self._documents.is_updating:
                progress("Reading documents… {:,} of {:,}".format(*self._documents.progress))
                time.sleep(_WAKE_S)
        finally:
            progress("")
        try:
            found = self._documents.find(text, _MOST_PASSAGES)
            for problem in self._documents.new_problems():
                note(problem)
        except ValueError as error:
            note(f"{error}.")
            return text
        count = largest(len(found), lambda count: _tokens(self._client, quoted_passages(found[:count])) <= self._budget)
        if not count:
            return text
        passages = quoted_passages(found[:count])
        note(pages_line(passages))
        return f"{passages}\n\n{text}"


def pages_line(result: str) -> str:
    """Return which pages of documents a text for the model contains."""
    pages = [f"{document}, page {page:,}" for document, page in cited_pages(result)]
    return f"Read: {'; '.join(pages)}" if pages else "Read: nothing"


def largest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number from 1 to `most` that fits, or 0."""
    return next((number for number in range(most, 0, -1) if fits(number)), 0)


def _tokens(client: EngineClient, text: str) -> int:
    events = to_iter(client, CountTokens(GenerationRequest((Message("user", text),)), estimate=True))
    return next(event.tokens for event in events if isinstance(event, TokenCount))
