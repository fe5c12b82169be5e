"""The DFlash 2 drafter: convolutions along the block and joint token selection.

A grouped dynamic causal convolution over the block's rows precedes and follows every attention and MLP. Tokens are not chosen
independently: a selector walks from the anchor through the likeliest tokens of each row, and adds an edge score for each pair of
neighboring tokens.

Sources: z-lab's published checkpoints, and the loaders in speculators and vLLM.
"""

from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.dflash import DFlashDrafter, LayerView
from mlx_engine.drafters.drafter import ProposalChooser
from mlx_engine.drafters.matrix import Matrix
from mlx_engine.drafters.tensors import Tensors

_SPAN = 512  # logits per span


@dataclass(frozen=True)
class _Convolution:
    """A pair of grouped dynamic causal convolutions around a sublayer.

    out[i] = sum over taps t of (base[side, t] + dynamic[i, side, t, group]) * x[i - t], with zeros before the block. Side 0
    precedes the sublayer, side 1 follows it. The dynamic part of both is computed from the sublayer's input.
    """

    base: mx.array  # [2, taps, H]
    projection: Matrix  # [2 * taps * groups, H]

    def kernels(self, x: mx.array, groups: int) -> mx.array:
        """Return the rows' kernels [2, taps, w, H] for the sublayer's input [1, w, H]."""
        _, taps, hidden = self.base.shape
        dynamic = self.projection(x[0]).reshape(-1, 2, taps, groups, 1).transpose(1, 2, 0, 3, 4)
        return (dynamic + self.base.reshape(2, taps, 1, groups, -1)).reshape(2, taps, -1, hidden)

    @staticmethod
    def apply(kernels: mx.array, x: mx.array) -> mx.array:
        """Convolve x [1, w, H] with the kernels of one side, [taps, w, H]."""
        out = kernels[0] * x
        for tap in range(1, min(kernels.shape[0], x.shape[1])):
            out = out + kernels[tap] * mx.pad(x[:, :-tap], [(0, 0), (tap, 0), (0, 0)])
        return out


