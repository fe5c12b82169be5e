"""A target: one of mlx-lm's models, with taps on its layers and rewindable passes.

Only the instance is changed, never a class. Selected layers are tapped, and modules are replaced by rewindable or fused ones.
`release` restores the model.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import KVCache, make_prompt_cache

from mlx_engine.contract.limits import MAX_SHARED_LOGITS
from mlx_engine.hardware.device import DeviceSpan, runs_beside_host
from mlx_engine.kernels import verify_matmul
from mlx_engine.kernels.operations import PLAIN, Operations
from mlx_engine.models.configs.families import Family
from mlx_engine.targets import exact
from mlx_engine.targets.attention import redirect_attention
from mlx_engine.targets.caches import Caches
from mlx_engine.targets.delta_net import DeltaNet
from mlx_engine.targets.fused import Fusion
from mlx_engine.targets.growing import share_mask
from mlx_engine.targets.image_rows import DeepenedLayer, ImageRows, ThreeRowRope
from mlx_engine.targets.mamba2 import Mamba2
from mlx_engine.targets.packed import PackedCache, PackedRope, Packing, PerStream
from mlx_engine.targets.products import KernelLayers, Replacements
from mlx_engine.targets.short_conv import ShortConv


class _Tap:
    """Wrapper around a layer that stores the layer's latest output if `keep` is set."""

    def __init__(self, layer: nn.Module) -> None:
        self.layer = layer
        self.keep = False
        self.output: mx.array | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.layer(*args, **kwargs)
        if self.keep:
            self.output = result[0] if isinstance(result, tuple) else result
        return result

    def __getattr__(self, name: str) -> Any:  # models read flags such as `is_linear`
        return getattr(self.layer, name)


@dataclass(frozen=True, slots=True)
class StreamRows:
    """The rows of one stream in a pass of several; see `Target.forward`."""

    tokens: mx.array
    caches: Caches
    span: DeviceSpan | None = None


