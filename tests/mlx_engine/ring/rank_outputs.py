"""One of two ranks that run passes of a target together, and print what each layer returns: see `test_ring`."""

import hashlib
import sys
from pathlib import Path

import mlx.core as mx
import numpy as np

from mlx_engine.loading.target_model import TargetModel, read_target
from mlx_engine.ring.rank import join_ring
from mlx_engine.targets.sharding import Sharding


def main() -> None:
    rank, folder, *addresses = sys.argv[1:]
    source = _read(Path(folder), Sharding(join_ring(int(rank), addresses)))
    layers = len(source.model.layers)
    target = source.wrapped(range(layers + 1))
    caches = target.caches()
    for rows, rejected in ((40, 0), (8, 5), (8, 0), (1, 0)):  # a prompt, a block that is partly rejected, one that isn't, a step
        _, features = target.forward_tapped(mx.arange(5, 5 + rows, dtype=mx.uint32), caches)
        digest = hashlib.sha256(np.array(features.astype(mx.float32)).tobytes()).hexdigest()
        print(digest, flush=True)
        caches.rewind(rejected)
        caches.finish()


def _read(folder: Path, sharding: Sharding) -> TargetModel:
    steps = read_target(folder, sharding)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


if __name__ == "__main__":
    main()
