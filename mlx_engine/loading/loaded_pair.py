"""Load a target and a drafter from two folders."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.errors import NO_DRAFTER, EngineText, UserError
from mlx_engine.contract.events import LoadProgress, PairInfo
from mlx_engine.decoding.costs import ASSUMED, CostTable
from mlx_engine.decoding.pair_history import PairHistory
from mlx_engine.decoding.prefill import Pace, safe_rows
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.registry import parse, tapped
from mlx_engine.formats import chat_prompt, chat_text
from mlx_engine.formats.format_registry import call_format
from mlx_engine.formats.template_sandbox import renderer
from mlx_engine.hardware import device, gpu_faults, memory
from mlx_engine.hardware.gpu_faults import GpuFault
from mlx_engine.kernels.operations import PLAIN, ROW_EXACT, Operations, with_kernels
from mlx_engine.loading import lora
from mlx_engine.loading.drafter_files import load as load_drafter
from mlx_engine.loading.drafter_files import read as read_tensors
from mlx_engine.loading.drafter_files import usual_bits
from mlx_engine.loading.image_reader import ImageReader
from mlx_engine.loading.target_model import TargetModel, config_fault, refuse_nonfinite
from mlx_engine.loading.warmup import warm
from mlx_engine.media import media_process
from mlx_engine.models.configs.target_config import dflash_problem, text_config
from mlx_engine.models.files.checkpoint import read_config, recommended_sampling
from mlx_engine.models.files.mtp_head import pair_bytes
from mlx_engine.models.files.tuning_files import lora_path
from mlx_engine.models.library.library import model_name, pair_name
from mlx_engine.targets import exact, exact_check, model_arguments
from mlx_engine.targets.target import Target
from mlx_engine.targets.weights import Weights
from mlx_engine.vision.image_rules import ImageRules
from mlx_engine.vision.tower_weights import check_complete
from mlx_engine.vision.vision_checkpoint import read_rules

_NO_IMAGES = EngineText.of("sharded_without_images", "Images can't be used with a model that runs on several computers.")


def exact_operations(broken: Collection[str] = ()) -> Operations:
    """Return the operations of exact replies, without kernels that fail here."""
    names = [name for name in ROW_EXACT if name not in broken]
    if names and mx.default_device().type == mx.gpu and mx.metal.is_available():
        return with_kernels(names, row_exact=True)
    return replace(PLAIN, row_exact=True)


@dataclass
class LoadedPair:
    """A target in memory, and its drafter if it has one.

    Attributes:
        dtype: number format of the target's computations.
        weights: the target's weights.
        model: the target's model.
        history: measured speed and acceptance of the pair.
        pace: size of a prompt's chunks, which follows their time.
        exact_pace: size of an exact prompt's chunks, which depends only on the target.
        folders: folders of the target and the drafter.
        ranges: operations by the context length from which they run; the first length is 0.
        operations: the operations in use.
        suspended: number of replies that suspect kernels of an error of the GPU. Until it is 0, all replies run plain MLX.
        kernel_record: what a canceled kernel selection has found.
        exact_operations: the operations of exact replies.
        running_exactly: operations of the exact replies that are running; None without any.
        exact_history: speed and acceptance of exact replies; None until the pair passed the check of exact mode.
        images: reads images; None if the target can't see.
    """

    target: Target
    tokenizer: TokenizerWrapper
    drafter: Drafter | None
    dtype: mx.Dtype
    info: PairInfo
    weights: Weights
    model: TargetModel
    history: PairHistory
    folders: tuple[Path, Path | None]
    pace: Pace
    exact_pace: Pace
    ranges: tuple[tuple[int, Operations], ...] = ((0, PLAIN),)
    operations: Operations = PLAIN
    suspended: int = 0
    kernel_record: Any = None
    exact_operations: Operations = field(default_factory=exact_operations)
    running_exactly: Operations | None = None
    exact_history: PairHistory | None = None
    images: ImageReader | None = None
    _exact_replies: int = 0

    @property
    def held(self) -> int:
        """Bytes of all weights in memory, and of soft tokens.

        On a CPU, weights take more memory than in their files. A quantized drafter takes less.
        """
        drafter = sum(array.nbytes for array in self.drafter.parameters()) if self.drafter else 0
        return self.weights.held + drafter + (self.images.held if self.images else 0)

    def use_costs(self, table: CostTable) -> None:
        """Use these costs to choose widths, starting with the next reply."""
        self.history = _history(self.drafter, self.info.block_size, table)
        if self.exact_history is not None:
            self.exact_history = _history(self.drafter, self.exact_history.block, table)

    @contextmanager
    def exactly(self) -> Iterator[PairHistory]:
        """Run row-exact operations in this block, and yield the history for exact replies.

        Several replies can be in such a block. No other replies run at that time.

        Raises:
            UserError: the pair doesn't support exact mode, which is checked once.
        """
        if self.drafter is None:
            raise UserError(
                "exact_without_drafter",
                "Exact mode needs a drafter, but none is loaded. Turn exact mode off.",
            )
        self._exact_replies += 1
        try:
            if self.running_exactly is None:
                self.target.use(self.exact_operations)
                if self.exact_history is None:
                    self._check_exact()
                    self.exact_history = _history(self.drafter, min(self.info.block_size, exact.ROWS), self.history.costs.table)
                self.running_exactly = self.exact_operations
            assert self.exact_history is not None
            yield self.exact_history
        finally:
            self._exact_replies -= 1
            if not self._exact_replies:
                self.running_exactly = None
                self.target.use(self.operations)

    def run_exactly(self, operations: Operations) -> None:
        """Switch all exact replies that are running to these operations."""
        self.running_exactly = operations
        self.target.use(operations)

    def _check_exact(self) -> None:
        """Check that exact replies are exact, without kernels if the GPU fails with them."""
        fault: GpuFault | None = None
        try:
            exact_check.check(self.target, self.exact_operations)
        except (RuntimeError, ValueError) as error:
            fault = gpu_faults.find(error)
            if fault is None or not self.exact_operations.kernels:
                raise
        if fault is not None:  # outside the handler, whose traceback holds arrays
            memory.settle()
            self.exact_operations = exact_operations(ROW_EXACT)
            exact_check.check(self.target, self.exact_operations)

    def use(self, operations: Operations, *longer: tuple[int, Operations]) -> None:
        """Use these operations, starting with the next reply.

        Args:
            operations: for short contexts.
            longer: ascending context lengths, each with the operations for that length and above.
        """
        self.ranges = ((0, operations), *longer)
        self.run_at(0)

    def at(self, length: int) -> Operations:
        """Return the operations for a context of this length."""
        return PLAIN if self.suspended else next(each for start, each in reversed(self.ranges) if start <= length)

    def run_at(self, length: int) -> None:
        """Switch to the operations for a context of this length."""
        self.run_operations(self.at(length))

    def run_operations(self, operations: Operations) -> None:
        """Switch to these operations. The target switches once no exact reply runs."""
        self.operations = operations
        if self.running_exactly is None:
            self.target.use(operations)
        if self.drafter is not None:
            self.drafter.operations = operations


def load(
    source: TargetModel, drafter_folder: Path | None, drafter_bits: int | None = None, tuned: bool = True
) -> Iterator[LoadProgress | LoadedPair]:
    """Load a drafter that has passed `check_loadable` for a target of its own.

    Args:
        source: the target's model.
        drafter_folder: folder of the drafter, or None.
        drafter_bits: bits that the drafter's matrices are quantized to, 4 or 8; 16 for as published; None for automatic.
        tuned: whether to use the drafter's LoRA weights for this target, if they exist. If they can't be used, they are ignored.

    Yields:
        `LoadProgress` events, then the `LoadedPair`.

    Raises:
        UserError: the files can't be read as a drafter.
    """
    renderer.start()
    model, config, dtype, target_folder = source.model, source.config, source.dtype, source.folder
    sizes = pair_bytes(target_folder, drafter_folder)
    target, drafter, why_plain = None, None, None
    rules, why_cannot_see = _image_rules(target_folder, config) if source.sharding is None else (None, _NO_IMAGES)
    is_tuned, why_not_tuned = False, None
    try:
        if drafter_folder is None:
            target = source.wrapped()
            why_plain = dflash_problem(config) or NO_DRAFTER
        else:
            yield LoadProgress(0.8, EngineText.of("reading_drafter", "Reading the drafter"))
            layers, read_drafter = [*model.layers], parse(read_config(drafter_folder))
            target = source.wrapped(tapped(read_drafter, layers))
            target.caches().check()
            bits = drafter_bits or usual_bits(sizes[1])
            tensors = read_tensors(drafter_folder)
            if tuned and (file := lora_path(drafter_folder, target_folder)).exists():
                try:
                    lora.merge(tensors, file, drafter_folder, target_folder, read_drafter.stored)
                    is_tuned = True
                except UserError as error:
                    why_not_tuned = error.text
            drafter = load_drafter(drafter_folder, dtype, target.embed, target.head, bits, layers, tensors)
            refuse_nonfinite([("drafter", array) for array in drafter.parameters()], drafter_folder)
            _check_drafter_tokens(drafter.config, target, "vocab_size" in text_config(config))
        yield LoadProgress(0.95, EngineText.of("warming_up", "Warming up"))
        _check_target_tokens(target)
        warm(target, drafter, source.context_limit)
    except BaseException as error:
        if target is not None:
            target.release()
        is_known = isinstance(error, UserError) or not isinstance(error, Exception) or memory.exhausted(error)
        if not is_known and (fault := model_arguments.fault(config)):  # otherwise it's a bug
            raise config_fault(target_folder, fault) from error
        raise
    yield LoadProgress(1.0, EngineText.of("ready", "Ready"))
    info = PairInfo(
        name=pair_name(target_folder),
        target=model_name(target_folder),
        drafter=model_name(drafter_folder) if drafter_folder else "",
        family=str(config.get("model_type")),
        drafter_kind=drafter.config.kind if drafter else "",
        drafter_folder=drafter_folder,
        block_size=drafter.config.block_size if drafter else 1,
        context_limit=source.context_limit,
        target_bytes=sizes[0],
        drafter_bytes=sizes[1],
        can_think=chat_prompt.can_think(source.tokenizer),
        takes_effort=chat_text.takes_effort(source.tokenizer),
        can_call_tools=call_format(source.tokenizer) is not None,
        why_plain=why_plain,
        drafter_weights=_format(drafter) if drafter else "",
        sampling=recommended_sampling(target_folder),
        tuned=is_tuned,
        why_not_tuned=why_not_tuned,
        can_see=rules is not None,
        why_cannot_see=why_cannot_see,
    )
    folders = target_folder, drafter_folder
    on_gpu = device.runs_beside_host()
    exact_pace = Pace(safe_rows(source.weights.operations(1))) if on_gpu else Pace()
    pace, history = replace(exact_pace, adapts=on_gpu), _history(drafter, info.block_size)
    pair = LoadedPair(target, source.tokenizer, drafter, dtype, info, source.weights, source, history, folders, pace, exact_pace)
    if rules is not None:
        media_process.start()
        pair.images = ImageReader(target_folder, rules, dtype)
    yield pair


def _history(drafter: Drafter | None, block: int, table: CostTable = ASSUMED) -> PairHistory:
    return PairHistory(block, table, drafter is not None and drafter.config.confident)


def _image_rules(folder: Path, config: dict) -> tuple[ImageRules | None, EngineText | None]:
    """Return how a target sees images, or why it can't although its family can."""
    try:
        rules = read_rules(folder, config)
        check_complete(folder, rules)
        return rules, None
    except UserError as error:
        return None, None if error.text.code == "family_without_images" else error.text