class Target:
    """A wrapped mlx-lm model.

    Args:
        model: mlx-lm's model.
        vocabulary: number of logits.
        family: attribute names of the model's modules; None for a target that supports only plain decoding.
        taps: 0-based indices of the layers whose outputs form the features, in order. The number of layers stands for the output
            of the final norm.

    Attributes:
        attend: attention of row-exact passes; None unless passes are row-exact.
        most_rows: largest number of rows of a row-exact pass of several streams; None unless passes are row-exact.
        queues: whether a pass can be queued behind one that isn't read.
        rows: number of tokens with an embedding. MLX doesn't check indices, so a larger token id would read out of bounds.
    """

    queues = True

    def __init__(self, model: nn.Module, vocabulary: int, family: Family | None = None, taps: Sequence[int] = ()) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.rows = _token_rows(model) or vocabulary
        self._taps: dict[int, _Tap] = {}
        self._tap_order = tuple(taps)
        self._nets: dict[int, DeltaNet | Mamba2 | ShortConv] = {}
        self.family = family
        self.attend: exact.RowAttention | None = None
        self.most_rows: int | None = None
        self._kernel_layers = KernelLayers((), PLAIN.verify_matmul)
        self._experts = Replacements((), exact.experts)
        self._fusion = Fusion(model)
        self._using: tuple[Operations, bool] | None = None
        if family is not None:
            self._wrap(family, taps)
            self.use(PLAIN)

    def _wrap(self, family: Family, taps: Sequence[int]) -> None:
        backbone = _part(self.model, family.backbone)
        self._recurrent = family.recurrent
        self._layers: list = backbone.layers
        self._embedding = getattr(backbone, family.embedding)
        self._embedding_scale = getattr(backbone, family.embedding_scale) if family.embedding_scale else 1.0
        self._head_path, self._table_path = family.head, f"{family.backbone}.{family.embedding}"
        head = _part(self.model, family.head)
        if family.recurrent:
            for index, layer in enumerate(self._layers):
                net: Any = getattr(layer, family.recurrent, None)
                if (kind := _rewindable(net)) is not None:
                    self._nets[index] = kind(net)
                    setattr(layer, family.recurrent, self._nets[index])
        self._backbone = backbone
        redirect_attention([self.model])
        for index in taps:
            self._taps[index] = _Tap(self._layers[index] if index < len(self._layers) else backbone.norm)
            self._place(index, self._taps[index])
        # The table has one row per logit and may be padded beyond the config's vocabulary
        self.vocabulary = (self._embedding if head is None else head).weight.shape[0]

    def use(self, operations: Operations, compiled: bool | None = None) -> None:
        """Use these operations from the next pass on.

        Args:
            operations: the table of operations.
            compiled: whether to compile fused layers for queued passes; None to compile on a GPU if
                the operations can be traced.
        """
        compiled = operations.traceable and runs_beside_host() if compiled is None else compiled
        if self._using == (operations, compiled):
            return
        self._using = None  # stays None if anything below fails

        for net in self._nets.values():
            if isinstance(net, DeltaNet):
                net.inputs, net.replay = operations.kernel("delta_inputs"), operations.gated_delta_replay
        self._fusion.use(operations)
        self._kernel_layers.release()
        self._experts.release()
        modules: list[Any] = [self.model, *(tap.layer for tap in self._taps.values())]
        if multiply := operations.kernel("verify_matmul").run:
            self._kernel_layers = KernelLayers(modules, exact.checked(multiply) if operations.row_exact else multiply)
        self.attend = self.most_rows = None
        if operations.row_exact:
            self.most_rows = verify_matmul.ROWS if multiply else exact.ROWS
            self._experts = Replacements(modules, exact.experts)
            self.attend = exact.RowAttention(operations.kernel("verify_attention").run)
        self._fusion.compile(compiled)
        self._using = operations, compiled

    def release(self) -> None:
        """Restore the model's own modules."""
        self._using = self.attend = self.most_rows = None
        self._kernel_layers.release()
        self._experts.release()
        for index, tap in self._taps.items():
            self._place(index, tap.layer)
        for index, net in self._nets.items():
            setattr(self._layers[index], self._recurrent, net.net)
        self._fusion.release()
        self._taps, self._nets = {}, {}

    def _place(self, index: int, module: Any) -> None:
        if index < len(self._layers):
            self._layers[index] = module
        else:
            self._backbone.norm = module

    def embed(self, tokens: mx.array) -> mx.array:
        """Return the embeddings [1, S, H] of token ids [1, S], scaled for drafters."""
        embedded = self._embedding(tokens)
        return embedded if self._embedding_scale == 1.0 else embedded * self._embedding_scale

    def head(self, hidden: mx.array) -> mx.array:
        """Return the logits [1, S, V] of final hidden states [1, S, H]."""
        head = _part(self.model, self._head_path)  # `use` may replace it
        return _part(self.model, self._table_path).as_linear(hidden) if head is None else head(hidden)

    def caches(self) -> Caches:
        """Return new, empty caches."""
        layers = make_prompt_cache(self.model)
        if mx.default_device().type == mx.cpu and all(type(layer) is KVCache for layer in layers):
            share_mask(layers[0])
        row_exact = None if self.attend is None else partial(exact.adapter, attend=self.attend)
        return Caches(layers, row_exact=row_exact, rewindable=self.family is not None)

    def forward(
        self, tokens: mx.array, caches: Caches, span: DeviceSpan | None = None, images: ImageRows | None = None
    ) -> mx.array:
        """Return the logits [S, V] of token ids [S], which continue the cached tokens.

        See `Caches.begin` for `span` and `images`.
        """
        return self._run(tokens, caches, span, images)

    def forward_tapped(
        self, tokens: mx.array, caches: Caches, span: DeviceSpan | None = None, images: ImageRows | None = None
    ) -> tuple[mx.array, mx.array]:
        """Return logits as `forward` does, and the rows' features [S, taps * H]."""
        with self._tapped() as outputs:
            logits = self._run(tokens, caches, span, images)
            features = mx.concatenate(outputs(), axis=-1).squeeze(0)
        return logits, features

    @property
    def shared_rows(self) -> int:
        """Most rows of a pass of several streams, by memory and by what is row-exact."""
        fitting = max(MAX_SHARED_LOGITS // self.vocabulary, 1)
        return fitting if self.most_rows is None else min(fitting, self.most_rows)

    @property
    def packs(self) -> bool:
        """Whether several streams can share a pass."""
        return self.family is not None

    def forward_packed(self, streams: Sequence[StreamRows], tapped: bool) -> list[tuple[mx.array, mx.array | None]]:
        """Run one pass over the rows of several streams, if the target `packs`.

        Args:
            streams: rows of each, without images.
            tapped: whether to return features.

        Returns:
            Each stream's logits and features, as `forward_tapped` returns them. Features are None unless `tapped`.
        """
        rows = tuple(stream.tokens.shape[0] for stream in streams)
        starts = tuple(s.caches.position if s.span is None else s.span.turned + s.caches.shift for s in streams)
        packing = Packing(rows, starts)
        layers = zip(*(s.caches.begin(s.tokens.shape[0], s.span, packed=True) for s in streams), strict=True)
        caches = [PackedCache(packing, parts) for parts in layers]
        tokens = mx.concatenate([stream.tokens for stream in streams])[None]
        with self._packing(packing), self._tapped() if tapped else nullcontext() as outputs:
            logits = packing.split(self._logits(tokens, caches))
            features = packing.split(mx.concatenate(outputs(), axis=-1)) if outputs is not None else [None] * len(streams)
        return [(own.squeeze(0), None if read is None else read.squeeze(0)) for own, read in zip(logits, features, strict=True)]

    @contextmanager
    def _tapped(self) -> Iterator[Callable[[], list[mx.array]]]:
        """Keep the taps' outputs. Yields a function that returns them, [1, S, H] each."""
        for tap in self._taps.values():
            tap.keep = True
        try:
            yield lambda: [output for index in self._tap_order if (output := self._taps[index].output) is not None]
        finally:
            for tap in self._taps.values():
                tap.keep, tap.output = False, None

    @contextmanager
    def _packing(self, packing: Packing) -> Iterator[None]:
        """Make mlx-lm's attention modules run the rows of several streams."""
        with ExitStack() as changes:
            for layer in self._layers:
                layer = layer.layer if isinstance(layer, _Tap) else layer
                attention = getattr(layer, "self_attn", None)
                if attention is None or getattr(attention, "has_kernels", False):
                    continue
                if hasattr(attention, "kv_lora_rank"):  # has another formula for one row
                    changes.enter_context(_replaced(layer, "self_attn", PerStream(attention)))
                elif hasattr(attention, "rope"):
                    changes.enter_context(_replaced(attention, "rope", PackedRope(attention.rope, packing)))
            yield

    def _run(self, tokens: mx.array, caches: Caches, span: DeviceSpan | None, images: ImageRows | None) -> mx.array:
        if images is None:
            return self._logits(tokens[None], caches.begin(tokens.shape[0], span)).squeeze(0)  # an index would copy
        text = images.text(tokens)[None]
        with self._seeing(images):
            embedded = images.place(self.embed(text))
            with self._deepened(images, embedded.shape[-1]):
                logits = self.model(text, cache=caches.begin(images.rows, images=images), input_embeddings=embedded).squeeze(0)
        return logits

    def _logits(self, tokens: mx.array, caches: list) -> mx.array:
        """Return the logits [1, S, V] of token ids [1, S]."""
        logits: mx.array = self.model(tokens, cache=caches)
        return logits

    @contextmanager
    def _deepened(self, images: ImageRows, hidden: int) -> Iterator[None]:
        """Make the first layers add what the images have for them."""
        own = {index: getattr(self._taps.get(index), "layer", self._layers[index]) for index in range(images.depth(hidden))}

        def put(index: int, layer: Any) -> None:
            if index in self._taps:
                self._taps[index].layer = layer  # features are what the next layer reads
            else:
                self._layers[index] = layer

        try:
            for index, layer in own.items():
                put(index, DeepenedLayer(layer, images, index))
            yield
        finally:
            for index, layer in own.items():
                put(index, layer)

    @contextmanager
    def _seeing(self, images: ImageRows) -> Iterator[None]:
        """Make the model take scaled embeddings and the images' positions."""
        with ExitStack() as changes:
            if self.family is not None and (scale := self.family.embedding_scale):
                changes.enter_context(_replaced(self._backbone, scale, 1.0))
            if images.positions is not None:
                for layer in self._layers:
                    if (attention := getattr(layer, "self_attn", None)) is not None:
                        rope = ThreeRowRope(attention.rope, images.positions, images.sections)
                        changes.enter_context(_replaced(attention, "rope", rope))
            yield


@contextmanager
def _replaced(part: Any, name: str, other: Any) -> Iterator[None]:
    """Replace an attribute of a module for a moment."""
    own = getattr(part, name)
    setattr(part, name, other)
    try:
        yield
    finally:
        setattr(part, name, own)


def _rewindable(net: Any) -> type[DeltaNet | Mamba2 | ShortConv] | None:
    """Return the replacement for a layer's recurrent part, or None for other parts."""
    if hasattr(net, "num_v_heads"):
        return DeltaNet
    return Mamba2 if hasattr(net, "ssm_state_size") else ShortConv if hasattr(net, "L_cache") else None


def _token_rows(model: nn.Module) -> int:
    """Return the number of rows of a model's smallest token table, or 0 if unknown."""
    not_by_token = ["wpe", "position_embedding", "ngram_embeddings"]
    if "gemma3n" in type(model).__module__:  # the model masks tokens that this table lacks
        not_by_token.append("embed_tokens_per_layer")
    tables = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Embedding | nn.QuantizedEmbedding)]
    rows = [module.weight.shape[0] for name, module in tables if not any(part in name for part in not_by_token)]
    return min(rows, default=0)


def _part(model: nn.Module, path: str) -> Any:
    """Return the module at a dotted path of attribute names, or None."""
    part: Any = model
    for name in path.split("."):
        part = getattr(part, name, None)
    return part
