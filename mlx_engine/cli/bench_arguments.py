"""The options of `slipstream bench`."""

import argparse

from mlx_engine.cli import values
from mlx_engine.cli.arguments import PROMPT_FILE
from mlx_engine.prompt_sets.published_sets import PROMPT_LIMIT, PUBLISHED_SETS, TOKEN_LIMIT


def add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=values.whole(1), default=3, metavar="N", help="runs over all prompts (default 3)")
    parser.add_argument(
        "--limit",
        type=values.whole(1),
        metavar="N",
        help=f"use only the first N prompts (default: {PROMPT_LIMIT} of a published set, otherwise all)",
    )
    parser.add_argument(
        "--set",
        type=values.prompt_set,
        metavar="SET",
        help="prompts: mixed (default for the demo pair), long (mixed, in long chats), general (default for other pairs), "
        f"{', '.join(PUBLISHED_SETS)} (published, downloaded from the hub), or a {PROMPT_FILE}",
    )
    parser.add_argument(
        "--max-tokens",
        type=values.whole(2),
        metavar="N",
        help=f"token limit per reply (default 256, or {TOKEN_LIMIT} with a published set)",
    )
    parser.add_argument(
        "--temperature", type=values.TEMPERATURE, default=0.0, metavar="T", help="randomness; 0 is greedy (default 0)"
    )
    parser.add_argument("--thinking", action="store_true", help="let the model think before it answers, if it can")
    parser.add_argument(
        "--widths",
        type=values.widths,
        metavar="LIST",
        help="fixed widths to measure too, such as 4,8, or none (default 4,8,16 up to the drafter's block size)",
    )
    parser.add_argument(
        "--cool-down", type=values.SECONDS, default=1.0, metavar="S", help="seconds to pause between runs (default 1)"
    )
    parser.add_argument("--out", type=values.path, metavar="FILE", help="also write the report to FILE as JSON")
    parser.add_argument("--picture", type=values.path, metavar="FILE", help="also draw the report as an SVG picture in FILE")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--compare",
        type=values.path,
        nargs="+",
        metavar="FILE",
        help="show reports from --out next to each other instead of measuring; --out merges them into one file",
    )
    instead.add_argument(
        "--drafters",
        metavar="all|NAMES",
        help="measure several drafters of the target: all on this disk, or repos or kinds such as dspark,mtp",
    )
    instead.add_argument(
        "--streams",
        type=values.streams,
        metavar="LIST",
        help="measure several replies at the same time instead, such as 1,2,4,8",
    )
    instead.add_argument(
        "--roofline", action="store_true", help="measure this machine's limits, and how close the pair comes to them"
    )
    instead.add_argument("--remove-set", choices=tuple(PUBLISHED_SETS), metavar="SET", help="delete a downloaded set")


def check_bench(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Exit with a usage error if options are in conflict."""
    if args.streams and (args.temperature or args.thinking):
        parser.error("--streams can't be used with --temperature and --thinking.")
    for option in ("streams", "roofline", "remove_set"):
        if args.picture and getattr(args, option):
            parser.error(f"--picture can't be used with --{option.replace('_', '-')}.")
    if args.drafters and args.widths:
        parser.error("--widths can't be used with --drafters, whose block sizes differ.")
