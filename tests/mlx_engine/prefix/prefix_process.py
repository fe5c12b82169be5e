"""A process that chats with a tiny pair and a store that other processes use, too; see `test_prefix_disk`.

python -m tests.mlx_engine.prefix.prefix_process KIND PAIR_FOLDER STORE_FOLDER SEED
"""

import dataclasses
import json
import random
import sys
from pathlib import Path

from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.prefix.prefix_pairs import PROMPT, begin, running, save

QUOTA = 600_000  # bytes, less than all prompts of a process
_REPLIES, _CHATS = 16, 6  # the chats are the same in all processes


def main(kind: str, pair: Path, folder: Path, seed: int) -> None:
    """Chat, compare with fresh replies, and print what happened."""
    rng, read, forgotten, sizes = random.Random(seed), 0, 0, dict[str, int]()
    with running(kind, pair) as engine:
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(_REPLIES):
            chat = rng.randrange(_CHATS)
            prompt = [*PROMPT * 2, *random.Random(chat).choices(range(3, 120), k=rng.choice((30, 60, 120)))]
            begin(engine, folder, QUOTA)
            request = tokens(prompt, max_tokens=rng.randint(1, 20), ignore_eos=True, width=3)
            expected, got = reply(engine, request), reply(engine, dataclasses.replace(request, reuse=True, chat=str(chat)))
            assert got.tokens == expected.tokens
            assert got.stats.accepted_per_round == expected.stats.accepted_per_round
            read += got.stats.disk_tokens > 0
            if rng.random() < 0.25:
                engine.forget_prompts(rng.choice((None, (str(chat),), (str(chat),))))
                forgotten += 1
            save(engine)
            for path in folder.glob("*.safetensors"):
                try:
                    sizes[path.name] = path.stat().st_size
                except FileNotFoundError:  # the other process deleted it
                    continue
    print(json.dumps({"read": read, "forgotten": forgotten, "seen": sum(sizes.values())}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
