"""Options that several commands share, and the request that they add up to."""

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mlx_engine import limits
from mlx_engine.errors import UserError
from mlx_engine.pairs.checkpoint import read_config
from mlx_engine.pairs.drafter_config import parse
from mlx_engine.requests import GenerationRequest, Message, Mode, Sampling
from mlx_engine.terminal.pair import folders


def add_pair(parser: argparse.ArgumentParser) -> None:
    """Which pair to run."""
    group = parser.add_argument_group("the pair (default: the demo pair that comes with Slipstream)")
    group.add_argument("--target", type=Path, metavar="DIR", help="folder of the target model")
    group.add_argument("--drafter", type=Path, metavar="DIR", help="folder of its DFlash drafter; without it decoding is plain")
    group.add_argument(
        "--drafter-bits",
        type=int,
        choices=(4, 8, 16),
        help="bits of a drafter's weights; 16 leaves them as published (default: 4 for large drafters on a GPU, else 16)",
    )


def add_prompt(parser: argparse.ArgumentParser) -> None:
    """What to answer."""
    parser.add_argument("text", nargs="?", help="what to ask; “-” reads it from standard input")
    parser.add_argument(
        "--tokens",
        type=Path,
        metavar="FILE",
        help="a JSON list of raw prompt token ids instead of a text; no chat template is used",
    )


def add_reply(parser: argparse.ArgumentParser, mode: bool = True) -> None:
    """How to answer."""
    group = parser.add_argument_group("the reply")
    group.add_argument("--max-tokens", type=whole(1), default=1024, metavar="N", help="at most N tokens (default 1024)")
    group.add_argument(
        "--temperature", type=_temperature, default=0.0, metavar="T", help="0 always takes the likeliest token (default)"
    )
    group.add_argument("--seed", type=whole(0, 2**64 - 1), metavar="S", help="of the random choices at a temperature above 0")
    group.add_argument(
        "--width",
        type=_width,
        metavar="N",
        help="tokens that one pass checks, or auto (default): whatever is fastest on this machine for the text at hand",
    )
    if mode:
        group.add_argument("--mode", choices=("dflash", "plain"), help="default: dflash, where there is a drafter")
    group.add_argument("--ignore-eos", action="store_true", help="go on after the token that ends a reply, up to --max-tokens")
    group.add_argument("--stop", action="append", default=[], metavar="TEXT", help="end the reply before TEXT; may be repeated")
    group.add_argument("--thinking", action="store_true", help="let the target think first, if it can")
    group.add_argument("--effort", metavar="WORD", help="how much it thinks (low, medium, high), where its template takes that")
    group.add_argument("--system", default="", metavar="TEXT", help="instructions that stand before the chat")
    add_sampling(parser)


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """What random choices are made from. They apply in this order: penalties, temperature, top-k, top-p, min-p."""
    group = parser.add_argument_group("the choices (with --temperature above 0; penalties always)")
    for name, metavar, words in (
        ("top-k", "N", "only from the N likeliest tokens (0, the default, is off)"),
        ("top-p", "P", "only from the likeliest tokens that together reach P (default 1, off)"),
        ("min-p", "P", "only from tokens at least P times as likely as the likeliest (default 0, off)"),
        ("repetition-penalty", "R", "divides the logits of tokens seen before, in prompt or reply (default 1, off)"),
        ("presence-penalty", "X", "taken off the logits of tokens that the reply has (default 0, off)"),
        ("frequency-penalty", "X", "the same for each time the reply has them (default 0, off)"),
    ):
        usual = getattr(Sampling(), name.replace("-", "_"))
        group.add_argument(f"--{name}", type=type(usual), default=usual, metavar=metavar, help=words)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Output for programs."""
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def add_bench(parser: argparse.ArgumentParser) -> None:
    """What is measured, and where the report goes."""
    parser.add_argument("--runs", type=whole(1), default=3, metavar="N", help="runs over all prompts (default 3)")
    parser.add_argument("--prompts", type=whole(1), metavar="N", help="only the first N prompts")
    parser.add_argument(
        "--set",
        choices=("mixed", "long", "general"),
        help="prompts: mixed is what the demo pair can answer (its default), long the same in long chats, general for other pairs",
    )
    parser.add_argument("--max-tokens", type=whole(2), default=256, metavar="N", help="a reply (default 256)")
    parser.add_argument(
        "--widths",
        type=_widths,
        metavar="LIST",
        help="fixed widths to measure besides, such as 4,8; “none” for none (default 4, 8, 16, as far as the drafter's block goes)",
    )
    parser.add_argument("--cool-down", type=_seconds, default=1.0, metavar="S", help="seconds of rest between two runs (default 1)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the report there as JSON besides")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw it there as SVG")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--compare", type=Path, nargs=2, metavar=("A", "B"), help="compare two reports that --out has written; nothing is measured"
    )
    instead.add_argument(
        "--roofline", action="store_true", help="measure only what this machine can do at most, and what the pair's passes reach"
    )
    instead.add_argument(
        "--host", action="store_true", help="count only what a round asks of the host and of Metal, on tiny pairs of real depth"
    )


def check_pair(parser: argparse.ArgumentParser, arguments: argparse.Namespace, needs_drafter: bool = False) -> None:
    """Refuse a choice of pair that makes no sense, as a mistake of usage."""
    if arguments.drafter and not arguments.target:
        parser.error("--drafter needs --target, the folder of the model that it drafts for.")
    if arguments.target and not arguments.drafter and (needs_drafter or getattr(arguments, "mode", None) == "dflash"):
        parser.error("DFlash needs a drafter for this target: give its folder with --drafter.")
    if arguments.drafter_bits and arguments.target and not arguments.drafter:
        parser.error("--drafter-bits needs --drafter, the folder of the drafter that it is about.")


def check_prompt(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Refuse no prompt, or two, as a mistake of usage."""
    if (arguments.text is None) == (arguments.tokens is None):
        parser.error("give either a text (“-” reads standard input) or --tokens FILE.")
    if arguments.tokens and arguments.system:
        parser.error("--tokens uses no chat template, so it takes no --system.")


