"""Does a pair of repos go together, how large is it, is there room? Answered from listings and small files, before any weights."""

from dataclasses import dataclass

from mlx_engine.errors import UserError
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.compatibility import misfit, why_not_dflash, why_not_target
from mlx_engine.pairs.metadata import Hub
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.repo import Listing

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tiktoken.model", "vocab.json")
_SPARE = 200_000_000  # bytes that a download leaves free on the disk


@dataclass(frozen=True)
class Examination:
    """What is known of a pair before it is fetched. Sizes in bytes."""

    pair: Pair
    listings: tuple[Listing, ...]  # target, then drafter
    configs: tuple[dict, ...]
    why_not: str  # a sentence; empty when the two go together
    here: int

    @property
    def size(self) -> int:
        return sum(listing.size for listing in self.listings)

    @property
    def weight_sizes(self) -> tuple[int, ...]:
        """Of the weight files alone, per listing."""
        return tuple(sum(file.size for file in listing.files if file.path.endswith(".safetensors")) for listing in self.listings)

    def no_room(self, cache: Cache) -> str:
        """Why the rest does not fit on the disk; empty when it does."""
        missing, free = self.size - self.here, cache.free_bytes()
        if missing + (_SPARE if missing else 0) <= free:
            return ""
        return (
            f"{self.pair.name} needs {missing / 1e9:,.2f} GB more on the disk of {cache.root}, and {free / 1e9:,.2f} GB are free. "
            "Free some room, or move the model folder to another disk."
        )


def examine(hub: Hub, cache: Cache, pair: Pair, revisions: dict[str, str] | None = None) -> Examination:
    """Ask the hub about both halves. `revisions` pins a repo to a commit; without, it is the one that main names now.

    Raises:
        UserError: a half does not exist, is not open to this account, or cannot be a model. Unreachable, RevisionGone: as they say.
    """
    listings = tuple(hub.listing(repo, (revisions or {}).get(repo, "main")) for repo in pair.repos)
    for listing in listings:
        if not any(file.path.endswith(".safetensors") for file in listing.files):
            raise UserError(
                f"{listing.repo} has no safetensors weights, so Slipstream cannot run it. Pick an MLX or safetensors repo."
            )
    if not any(listings[0].find(name) for name in _TOKENIZERS):
        raise UserError(f"{pair.target} has no tokenizer, so it is no target. Pick the repo of a whole model.")
    configs = tuple(hub.read_json(listing, "config.json") for listing in listings)
    names = {file.path for file in listings[0].files}
    if "tokenizer_config.json" in names and "tokenizer.json" not in names:
        tokenizer = hub.read_json(listings[0], "tokenizer_config.json")
    else:
        tokenizer = {}
    return Examination(pair, listings, configs, _why_not(pair, configs, tokenizer), sum(map(cache.received, listings)))


def _why_not(pair: Pair, configs: tuple[dict, ...], tokenizer: dict) -> str:
    if reason := why_not_target(configs[0]):
        return reason
    if tokenizer.get("auto_map"):
        return f"{pair.target} has a tokenizer that needs Python code of its own, which is never fetched and never run."
    if len(configs) == 1:
        return ""
    try:
        return why_not_dflash(configs[0]) or misfit(*configs)
    except UserError as error:  # a drafter's config that Slipstream does not run
        return str(error)
