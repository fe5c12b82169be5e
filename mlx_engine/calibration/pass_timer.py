"""Time single passes of a pair at a given context depth."""

import time

import mlx.core as mx

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.decoding.stream import queued_rounds, run_pass
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.parts.draft_requests import Block, ContextRows
from mlx_engine.kernels.operations import PLAIN, Operations
from mlx_engine.targets.target import Target

STEPS = 3  # plain steps per measurement
ROUNDS = 3  # queued rounds per measurement
SEED_ROWS = 64  # computed tokens; deeper caches repeat their keys and values


class PassTimer:
    """Timer of a target and a drafter at a context depth.

    Attributes:
        caches: the target's caches, filled to the depth.
        context: the drafter's context, filled to the depth.
        chooser: chooses tokens. Replace its operations together with those of target and drafter.
    """

    def __init__(self, target: Target, drafter: Drafter, depth: int, operations: Operations = PLAIN) -> None:
        self._target, self._drafter = target, drafter
        self.caches, self.context = target.caches(), drafter.context()
        self.chooser = Chooser(Sampling(), 0, operations)
        tokens = mx.arange(SEED_ROWS) * 7919 % target.vocabulary
        _, features = target.forward_tapped(tokens, self.caches)
        self.caches.rewind(0)
        mx.eval(features, self.caches.state)
        self.caches.grow(depth)
        while self.context.position < depth:
            rows = min(depth - self.context.position, SEED_ROWS)
            drafter.inject(self.context, features[:rows], tokens[:rows])
            mx.eval(self.context.state)
        mx.eval(self.caches.state)
        self._anchor = tokens[:1].astype(mx.uint32)

    @property
    def position(self) -> int:
        """Number of tokens in caches and context, which grows with each pass."""
        return self.context.position

    def plain(self, width: int) -> float:
        """Return the time of a plain step that is queued ahead, in seconds."""
        times = list[float]()

        def queue_step(token: mx.array) -> tuple[mx.array, mx.array]:
            logits, features = self._target.forward_tapped(token, self.caches)
            chosen = self.chooser.choose(logits, 0, None)
            mx.async_eval(chosen)
            return chosen, features

        token, _ = queue_step(self._anchor)
        for _ in range(STEPS):
            began = time.perf_counter()
            following, features = queue_step(token)
            mx.eval(token)
            times.append(time.perf_counter() - began)
            token = following
        mx.eval(token)
        features = mx.zeros((STEPS + 1, features.shape[1]), features.dtype)
        self._drafter.inject(self.context, features, mx.zeros((STEPS + 1,), mx.uint32))
        mx.eval(self.context.state)
        return sum(times[1:]) / (STEPS - 1)  # the first wasn't queued ahead

    def draft(self, width: int) -> float:
        """Return the time of a draft, in seconds.

        If the width is larger than a block, several streams' blocks have so many rows.
        """
        began, block = time.perf_counter(), self._drafter.config.block_size
        rows = [min(block, width - at) for at in range(0, width, block)]
        mx.eval(self._drafter.propose_packed([Block(self.context, self._anchor, max(own, 2), self.chooser) for own in rows]))
        return time.perf_counter() - began

    def verify(self, width: int) -> float:
        """Return the time of a verify, with injection and rewind, in seconds.

        Rows beyond a block extend contexts of other streams.
        """
        began, block = time.perf_counter(), self._drafter.config.block_size
        tokens = mx.broadcast_to(self._anchor, (width,))
        logits, features = self._target.forward_tapped(tokens, self.caches)
        verdict = self.chooser.verify(logits, tokens[1:], 0, None)
        parts = [
            ContextRows(self._drafter.context() if at else self.context, features[at : at + block], tokens[at : at + block])
            for at in range(0, width, block)
        ]
        self._drafter.inject_packed(parts)
        mx.eval(verdict.choices, verdict.count(), [part.context.state for part in parts])
        self.caches.rewind(width - 1)
        self.context.drop(min(width, block) - 1)
        return time.perf_counter() - began

    def queued(self, width: int) -> float:
        """Return the mean time of a round that is queued ahead, in seconds."""
        stream = queued_rounds(self._target, self._drafter, self.caches, self.context, self.chooser, width)
        began = time.perf_counter()
        run_pass(stream, self._target)
        for _ in range(ROUNDS - 1):
            run_pass(stream, self._target)
            stream.read()
        stream.read()
        return (time.perf_counter() - began) / ROUNDS
