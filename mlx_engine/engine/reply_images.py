"""The images of a reply's prompt, computed before the chunks that contain them."""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress

import mlx.core as mx

from mlx_engine.contract.errors import WorkCancelled
from mlx_engine.decoding.prefill import Pace, chunk_end
from mlx_engine.decoding.prompt_images import PromptImages
from mlx_engine.formats.chat_prompt import RenderedPrompt
from mlx_engine.loading.image_reader import ImageReader
from mlx_engine.vision.spans import ImageSpan


class ReplyImages:
    """The images of a prompt. Those near the next chunk are in memory.

    Args:
        reader: the target's; None if it can't see.
        prompt: the prompt.
        cancel: stops the computation.
        alone: returns whether no other reply runs.

    Attributes:
        prompt: the images as prefill takes them; None without images.
    """

    def __init__(
        self, reader: ImageReader | None, prompt: RenderedPrompt, cancel: threading.Event, alone: Callable[[], bool] = lambda: True
    ) -> None:
        self._reader, self._cancel, self._alone, self._length = reader, cancel, alone, len(prompt.tokens)
        self._images = list(zip(prompt.spans, prompt.images, strict=True))
        self._tokens: dict[str, mx.array] = {}
        self.prompt: PromptImages | None = None
        if reader is not None and prompt.spans:
            self.prompt = PromptImages(prompt.spans, self._soft_tokens, reader.rules.mask, reader.rules.sections)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Count the prompt among those being computed, which need the tower."""
        if self._reader is None or self.prompt is None:
            yield
            return
        self._reader.prompts += 1
        try:
            yield
        finally:
            self._reader.prompts -= 1

    def read_before(self, start: int, stops: Collection[int] = ()) -> Iterator[None]:
        """Compute the images that the next chunk may contain, step by step.

        The others are freed. Ends early if canceled.

        Args:
            start: position of the chunk.
            stops: as in `prefill`.

        Raises:
            UserError: an image can't be decoded, or the tower can't be loaded.
        """
        if self._reader is None or self.prompt is None:
            return
        end = chunk_end(start, self._length, stops, Pace(), self.prompt)  # of the largest chunk
        near = [(span, image) for span, image in self._images if span.start < end and start < span.end]
        self._tokens = {span.digest: tokens for span, _ in near if (tokens := self._tokens.get(span.digest)) is not None}
        for span, image in near:
            if span.digest in self._tokens:
                continue
            with suppress(WorkCancelled):
                for tokens in self._reader.steps(image, span.digest, self._cancel, self._alone):
                    if tokens is not None:
                        self._tokens[span.digest] = tokens
                    elif self._cancel.is_set():
                        return
                    else:
                        yield

    def release(self) -> None:
        """Free what the chunks to come would compute again."""
        self._tokens.clear()

    def forget(self) -> None:
        """Forget what an error of the GPU may have damaged."""
        self._tokens.clear()
        if self._reader is not None:
            self._reader.forget()

    def _soft_tokens(self, span: ImageSpan) -> mx.array:
        return self._tokens[span.digest]
