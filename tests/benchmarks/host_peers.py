"""Other decoders' loops, one round at a time: `dflash` 0.1.0, `dflash-mlx` 0.1.8, `mlx-vlm` 0.7.10 from PyPI.

A round ends with its first token. Work between that and the next draft counts toward the next round.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx_lm import load as mlx_lm_load

_PROMPT = list(range(20, 84))


def z_lab(target: Path, drafter: Path) -> Iterator[None]:
    """z-lab's MLX loop, which yields once per round."""
    from dflash import model_mlx  # type: ignore[import-not-found]

    model, tokenizer = mlx_lm_load(str(target))[:2]
    model_mlx.snapshot_download = lambda name, **_: name  # it would ask the hub; the folder is local
    draft = model_mlx.load_draft(str(drafter))
    for _ in model_mlx.stream_generate(model, draft, tokenizer, mx.array(_PROMPT), max_tokens=1000):
        yield


def dflash_mlx(target: Path, drafter: Path) -> Iterator[None]:
    """dflash-mlx's loop with its default blocks."""
    from dflash_mlx.engine.events import TokenEvent  # type: ignore[import-not-found]
    from dflash_mlx.runtime import stream_dflash_generate  # type: ignore[import-not-found]
    from dflash_mlx.runtime.bundle import load_runtime_bundle  # type: ignore[import-not-found]
    from dflash_mlx.runtime.context import build_offline_runtime_context  # type: ignore[import-not-found]

    context = build_offline_runtime_context(verify_mode="dflash")  # its default mode shortens failing blocks, as these are
    bundle = load_runtime_bundle(model_ref=str(target), draft_ref=str(drafter), draft_quant="none", verify_config=context.verify)
    mx.eval(bundle.target_model.parameters(), bundle.draft_model.parameters())
    drafts = _Counted(type(bundle.draft_backend), "draft_greedy")
    events = stream_dflash_generate(
        target_model=bundle.target_model,
        target_ops=bundle.target_ops,
        tokenizer=bundle.tokenizer,
        draft_model=bundle.draft_model,
        draft_backend=bundle.draft_backend,
        max_new_tokens=1000,
        block_tokens=16,
        stop_token_ids=[],
        prompt_tokens_override=_PROMPT,
        runtime_context=context,
    )
    yield from drafts.rounds(event for event in events if isinstance(event, TokenEvent))


def mlx_vlm(target: Path, drafter: Path) -> Iterator[None]:
    """mlx-vlm's loop for one text."""
    from mlx_vlm import load, stream_generate  # type: ignore[import-not-found]
    from mlx_vlm.speculative.drafters import load_drafter  # type: ignore[import-not-found]

    model, processor = load(str(target))
    draft = load_drafter(str(drafter))
    draft = draft[0] if isinstance(draft, tuple) else draft
    drafts = _Counted(type(draft), "draft_block_greedy" if hasattr(draft, "draft_block_greedy") else "draft_block")
    replies = stream_generate(
        model,
        processor,
        "",
        input_ids=mx.array([_PROMPT]),
        draft_model=draft,
        draft_kind="dflash",
        max_tokens=1000,
        temperature=0.0,
    )
    yield from drafts.rounds(replies)


class _Counted:
    """Counts calls of a method, to tell rounds apart where a loop yields tokens."""

    def __init__(self, owner: type, name: str) -> None:
        self.calls = 0
        method = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return method(*args, **kwargs)

        setattr(owner, name, counted)

    def rounds(self, tokens: Iterator[Any]) -> Iterator[None]:
        """Yield once per counted call, at the first token after it."""
        before = 0
        for _ in tokens:
            if self.calls > before:
                before = self.calls
                yield


LOOPS: dict[str, Callable[[Path, Path], Iterator[None]]] = {
    "z-lab dflash 0.1.0": z_lab,
    "dflash-mlx 0.1.8": dflash_mlx,
    "mlx-vlm 0.7.10": mlx_vlm,
}
