"""Compare the demo pair in one process with ranks that exchange over loopback on the same computer."""

import argparse
from statistics import median

from mlx_engine.contract.events import Stats
from mlx_engine.contract.requests import GenerationRequest, LoadPair
from mlx_engine.contract.whole_replies import fold
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.host import EngineHost
from mlx_engine.models.library.link_times import link_seconds
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.ring.ring_engine import RingEngine
from tests.keychain import keychain
from tests.mlx_engine.asking import tokens
from tests.mlx_engine.ring.workers import plan, running_workers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="interleaved runs of each (default: 5)")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of each reply (default: 64)")
    args = parser.parse_args()
    with keychain(), running_workers(1) as workers:
        alone, ring = EngineHost(), RingEngine(lambda: plan(workers))
        for engine in (alone, ring):
            list(to_iter(engine, LoadPair(*demo_pair())))
        print(f"one exchange of 8 rows: {1000 * (link_seconds(2) or 0):.2f} ms")
        for mode in ("plain", "dflash"):
            request = tokens(range(5, 45), mode=mode, max_tokens=args.tokens, ignore_eos=True)
            replies = [[measured(engine, request) for engine in (alone, ring)] for _ in range(args.runs + 1)][1:]
            rates = [[stats.decode_tok_s or 0.0 for stats in each] for each in zip(*replies, strict=True)]
            ratios = [two / one for one, two in zip(*rates, strict=True)]
            one, two = map(median, rates)
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            rounds = [each.rounds for each in replies[-1]]
            print(f"{mode}: {one:.1f} tok/s alone, {two:.1f} on two ranks, {median(ratios):.2f} ({spread}); rounds {rounds}")
        assert ring.wait(60) and alone.wait(60)


def measured(engine: EngineHost | RingEngine, request: GenerationRequest) -> Stats:
    return fold(list(to_iter(engine, request))).stats


if __name__ == "__main__":
    main()
