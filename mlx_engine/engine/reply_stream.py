"""The stream that continues a reply's branch: its rows, choices, and drafts."""

from collections.abc import Sequence

import mlx.core as mx

from mlx_engine.contract.limits import MAX_COPY_ROWS
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.decoding.fixed_copies import FixedCopies
from mlx_engine.decoding.pair_history import PairHistory
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.stream import Stream
from mlx_engine.decoding.width import AutomaticWidth, FixedWidth, WidthController
from mlx_engine.drafters.lookup import Lookup
from mlx_engine.engine.prepare import Prepared
from mlx_engine.engine.tally import Tally
from mlx_engine.hardware import device
from mlx_engine.kernels.operations import Operations
from mlx_engine.kernels.verify_attention import ROWS
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.prefix.branch import Branch


def reply_stream(
    pair: LoadedPair,
    history: PairHistory,
    prepared: Prepared,
    branch: Branch,
    tokens: Sequence[int],
    tally: Tally,
    operations: Operations,
) -> Stream:
    """Return the stream that continues a branch, which has these tokens.

    They are the prompt, and what a reply had written before an error of the GPU.
    """
    request, prompt, drafts = prepared.request, prepared.prompt.tokens, tally.mode == "dflash"
    written = tokens[len(prompt) :]
    copies = drafts and history.lookup and (request.lookup_only or not request.width)
    controller: WidthController = FixedWidth(1, None)
    if drafts and request.width:
        controller = FixedCopies(request.width) if request.lookup_only else FixedWidth(request.width)
    elif drafts:
        controller = AutomaticWidth(history, request.lookup_only, request.sampling.temperature)
    reads_context = request.reuse or (drafts and not request.lookup_only)  # for rounds or a later turn
    penalties = Penalties(request.sampling, prompt, request.logit_bias, prepared.grammar)
    penalties.add(written)
    return Stream(
        branch.caches,
        pair.target.vocabulary,
        Chooser(request.sampling, tally.seed, operations, request.logprobs, prepared.grammar),
        penalties,
        controller,
        anchor=tokens[-1],
        limit=prepared.limit - len(written),
        ends=prepared.ends,
        drafter=pair.drafter if reads_context else None,
        context=branch.context if reads_context else None,
        copies=Lookup(tokens, _most_rows(pair, history, request) - 1) if copies else None,
        clock=tally.clock.working,
        queue_ahead=drafts
        and device.runs_beside_host()
        and history.costs.table.queued
        and pair.target.queues
        and not request.exact,
        opens=not written,
        foreground=request.foreground,
        joined=bool(written),  # the time of its first pass is unknown
    )


def _most_rows(pair: LoadedPair, history: PairHistory, request: GenerationRequest) -> int:
    """Return the rows of the widest copy."""
    as_drafts = pair.dtype == mx.float32 and device.runs_beside_host() and not request.width  # wider passes round differently
    return history.block if as_drafts else ROWS if request.exact else MAX_COPY_ROWS
