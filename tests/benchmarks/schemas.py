"""Speed of DFlash with a grammar, relative to DFlash without.

    python -m tests.benchmarks.schemas [--repeats 7] [--width 8]

The demo pair has learned no JSON. Its structured answers, such as tables and lists, therefore get a grammar that they satisfy
anyway: lines of text. The text stays the same, and the ratio is the cost of the masks. JSON answers show what a grammar costs if
the text changes. Prints tokens per second, and per second of CPU time, which other work on the computer affects less.
"""

import argparse
import json
import time
from statistics import median

from mlx_engine.engine.engine import Engine
from mlx_engine.formats import token_grammar
from mlx_engine.formats.lark import ReplyRules
from mlx_engine.models.library.pair import demo_pair
from tests.mlx_engine.asking import question, reply

PROMPTS = (
    "Show the 16 times table up to 4.",
    "Give me a table of 8 times 1 to 10.",
    "List the first 9 multiples of 6.",
    "Can you list the months of the year?",
    "Please count from 47 to 80 by 3.",
    "Show the 7 times table up to 12.",
)
_LINES = ReplyRules(r"start: /[^\n]{0,200}(\n[^\n]{0,200})*/")
_SCHEMA = json.dumps({"type": "object", "properties": {"answer": {"type": "string", "maxLength": 250}}, "required": ["answer"]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--width", type=int, default=8, help="0 for automatic")
    given = parser.parse_args()
    engine, rules_of = Engine(), token_grammar.reply_rules
    for _ in engine.load(*demo_pair()):
        pass
    cases = {"free": {}, "lines": {}, "JSON": {"schema": _SCHEMA}, "plain JSON": {"schema": _SCHEMA, "mode": "plain"}}
    rates: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for prompt in PROMPTS:
        texts = {}
        for repeat in range(given.repeats + 1):  # the first one warms up
            for name, options in cases.items():
                token_grammar.reply_rules = (lambda *_: _LINES) if name == "lines" else rules_of
                began, cpu = time.perf_counter(), time.process_time()
                done = reply(engine, question(prompt, max_tokens=160, width=given.width or None, **options))
                texts[name], count = done.tokens, len(done.tokens)
                if repeat:
                    rate = count / (time.perf_counter() - began), count / (time.process_time() - cpu)
                    rates.setdefault((prompt, name), []).append(rate)
        print(f"{prompt} {len(texts['free'])} tokens, {'same' if texts['free'] == texts['lines'] else 'another'} text in lines")
    for top, bottom in (("lines", "free"), ("JSON", "free"), ("JSON", "plain JSON")):
        for at, unit in enumerate(("tokens per second", "tokens per second of CPU time")):
            middle = {key: median(rate[at] for rate in found) for key, found in rates.items()}
            ratios = [middle[prompt, top] / middle[prompt, bottom] for prompt in PROMPTS]
            print(f"{top} / {bottom}, {unit}: {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
