"""Tune the loaded drafter, and keep the result only if it is faster.

The target replies to the prompts. The replies of some chats are held out. The drafter, or LoRA weights for it, then learn to
propose other replies, and both are measured on those held out. Replies of other chats choose how strongly these weights change the
drafter: usually, some of its strength is all that general prompts bear. Replies and weights are in a folder on disk, so that a
canceled run continues, and memory holds one batch at a time. A run with other prompts or training settings uses the replies, too.
"""

import os
import shutil
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import mlx.core as mx

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Generate, Tuned, WorkProgress
from mlx_engine.contract.limits import FEWEST_PROMPTS
from mlx_engine.contract.requests import GenerationRequest, Message, TuneDrafter
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.parts.tensors import LOW_RANK, plain_name, save_tensors
from mlx_engine.drafters.parts.trained_tensors import Trained
from mlx_engine.hardware import memory
from mlx_engine.loading import lora
from mlx_engine.loading.drafter_files import load as load_drafter
from mlx_engine.loading.drafter_files import read
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.models.files.checkpoint import weights_checksum
from mlx_engine.models.files.tuning_files import LoraRecord, digest, locked_run, lora_path
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.tuning.block_loss import BlockLoss
from mlx_engine.tuning.recorded_replies import UNUSABLE, TargetReply, load, record, rounds
from mlx_engine.tuning.training_loop import Trainer, TrainingPlan, draw_replies, first_weights, fitting

_HELD_OUT = 4  # every fourth chat, of the first ones
_MOST_HELD_OUT = 200  # chats
_CHOOSING = 2, 8  # of every eight chats, the third one chooses the strength of LoRA weights
_STRENGTHS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25)
_LOSS = 0.01  # share of tokens per round that general prompts may lose
_TUNING = TrainingPlan(steps=0, rate=1e-3, muon=0.0, seed=0, rank=32, replies=8, anchors=16)
_FROM_SCRATCH = TrainingPlan(steps=0, rate=3e-3, muon=0.02, seed=0, replies=16, anchors=20)
_FREE = 5e9  # bytes of the disk that always stay free
_SHARES = (0.5, 0.95)  # of progress after the replies, and after the training
_NO_MEMORY = EngineText.of("no_memory_to_tune", "There isn't enough memory to tune the drafter. Quit other apps, then try again.")


@dataclass(frozen=True)
class PreparedReplies:
    """The replies to one kind of prompts."""

    learned: list[TargetReply]
    choosing: list[TargetReply]
    held_out: list[TargetReply]


def tune(pair: LoadedPair, generate: Generate, request: TuneDrafter, cancel: threading.Event) -> Iterator[WorkProgress | Tuned]:
    """Tune the loaded drafter, or continue a canceled run of the same request.

    Args:
        pair: the pair, whose drafter was loaded without its LoRA weights.
        generate: generates the pair's replies.
        request: the prompts, and how to reply to them.
        cancel: set to stop after the current step.

    Yields:
        Progress, then the result; nothing more once `cancel` is set.

    Raises:
        UserError: the drafter can't be tuned, there are too few prompts, or some with images, the disk is full, or memory ran out.
    """
    target, drafter = pair.folders
    if pair.drafter is None or drafter is None:
        raise UserError("nothing_to_tune", "There is nothing to tune: the pair has no drafter.")
    if pair.info.tuned:
        raise UserError("tuned_already", "The loaded drafter is tuned. Load it without its adapter, then tune it again.")
    if any(message.images for prompt in (*request.prompts, *request.general) for message in prompt):
        raise UserError("images_to_tune", "Tuning can't use prompts with images. Leave them out.")
    prompts = list(dict.fromkeys(request.prompts))
    if len(prompts) < FEWEST_PROMPTS:
        template = "Tuning needs at least {fewest} different prompts, but there are only {count}. Add more prompts."
        raise UserError("too_few_prompts", template, fewest=FEWEST_PROMPTS, count=len(prompts))
    if len(set(map(_first, prompts))) < 2:
        raise UserError("one_chat_to_tune", "All prompts are from one chat. Add prompts from other chats.")
    general = [prompt for prompt in dict.fromkeys(request.general) if prompt not in set(prompts)]
    output = drafter / "model.safetensors" if request.whole else lora_path(drafter, target)
    if not os.access(drafter, os.W_OK) or drafter == demo_pair()[1]:
        template = (
            "The drafter in “{folder}” is part of Slipstream or can't be changed. Copy the pair to one of your own folders first."
        )
        raise UserError("drafter_not_writable", template, folder=str(drafter))
    with locked_run(target, drafter) as folder, memory.enough_for(_NO_MEMORY):
        run = _Run(pair, generate, request, cancel, folder)
        model = _model(pair, pair.drafter, drafter)  # first, because it refuses drafters that can't be tuned
        own_replies, general_replies = yield from run.replies(prompts, general)
        if cancel.is_set():
            return
        trained = yield from run.training(model, own_replies, general_replies)
        if cancel.is_set():
            return
        del model
        result = yield from run.result(trained, own_replies, general_replies, output)
        if result is None:
            return
        shutil.rmtree(folder, ignore_errors=True)
    yield result  # last, because the caller may cancel the run then


