"""How the commands of `slipstream models` print pairs and JSON."""

import json
from typing import Any

from mlx_engine.pairs.pair import Pair


def names(pair: Pair) -> dict[str, str | None]:
    return {"target": pair.target, "drafter": pair.drafter}


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))