class DFlash2Drafter(DFlashDrafter):
    """A DFlash 2 drafter, with the arguments and errors of `DFlashDrafter`."""

    def _take_layers(self, tensors: Tensors) -> None:
        c = self.config
        assert c.convolution is not None and c.selector is not None and c.vocab_size is not None
        self._groups = c.hidden_size // c.convolution.group
        taps = c.convolution.taps
        self._convolutions = [
            tuple(
                _Convolution(
                    tensors.take(f"layers.{i}.{name}_conv.base_kernel", 2, taps, c.hidden_size),
                    tensors.matrix(f"layers.{i}.{name}_conv.kernel_projection", 2 * taps * self._groups, c.hidden_size, False),
                )
                for name in ("attention", "mlp")
            )
            for i in range(c.layers)
        ]
        at = "candidate_selector."
        self._predecessors = tensors.table(at + "predecessor_codebook", c.vocab_size, c.selector.rank)
        self._successors = tensors.table(at + "successor_codebook", c.vocab_size, c.selector.rank)
        self._edge = tensors.matrix(at + "hidden_projection", c.selector.rank, c.hidden_size, False)
        super()._take_layers(tensors)

    def parameters(self) -> list[mx.array]:
        convolutions = [part for both in self._convolutions for part in both]
        matrices = [self._predecessors, self._successors, self._edge, *(part.projection for part in convolutions)]
        bases = [part.base for part in convolutions]
        return super().parameters() + bases + [array for matrix in matrices for array in matrix.arrays]

    def inject(self, context: DraftContext, features: mx.array, tokens: mx.array | None = None) -> None:
        super().inject(context, features.astype(self.dtype), tokens)

    def _run_layer(self, index: int, x: mx.array, view: LayerView) -> mx.array:
        weights, eps = self._layers[index], self.config.norm_eps
        attention, mlp = self._convolutions[index]
        h = mx.fast.rms_norm(x, weights.input_norm, eps)
        before, after = attention.kernels(h, self._groups)
        # Keep all rows, because the convolution after a sublayer reads the anchor's row
        whole = LayerView(view.held, view.mask, view.start, 0)
        x = x + attention.apply(after, self._attention(weights, attention.apply(before, h), whole))
        h = mx.fast.rms_norm(x, weights.mlp_norm, eps)
        before, after = mlp.kernels(h, self._groups)
        return (x + mlp.apply(after, self._feed_forward(weights, mlp.apply(before, h))))[:, view.read :]

    def propose(
        self, context: DraftContext, anchor: mx.array, rows: int, chooser: ProposalChooser, noise: mx.array | None
    ) -> mx.array:
        hidden = self.hidden(context, anchor, rows)
        tokens, logits = self.candidates(self.logits(hidden))
        return self.path(tokens, self.scores(anchor, tokens, logits, hidden), chooser, noise)

    def candidates(self, logits: mx.array) -> tuple[mx.array, mx.array]:
        """Return the k likeliest tokens of each row, uint32 [rows, k], and their logits.

        The tokens are unordered.
        """
        assert self.config.selector is not None
        tokens = largest(logits, self.config.selector.top_k)
        return tokens, mx.take_along_axis(logits, tokens, axis=-1).astype(mx.float32)

    def scores(self, anchor: mx.array, tokens: mx.array, logits: mx.array, hidden: mx.array) -> mx.array:
        """Return the score of each candidate after each previous one, [rows, k, k].

        Axis 1 has the previous candidates. In row 0, the anchor takes the place of all of them.
        """
        count = tokens.shape[1]
        before = mx.concatenate([mx.broadcast_to(anchor.astype(tokens.dtype)[:, None], (1, count)), tokens[:-1]])
        edge = self._edge(hidden).astype(mx.float32)[:, None]
        left = self._predecessors.rows(before).astype(mx.float32) * edge
        right = self._successors.rows(tokens).astype(mx.float32)
        return logits[:, None] + left @ right.transpose(0, 2, 1)

    @staticmethod
    def path(tokens: mx.array, scores: mx.array, chooser: ProposalChooser, noise: mx.array | None) -> mx.array:
        """Return the tokens on the chooser's path through the candidates, uint32 [rows].

        Every candidate's successor is chosen in one call. Row i's table then maps the previous row's candidates to its own, and a
        parallel prefix scan composes the tables.
        """
        rows, count = tokens.shape
        if noise is not None:
            noise = mx.take_along_axis(noise[:rows], tokens, axis=-1)
            noise = mx.broadcast_to(noise[:, None], scores.shape).reshape(-1, count)
        table = chooser.propose(scores.reshape(-1, count), noise).reshape(rows, count)
        reach = 1
        while reach < rows:
            table = mx.concatenate([table[:reach], mx.take_along_axis(table[reach:], table[:-reach], axis=-1)])
            reach *= 2
        return mx.take_along_axis(tokens, table[:, :1], axis=-1)[:, 0]


def largest(values: mx.array, count: int) -> mx.array:
    """Return the unordered indices of each row's largest values, [rows, count] uint32.

    Partitioning entire rows is slow for a large vocabulary. The largest values are all in the spans with the largest maxima.
    """
    rows, n = values.shape
    spans = -(-n // _SPAN)
    if spans <= 2 * count:
        return mx.argpartition(-values, count - 1, axis=-1)[:, :count].astype(mx.uint32)
    padded = mx.pad(values, [(0, 0), (0, spans * _SPAN - n)], constant_values=-mx.inf).reshape(rows, spans, _SPAN)
    best = mx.argpartition(-padded.max(axis=-1), count - 1, axis=-1)[:, :count]
    within = mx.take_along_axis(padded, best[:, :, None], axis=1).reshape(rows, -1)
    found = mx.argpartition(-within, count - 1, axis=-1)[:, :count]
    return (mx.take_along_axis(best, found // _SPAN, axis=-1) * _SPAN + found % _SPAN).astype(mx.uint32)