@dataclass(frozen=True)
class _Run:
    """A run with its arguments; see `tune`."""

    pair: LoadedPair
    generate: Generate
    request: TuneDrafter
    cancel: threading.Event
    folder: Path

    def replies(
        self, prompts: Sequence[tuple[Message, ...]], general: Sequence[tuple[Message, ...]]
    ) -> Generator[WorkProgress, None, tuple[PreparedReplies, PreparedReplies]]:
        """Record the missing replies, and delete those of unused prompts."""
        used = {self._state, *map(self._file, prompts), *map(self._file, general)}
        for file in self.folder.glob("*.safetensors"):
            if file not in used:
                file.unlink(missing_ok=True)
        prepared = PreparedReplies([], [], []), PreparedReplies([], [], [])
        total, done, why = len(prompts) + len(general), 0, UNUSABLE
        for group, messages in zip(prepared, (prompts, general), strict=True):
            chats = {first: number for number, first in enumerate(dict.fromkeys(map(_first, messages)))}
            for prompt in messages:
                step = EngineText.of("tuning_replies", "Generating reply {number} of {total}", number=done + 1, total=total)
                yield WorkProgress(_SHARES[0] * done / total, step)
                if shutil.disk_usage(self.folder).free < _FREE:
                    template = (
                        "There isn't enough disk space to tune: {size:.0f} GB must stay free. Free up space, or use fewer prompts."
                    )
                    raise UserError("no_disk_to_tune", template, size=_FREE / 1e9)
                file = self._file(prompt)
                reply = load(file) or record(self.pair, self.generate, self._reply_request(prompt), file, self.cancel)
                if self.cancel.is_set():
                    return prepared
                mx.clear_cache()
                if isinstance(reply, EngineText):
                    why = reply
                else:
                    number = chats[_first(prompt)]
                    held_out = number % _HELD_OUT == 0 and number < _HELD_OUT * _MOST_HELD_OUT
                    choosing = number % _CHOOSING[1] == _CHOOSING[0] and not self.request.whole
                    (group.held_out if held_out else group.choosing if choosing else group.learned).append(reply)
                done += 1
        if not prepared[0].learned or not prepared[0].held_out:
            raise UserError.of(why)
        return prepared

    def _file(self, prompt: tuple[Message, ...]) -> Path:
        return self.folder / f"{digest(self._reply_request(prompt))}.safetensors"

    @property
    def _state(self) -> Path:
        return self.folder / f"state-{digest(self.request)}.safetensors"

    def _reply_request(self, prompt: tuple[Message, ...]) -> GenerationRequest:
        request = self.request
        has_reply = prompt[-1].role == "assistant"
        return GenerationRequest(
            prompt[:-1] if has_reply else prompt,
            continue_from=prompt[-1].content if has_reply else "",
            sampling=request.sampling,
            seed=request.seed,
            max_tokens=request.max_tokens,
            thinking=request.thinking,
            reuse=False,
            private=True,
        )

    def training(self, model: BlockLoss, own: PreparedReplies, general: PreparedReplies) -> Generator[WorkProgress, None, Trained]:
        """Train in steps, and return the weights."""
        request = self.request
        plan = fitting(_FROM_SCRATCH if request.whole else _TUNING, model.config)
        steps = max(1, round(request.epochs * (len(own.learned) + len(general.learned)) / plan.replies))
        plan = replace(plan, steps=steps, seed=request.seed)
        _, drafter = self.pair.folders
        assert drafter is not None
        weights = {plain_name(name): array for name, array in read(drafter).items()} if request.whole else {}
        trainer = Trainer(model, plan, first_weights(model.config, plan, weights), self._state)
        block, ends = model.config.block_size, frozenset(self.pair.tokenizer.eos_token_ids)
        for loss in trainer.run(lambda _, draw: draw_replies(plan, own.learned, general.learned, block, ends, draw)):
            step = EngineText.of(
                "tuning_step", "Training, step {step} of {steps}, loss {loss:.2f}", step=trainer.step, steps=steps, loss=loss
            )
            yield WorkProgress(_SHARES[0] + (_SHARES[1] - _SHARES[0]) * trainer.step / steps, step)
            if self.cancel.is_set():
                trainer.save()
                break
        return trainer.trained

    def result(
        self, trained: Trained, own: PreparedReplies, general: PreparedReplies, output: Path
    ) -> Generator[WorkProgress, None, Tuned | None]:
        """Measure before and after, and keep the faster. None if canceled."""
        target, folder = self.pair.folders
        assert folder is not None and self.pair.drafter is not None
        if not self.request.whole:
            trained = _scaled(trained, (yield from self._strength(trained, own, general)))
        tuned, tensors = self._tuned(trained)
        speeds: list[float] = []
        for replies in (own.held_out, general.held_out):
            for drafter in (self.pair.drafter, tuned):
                speeds.append((yield from self._speed(drafter, replies)))
        if self.cancel.is_set():
            return None
        before, after, general_before, general_after = speeds
        kept = is_better(before, after, general_before, general_after)
        if kept and self.request.whole:
            save_tensors(output, tensors, {"format": "mlx"})
        elif kept:
            checksums = weights_checksum(folder), weights_checksum(target)
            facts = LoraRecord(*checksums, date.today().isoformat(), before, after, general_before, general_after)
            lora.save(output, trained, facts)
        count = len(own.learned) + len(own.choosing) + len(own.held_out)
        return Tuned(before, after, general_before, general_after, kept, str(output) if kept else "", count)

    def _strength(self, trained: Trained, own: PreparedReplies, general: PreparedReplies) -> Generator[WorkProgress, None, float]:
        """Return the best strength of LoRA weights, on replies of neither set."""
        assert self.pair.drafter is not None
        if not own.choosing:
            return 1.0
        least = yield from self._speed(self.pair.drafter, general.choosing)
        speeds: dict[float, tuple[float, float]] = {}
        for strength in _STRENGTHS:
            drafter, _ = self._tuned(_scaled(trained, strength))
            speed = yield from self._speed(drafter, own.choosing)
            speeds[strength] = speed, (yield from self._speed(drafter, general.choosing))
            if self.cancel.is_set():
                break
        return best_strength(speeds, least)

    def _tuned(self, trained: Trained) -> tuple[Drafter, Trained]:
        """Return the drafter with its LoRA or new weights, and its tensors."""
        _, folder = self.pair.folders
        assert folder is not None and self.pair.drafter is not None
        tensors = read(folder)
        published = {plain_name(name): name for name in tensors}
        if self.request.whole:
            tensors |= {published[name]: array.astype(tensors[published[name]].dtype) for name, array in trained.items()}
        else:
            tensors |= lora.merged(tensors, trained, self.pair.drafter.config.stored)
        ends = self.pair.target.embed, self.pair.target.head
        return load_drafter(folder, self.pair.dtype, *ends, self.pair.drafter.bits, tensors=dict(tensors)), tensors

    def _speed(self, drafter: Drafter, replies: Sequence[TargetReply]) -> Generator[WorkProgress, None, float]:
        """Return tokens per round, or 0 without replies or after canceling."""
        tokens = count = 0
        for reply in replies:
            if self.cancel.is_set():
                return 0.0
            chooser = Chooser(self.request.sampling, self.request.seed)
            some, more = rounds(drafter, reply, chooser, self.pair.target.vocabulary)
            tokens, count = tokens + some, count + more
            yield WorkProgress(_SHARES[1], EngineText.of("tuning_measures", "Measuring"))
        return tokens / count if count else 0.0


