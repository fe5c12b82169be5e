"""Attached images for a loaded target: sizes in prompts, and soft tokens."""

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import wait
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import mlx.core as mx

from mlx_engine.contract.requests import AttachedImage, Message
from mlx_engine.formats.sight import Sight
from mlx_engine.hardware.background import in_background
from mlx_engine.media.images import image_size, pixels
from mlx_engine.vision.image_rules import ImageRules, PreparedImage
from mlx_engine.vision.spans import ImageSpan
from mlx_engine.vision.tower import Tower
from mlx_engine.vision.tower_weights import load_tower

T = TypeVar("T")

FEATURE_BYTES = 128 << 20  # of soft tokens that are kept: of 8 large images, or more smaller ones
_SIZES = 4096  # that are kept
_POLL_S = 0.005  # to wait for the child process in a step
_BRIEF_S = 0.0005  # to wait if other replies run


class ImageReader:
    """Reads images for one target. The tower is loaded for the first image.

    Args:
        folder: the target's folder.
        rules: how it sees images.
        dtype: number format of its computations.

    Attributes:
        computed: number of images that the tower has computed.
        prompts: number of prompts with images that are being computed.
    """

    def __init__(self, folder: Path, rules: ImageRules, dtype: mx.Dtype) -> None:
        self.rules = rules
        self.computed = self.prompts = 0
        self._folder, self._dtype = folder, dtype
        self._tower: Tower | None = None
        self._sizes: dict[tuple[str, str], tuple[int, int]] = {}  # by file and detail, the last one used last
        self._tokens: dict[str, mx.array] = {}  # soft tokens by digest, the last one used last
        self._forgotten = 0  # how often they were forgotten

    def sight(self, cancel: threading.Event | None = None) -> Sight:
        """Return how prompts show images; `cancel` stops reading their sizes."""
        rules = self.rules
        written = rules.texts[1] if rules.wraps else "".join(rules.texts)
        return Sight(rules.texts[1], rules.token, rules.start, rules.end, rules.wraps, partial(self._seen, cancel=cancel), written)

    def read_sizes(self, messages: Sequence[Message], cancel: threading.Event, alone: Callable[[], bool]) -> Iterator[None]:
        """Read the sizes of images that aren't known, step by step.

        Args:
            messages: the messages with the images.
            cancel: stops the reading.
            alone: returns whether no reply runs.

        Raises:
            UserError: an image can't be read.
            WorkCancelled: `cancel` was set.
        """
        images = {(image.digest, image.detail): image for message in messages for image in message.images}
        unknown = [image for key, image in images.items() if key not in self._sizes]
        if not unknown:
            return
        found = yield from _in_steps(
            lambda: [image_size(image.data, _name(image), cancel) for image in unknown], "image sizes", alone
        )
        for image, facts in zip(unknown, found, strict=True):
            self._keep_size(image, self.rules.size(facts.width, facts.height, image.detail))

    def steps(
        self, image: AttachedImage, digest: str, cancel: threading.Event, alone: Callable[[], bool] = lambda: True
    ) -> Iterator[mx.array | None]:
        """Compute an image's soft tokens [tokens, hidden] step by step; yield them last.

        Decoding runs elsewhere. Soft tokens of the latest images are known already.

        Args:
            image: the image.
            digest: what its soft tokens are known by.
            cancel: stops the decoding.
            alone: returns whether no other reply runs.

        Raises:
            UserError: the image can't be decoded, or the tower can't be loaded.
            WorkCancelled: `cancel` was set.
        """
        tokens, forgotten = self._tokens.pop(digest, None), self._forgotten
        if tokens is None:
            decode = partial(self._prepared, image, self._size(image, cancel), cancel)
            prepared = yield from _in_steps(decode, "image decoding", alone)
            self._tower = self._tower or load_tower(self._folder, self.rules, self._dtype)
            for tokens in self._tower.steps(prepared):
                mx.eval(tokens)
                yield None
            assert tokens is not None
            self.computed += 1
        if forgotten == self._forgotten:
            self._tokens[digest] = tokens
        while len(self._tokens) > 1 and sum(each.nbytes for each in self._tokens.values()) > FEATURE_BYTES:
            del self._tokens[next(iter(self._tokens))]
        yield tokens

    @property
    def held(self) -> int:
        """Bytes of the tower and of soft tokens in memory."""
        tower = self.rules.weight_bytes(self._dtype.size) if self._tower else 0
        return tower + sum(tokens.nbytes for tokens in self._tokens.values())

    def bytes(self, spans: Sequence[ImageSpan]) -> int:
        """Return the bytes that a prompt's images need besides those that are held.

        These are the tower, its largest pass with the pixels, and soft tokens.
        """
        if not spans:
            return 0
        rules, element = self.rules, self._dtype.size
        largest = max(rules.image_bytes(span.grid, element) for span in spans)
        tokens = sum(span.size for span in spans) * rules.token_bytes(element)
        return (0 if self._tower else rules.weight_bytes(element)) + largest + min(tokens, FEATURE_BYTES)

    def forget(self) -> None:
        """Forget soft tokens.

        An error of the GPU may have damaged them, or their image is deleted.
        """
        self._tokens.clear()
        self._forgotten += 1

    def release(self) -> None:
        """Free the tower and soft tokens."""
        self.forget()
        self._tower = None

    def _prepared(self, image: AttachedImage, size: tuple[int, int], cancel: threading.Event) -> PreparedImage:
        return self.rules.prepare(pixels(image.data, *size, _name(image), cancel))

    def _seen(self, image: AttachedImage, cancel: threading.Event | None) -> tuple[tuple[int, int], str]:
        """Return an image's grid of soft tokens, and a digest of its file and size.

        The same file and size become the same pixels, so that a prompt's beginning is found without decoding its images.
        """
        width, height = self._size(image, cancel)
        digest = sha256(f"{self.rules.family} {width} {height} {image.digest}".encode()).hexdigest()
        return self.rules.grid(width, height), digest

    def _size(self, image: AttachedImage, cancel: threading.Event | None) -> tuple[int, int]:
        """Return the width and height that an image is resized to."""
        size = self._sizes.pop((image.digest, image.detail), None)
        if size is None:
            facts = image_size(image.data, _name(image), cancel)
            size = self.rules.size(facts.width, facts.height, image.detail)
        self._keep_size(image, size)
        return size

    def _keep_size(self, image: AttachedImage, size: tuple[int, int]) -> None:
        self._sizes[image.digest, image.detail] = size
        if len(self._sizes) > _SIZES:
            del self._sizes[next(iter(self._sizes))]


def _name(image: AttachedImage) -> str:
    return image.name or "image"


def _in_steps(work: Callable[[], T], name: str, alone: Callable[[], bool]) -> Generator[None, None, T]:
    """Run work on a new thread called `name`, step by step, and return its result.

    A step waits longer while `alone` returns True.
    """
    future = in_background(work, name)
    try:
        while not wait([future], _POLL_S if alone() else _BRIEF_S).done:
            yield
        return future.result()
    finally:
        del future
