"""What kernels are tried with on the loaded pair: one request, plainly and with DFlash, through the engine's own loop."""

import threading
from collections.abc import Callable, Iterator

from mlx_engine.comparison import collect, first_difference, parting
from mlx_engine.errors import UserError
from mlx_engine.events import Event, Failed, Finished
from mlx_engine.kernels.agreement import Agreement, Witness
from mlx_engine.kernels.operations import PLAIN, Operations
from mlx_engine.loading import LoadedPair
from mlx_engine.requests import GenerationRequest, Message, Mode
from mlx_engine.tuning import self_check
from mlx_engine.tuning.kernel_trials import Stopped, Tokens, exact

_QUESTION = "Write the numbers from one to forty in words, separated by commas."
_TOKENS = 64


class Bench:
    """`proving.Bench` of a pair with a drafter; `cancel` ends it within a round."""

    def __init__(
        self, pair: LoadedPair, generate: Callable[[GenerationRequest, threading.Event], Iterator[Event]], cancel: threading.Event
    ) -> None:
        self._pair, self._generate, self._cancel = pair, generate, cancel
        self.exact = exact(pair)
        self._wrong = {step.name: step.detail for step in self_check.check_kernels() if step.state == "fail"}

    def agreement(self, name: str) -> Agreement:
        """What became of a kernel's results: of cases made for it, then of the pair's own arrays, in a reply of each mode.

        Raises:
            UserError, Stopped: as `reply` does.
        """
        if wrong := self._wrong.get(name):
            return Agreement(wrong=wrong)
        witness = Witness(name)
        self.reply(witness.operations(), "dflash")
        self.reply(witness.operations(), "plain")
        return witness.agreement

    def reply(self, operations: Operations, mode: Mode) -> tuple[float, Tokens]:
        """One reply with these operations: seconds a token, and its tokens.

        Raises:
            UserError: it failed, or was too short to be timed.
            Stopped: it was cancelled.
        """
        if self._cancel.is_set():
            raise Stopped
        self._pair.use(operations)
        seen = list(self._generate(self._asked(mode), self._cancel))
        if self._cancel.is_set():
            raise Stopped
        ended = seen[-1]
        if isinstance(ended, Failed):
            raise UserError.of(ended)
        assert isinstance(ended, Finished)
        if not ended.stats.decode_tok_s:
            raise UserError("The reply is too short to be timed.")
        return 1 / ended.stats.decode_tok_s, collect(seen, ended).tokens

    def tie(self, mode: Mode, wanted: Tokens, found: Tokens) -> bool:
        """Whether rounding alone can have parted a reply from plain MLX's."""
        at = first_difference(wanted, found)
        if at is None:
            return True
        self._pair.use(PLAIN)
        return parting(self._pair, self._asked(mode), wanted, found, at).tie

    def _asked(self, mode: Mode) -> GenerationRequest:
        width = self._pair.info.block_size if mode == "dflash" else None
        return GenerationRequest(
            messages=(Message("user", _QUESTION),),
            mode=mode,
            max_tokens=_TOKENS,
            ignore_eos=True,
            width=width,
            seed=1,
            reuse=False,
        )