def _scaled(trained: Trained, strength: float) -> Trained:
    """Return LoRA weights that change the drafter by this share."""
    return {name: array * strength if name.endswith(LOW_RANK[1]) else array for name, array in trained.items()}


def best_strength(speeds: Mapping[float, tuple[float, float]], general_before: float) -> float:
    """Return the strength with most tokens per round that slows nothing.

    Args:
        speeds: strength -> tokens per round on the user's prompts and on general ones.
        general_before: tokens per round on general prompts without the LoRA weights.
    """
    unharmed = {strength: own for strength, (own, general) in speeds.items() if general >= general_before}
    return max(unharmed, key=lambda strength: (unharmed[strength], strength)) if unharmed else min(speeds)


def _model(pair: LoadedPair, drafter: Drafter, folder: Path) -> BlockLoss:
    """Return the drafter to train. In float16, gradients would vanish."""
    target, dtype = pair.target, mx.bfloat16 if pair.dtype == mx.float16 else pair.dtype
    ends = (lambda tokens: target.embed(tokens).astype(dtype)), (lambda hidden: target.head(hidden.astype(pair.dtype)))
    return BlockLoss(drafter.config, read(folder), dtype, *ends, drafter.bits)


def is_better(before: float, after: float, general_before: float, general_after: float) -> bool:
    """Return whether tokens per round rose, and fell elsewhere by at most 1 %."""
    return after > before and general_after >= (1 - _LOSS) * general_before


def _first(prompt: tuple[Message, ...]) -> str:
    """Return the user's first message, which a chat's prompts have in common."""
    return next((message.content for message in prompt if message.role == "user"), "")
