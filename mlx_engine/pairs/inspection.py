"""Checks a pair of repos from listings and small files: does it fit together, how large is it, is there space?"""

from dataclasses import dataclass

from mlx_engine.errors import EngineText, UserError
from mlx_engine.pairs.cache import Cache, no_space
from mlx_engine.pairs.compatibility import dflash_problem, pair_problem, target_problem
from mlx_engine.pairs.hub import Hub
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.repo import Listing

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tiktoken.model", "vocab.json")
_SPARE = 200_000_000  # bytes that a download leaves free on the disk


@dataclass(frozen=True)
class Inspection:
    """What is known about a pair before its download. Sizes in bytes; target first, then drafter."""

    pair: Pair
    listings: tuple[Listing, ...]
    configs: tuple[dict, ...]
    problem: EngineText | None  # why the two don't fit together
    on_disk: int

    @property
    def size(self) -> int:
        return sum(listing.size for listing in self.listings)

    @property
    def weight_sizes(self) -> tuple[int, int]:
        """Bytes of the weight files of target and drafter."""
        sizes = [sum(file.size for file in listing.files if file.path.endswith(".safetensors")) for listing in self.listings]
        return sizes[0], sum(sizes[1:])

    def space_problem(self, cache: Cache) -> EngineText | None:
        """Return why the rest doesn't fit on the disk, if it doesn't."""
        missing, free = self.size - self.on_disk, cache.free_bytes()
        if missing + (_SPARE if missing else 0) <= free:
            return None
        return no_space(missing, cache.root, free)


def inspect_pair(hub: Hub, cache: Cache, pair: Pair, revisions: dict[str, str] | None = None) -> Inspection:
    """Ask the hub about both repos. `revisions` pins repos to commits; otherwise main's current commit is used."""
    listings = tuple(hub.listing(repo, (revisions or {}).get(repo, "main")) for repo in pair.repos)
    for listing in listings:
        if not any(file.path.endswith(".safetensors") for file in listing.files):
            raise UserError(
                "repo_without_weights", "{repo} has no safetensors weights. Choose an MLX or safetensors repo.", repo=listing.repo
            )
    if not any(listings[0].find(name) for name in _TOKENIZERS):
        raise UserError("repo_without_tokenizer", "{repo} has no tokenizer. Choose the repo of a complete model.", repo=pair.target)
    configs = tuple(hub.read_json(listing, "config.json") for listing in listings)
    tokenizer = {}
    if listings[0].find("tokenizer_config.json") and not listings[0].find("tokenizer.json"):
        tokenizer = hub.read_json(listings[0], "tokenizer_config.json")
    return Inspection(pair, listings, configs, _problem(pair, configs, tokenizer), sum(map(cache.received, listings)))


def _problem(pair: Pair, configs: tuple[dict, ...], tokenizer: dict) -> EngineText | None:
    if problem := target_problem(configs[0]):
        return problem
    if tokenizer.get("auto_map"):
        template = "The tokenizer of {repo} needs its own Python code, which Slipstream never runs. Choose another target."
        return EngineText.of("repo_tokenizer_needs_code", template, repo=pair.target)
    if len(configs) == 1:
        return None
    try:
        return dflash_problem(configs[0]) or pair_problem(*configs)
    except UserError as error:
        return error.text