def check_reply(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Refuse a choice that is out of its range as a mistake of usage, before anything is loaded."""
    try:
        limits.check_choices(options(arguments, "dflash"), _block(arguments))
    except UserError as error:
        parser.error(str(error))


def _block(arguments: argparse.Namespace) -> int | None:
    """The drafter's block size; None without a drafter, or where loading will tell what is wrong with it."""
    _, drafter = folders(arguments)
    if drafter is None:
        return None
    try:
        return parse(read_config(drafter)).block_size
    except UserError:
        return None


def request(arguments: argparse.Namespace, mode: Mode) -> GenerationRequest:
    """The request that the command line describes.

    Raises:
        UserError: the prompt cannot be read.
    """
    if arguments.tokens is not None:
        return replace(options(arguments, mode), prompt_tokens=_tokens(arguments.tokens))
    return replace(options(arguments, mode), messages=(*opening(arguments), Message("user", _text(arguments.text))))


def options(arguments: argparse.Namespace, mode: Mode) -> GenerationRequest:
    """How to answer, with no prompt yet."""
    return GenerationRequest(
        mode=mode,
        width=arguments.width,
        sampling=Sampling(
            temperature=arguments.temperature,
            top_p=arguments.top_p,
            top_k=arguments.top_k,
            min_p=arguments.min_p,
            repetition_penalty=arguments.repetition_penalty,
            presence_penalty=arguments.presence_penalty,
            frequency_penalty=arguments.frequency_penalty,
        ),
        seed=arguments.seed,
        max_tokens=arguments.max_tokens,
        ignore_eos=arguments.ignore_eos,
        thinking=arguments.thinking,
        effort=arguments.effort,
        stop=tuple(arguments.stop),
    )


def opening(arguments: argparse.Namespace) -> tuple[Message, ...]:
    """The system message, if one is given."""
    return (Message("system", readable(arguments.system)),) if arguments.system else ()


def readable(text: str) -> str:
    """The text, once it is known to be text: bytes that are no UTF-8 arrive as lone surrogates, which no tokenizer takes.

    Raises:
        UserError: it is not.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError("The prompt is not valid UTF-8 text. Save or type it as UTF-8 and try again.") from None
    return text


def _text(given: str) -> str:
    if given != "-":
        return readable(given)
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise UserError("Standard input is not valid UTF-8 text. Save it as UTF-8 and try again.") from None


def _tokens(path: Path) -> tuple[int, ...]:
    try:
        ids = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}). --tokens takes a file with a JSON list of token ids.") from None
    except (ValueError, RecursionError):
        ids = None
    if not isinstance(ids, list) or not all(type(token) is int for token in ids):
        raise UserError(f"{path} holds no JSON list of whole numbers; --tokens takes one, such as [1, 2, 3].")
    return tuple(ids)


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """An argparse type: a whole number within bounds."""
    bounds = f"a whole number from {least} up" if most is None else f"a whole number from {least} to {most}"

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"“{text}” is not {bounds}") from None
        if number < least or (most is not None and number > most):
            raise argparse.ArgumentTypeError(f"{number} is out of range: give {bounds}")
        return number

    return convert


def _widths(text: str) -> tuple[int, ...]:
    width = whole(2)
    return () if text == "none" else tuple(sorted({width(part.strip()) for part in text.split(",")}))


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"“{text}” is no time: give seconds from 0 to 3600")
    return value


def _width(text: str) -> int | None:
    return None if text == "auto" else whole(1)(text)


def _temperature(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"“{text}” is not a temperature: a number from 0 up")
    return value