def _format(drafter: Drafter) -> str:
    return f"{drafter.bits} bit" if drafter.bits < 16 else str(drafter.dtype).removeprefix("mlx.core.")


def _check_target_tokens(target: Target) -> None:
    """Refuse a target that can choose a token without an embedding.

    MLX would read memory outside the table.

    Raises:
        UserError: there are more logits than embeddings.
    """
    logits = target.forward(mx.zeros(1, mx.uint32), target.caches()).shape[-1]
    if logits > target.rows:
        raise UserError(
            "more_logits_than_embeddings",
            "The model has logits for {logits:,} tokens, but embeddings for only {rows:,}. Download it again, or choose "
            "another one.",
            logits=logits,
            rows=target.rows,
        )


def _check_drafter_tokens(config: DrafterConfig, target: Target, declared: bool) -> None:
    """Refuse a drafter with tokens that the target's embedding table lacks.

    Args:
        config: config of the drafter.
        target: the loaded target.
        declared: whether the target's config.json states a vocabulary size, which `check` has compared with the drafter's.

    Raises:
        UserError: target and drafter have different vocabularies.
    """
    tokens = config.vocab_size or target.rows
    if tokens > target.rows or (tokens < target.rows and not declared) or config.mask_token >= target.rows:
        raise UserError(
            "drafter_vocabulary_differs",
            "The drafter's vocabulary has {tokens:,} tokens and its mask token is {mask:,}, but the target has {rows:,} tokens. "
            "Choose another drafter.",
            tokens=tokens,
            mask=config.mask_token,
            rows=target.rows,
        )
