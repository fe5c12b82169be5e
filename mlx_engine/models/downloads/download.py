"""A resumable download of one pair."""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import cannot_write
from mlx_engine.drafters.mtp.config import may_have_mtp
from mlx_engine.drafters.registry import kind_name, looks_like_drafter
from mlx_engine.models.configs.families import missing_family
from mlx_engine.models.configs.target_config import dflash_problem, pair_problem, target_problem
from mlx_engine.models.downloads.bandwidth import Throttle
from mlx_engine.models.downloads.hub import Hub, RevisionGone, Unreachable
from mlx_engine.models.downloads.mtp_listing import head_listing
from mlx_engine.models.downloads.transfer import FileTransfer, RetryPolicy
from mlx_engine.models.files.chat_template import SETTINGS_FILE, TEMPLATE_FILE, folder_template_problem, template_problem
from mlx_engine.models.files.checkpoint import LARGEST_SETTINGS, check_safetensors, read_config, weight_bytes
from mlx_engine.models.files.hub_cache import HubCache, space_problem
from mlx_engine.models.files.loadable import RANK_FILE, TOKENIZER_FILES, check_loadable, is_known_code, tokenizer_class
from mlx_engine.models.files.mtp_head import head_bytes
from mlx_engine.models.files.repo import RepoListing, head_of, is_head
from mlx_engine.models.library.pair import Pair
from mlx_engine.network import traffic

_WINDOW = 5.0  # seconds over which the speed is averaged
_REPORT_EVERY = 0.2  # seconds
_ANSWER_SHARE = 0.1  # of `RetryPolicy.give_up`, for questions to the hub outside of transfers
_MOST_RESTARTS = 5  # for repos that are revised during the download
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Inspection:
    """Facts about a pair before its download, by target and drafter.

    Attributes:
        listings: the repos to download.
        problem: why target and drafter don't fit together.
        chat_problem: why the target can't chat.
        on_disk: bytes of the listings that aren't to be downloaded.
        head: bytes of the target's own MTP head if that is the drafter.
        held: bytes of the target's weights if another app holds it. It isn't among the listings then.
    """

    pair: Pair
    listings: tuple[RepoListing, ...]
    configs: tuple[dict, ...]
    problem: EngineText | None
    chat_problem: EngineText | None
    on_disk: int
    head: int = 0
    held: int | None = None

    @property
    def size(self) -> int:
        return sum(listing.size for listing in self.listings)

    @property
    def weight_sizes(self) -> tuple[int, int]:
        """Bytes of the weight files of target and drafter."""
        sizes = [_weight_bytes(listing) for listing in self.listings]
        target, *drafter = sizes if self.held is None else [self.held, *sizes]
        return target - self.head, self.head + sum(drafter)

    def space_problem(self, cache: HubCache) -> EngineText | None:
        """Return why the rest of the pair doesn't fit on the disk, or None."""
        return space_problem(self.size - self.on_disk, cache.root, cache.free_bytes())


def inspect_pair(
    hub: Hub, cache: HubCache, pair: Pair, revisions: dict[str, str] | None = None, held: Path | None = None
) -> Inspection:
    """Ask the hub about the repos of a pair.

    Args:
        revisions: commits by repo; for other repos, main's current commit.
        held: the folder of the target if another app holds it. Then the hub is asked about the drafter only.
    """
    target = _held_config(held) if held is not None else {}
    repos = pair.repos if held is None else pair.repos[1:]
    listings = tuple(hub.listing(repo, (revisions or {}).get(repo, "main")) for repo in repos)
    listings = tuple(head_listing(hub, one) if is_head(one.repo) else one for one in listings)
    for listing in listings:
        if not any(file.path.endswith(".safetensors") for file in listing.files):
            template = "{repo} has no safetensors weights. Choose another repo, such as one from mlx-community."
            raise UserError("repo_without_weights", template, repo=listing.repo)
    configs = tuple(hub.read_json(listing, "config.json") for listing in listings)
    on_disk = sum(map(cache.received, listings))
    if held is not None:
        problem = target_problem(target) or missing_family(target) or _drafter_problem(pair, (target, *configs))
        chat_problem, size = folder_template_problem(held, target), weight_bytes(held) - head_bytes(held)
        return Inspection(pair, listings, (target, *configs), problem, chat_problem, on_disk, held=size)
    if looks_like_drafter(configs[0]):
        template = "“{repo}” is a drafter ({kind}), which can't run alone. Enter it as the drafter of its target."
        raise UserError("target_is_drafter", template, repo=pair.target, kind=kind_name(configs[0]))
    if not any(listings[0].find(name) for name in TOKENIZER_FILES):
        raise UserError("repo_without_tokenizer", "{repo} has no tokenizer. Choose a complete model.", repo=pair.target)
    head = 0
    if pair.drafter == pair.target:
        configs, head = configs * 2, _weight_bytes(head_listing(hub, listings[0]))
    tokenizer = {}
    if listings[0].find(SETTINGS_FILE) and not (listings[0].find("tokenizer.json") and listings[0].find(TEMPLATE_FILE)):
        tokenizer = hub.read_json(listings[0], SETTINGS_FILE, LARGEST_SETTINGS)
    chat_problem = template_problem(configs[0], {file.path: file.size for file in listings[0].files}, tokenizer)
    problem = target_problem(configs[0]) or missing_family(configs[0]) or _code_problem(pair, listings[0], tokenizer)
    return Inspection(pair, listings, configs, problem or _drafter_problem(pair, configs), chat_problem, on_disk, head)


def _held_config(folder: Path) -> dict:
    """Return the config of a target that another app holds.

    Raises:
        UserError: the target is gone or can't be loaded.
    """
    if not folder.is_dir():
        template = "The target isn't in “{folder}” any more. Cancel this download, then download the whole pair."
        raise UserError("held_target_gone", template, folder=str(folder))
    check_loadable(folder, None)
    return read_config(folder)


def _weight_bytes(listing: RepoListing) -> int:
    return sum(file.size for file in listing.files if file.path.endswith(".safetensors"))


def _code_problem(pair: Pair, target: RepoListing, tokenizer: dict) -> EngineText | None:
    """Return that the target's tokenizer needs code, or None."""
    code = tokenizer.get("auto_map") and not target.find("tokenizer.json")
    if not code or (target.find(RANK_FILE) and is_known_code(tokenizer_class(tokenizer))):
        return None
    template = "The tokenizer in {repo} requires custom Python code, which Slipstream never runs. Choose another target."
    return EngineText.of("repo_tokenizer_needs_code", template, repo=pair.target)


def _drafter_problem(pair: Pair, configs: tuple[dict, ...]) -> EngineText | None:
    """Return why the drafter, if any, can't be used with the target, or None."""
    if len(configs) == 1:
        return None
    drafter = pair.repos[-1]
    if drafter != pair.target and may_have_mtp(configs[1]) and not (is_head(drafter) or looks_like_drafter(configs[1])):
        template = "“{repo}” is a whole model. Enter {head} to download only its MTP head."
        return EngineText.of("drafter_is_whole_model", template, repo=drafter, head=head_of(drafter))
    try:
        return dflash_problem(configs[0]) or pair_problem(*configs)
    except UserError as error:
        return error.text


class IncompatiblePair(UserError):
    """An error for a target and drafter that don't fit together."""


@dataclass(frozen=True)
class DownloadProgress:
    """Bytes of a pair on this disk, and the speed of all programs downloading it."""

    done: int
    total: int
    bytes_per_s: float = 0.0
    status: EngineText | None = None  # shown to the user now

    @property
    def seconds_left(self) -> float | None:
        return (self.total - self.done) / self.bytes_per_s if self.bytes_per_s > 0 else None


@dataclass
class Download:
    """A download of one pair.

    Call `run` once. Setting its `stop` event ends the download and keeps partial data.

    Args:
        pins: commits by repo. Save them between runs, so that both repos stay at their initial revisions.
        held: the folder of the target if another app holds it. It is used in place, and only the drafter is downloaded.
    """

    pair: Pair
    hub: Hub
    cache: HubCache
    pins: dict[str, str] = field(default_factory=dict)
    connections: int = 6
    throttle: Throttle = field(default_factory=Throttle)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    held: Path | None = None
    notes: list[EngineText] = field(default_factory=list)  # shown at the end, oldest first
    started: bool = False  # the pair was accepted, so there is something to resume
    downloaded: int = 0  # bytes received over the network
    progress: DownloadProgress = DownloadProgress(0, 0)

    @traffic.used_for("download")
    def run(
        self, stop: threading.Event, report: Callable[[DownloadProgress], None] = lambda progress: None
    ) -> tuple[Path, ...] | None:
        """Download missing files, and return the pair's folders, or None if stopped.

        Raises:
            UserError: the pair can't be downloaded, or the download can't continue. Downloaded data is kept.
        """
        self._stop, self._report = stop, report
        for _ in range(_MOST_RESTARTS):
            try:
                inspection = self._ask(lambda: inspect_pair(self.hub, self.cache, self.pair, self.pins, self.held))
                if inspection is None or stop.is_set():
                    return None
                self.pins.update({listing.repo: listing.commit for listing in inspection.listings})
                self._check(inspection)
                with self.cache.downloading(inspection.listings):
                    self.started = True
                    if not self._transfer(inspection):
                        return None
                    folders = tuple(self._publish(listing) for listing in inspection.listings)
            except RevisionGone:
                self._unpin()
                continue
            self._note_revisions(inspection.listings)
            return folders if self.held is None else (self.held, *folders)
        template = "{pair} keeps changing on the hub. Downloaded data is kept. Try again later."
        raise UserError("repo_keeps_changing", template, pair=self.pair.name)

    def _check(self, inspection: Inspection) -> None:
        if inspection.problem:
            raise IncompatiblePair.of(inspection.problem)
        if problem := inspection.space_problem(self.cache):
            raise UserError.of(problem)
        if inspection.chat_problem:
            self._note(inspection.chat_problem)
        for listing in inspection.listings:
            if listing.new_name:
                template = "{repo} was renamed to {new}. Your copy keeps the old name."
                self._note(EngineText.of("repo_renamed", template, repo=listing.repo, new=listing.new_name))

    def _transfer(self, inspection: Inspection) -> bool:
        listings = list(inspection.listings)
        transfer = FileTransfer(self.hub, self.cache, listings, self.connections, self.throttle, self.retry, self.notes)
        transfer.status = self.progress.status
        samples: deque[tuple[float, int]] = deque()

        def beat(always: bool = False) -> None:
            now = time.monotonic()
            if samples and now - samples[-1][0] < _REPORT_EVERY and not always:
                return
            samples.append((now, transfer.downloaded + transfer.by_others))
            while now - samples[0][0] > _WINDOW:
                samples.popleft()
            (then, before), (_, after) = samples[0], samples[-1]
            speed = (after - before) / (now - then) if now > then else 0.0
            self._show(DownloadProgress(min(transfer.received, inspection.size), inspection.size, speed, transfer.status))

        beat()
        try:
            return transfer.run(self._stop, beat)
        finally:
            self.downloaded += transfer.downloaded
            beat(always=True)

    def _note_revisions(self, listings: tuple[RepoListing, ...]) -> None:
        for listing in listings:
            with suppress(UserError):  # the download is complete even if the hub fails now
                if self.hub.listing(listing.repo).commit != listing.commit:
                    template = "A newer revision of {repo} is available. Download the pair again to update."
                    self._note(EngineText.of("newer_revision", template, repo=listing.repo))

    def _unpin(self) -> None:
        """Switch to the current revisions after a pinned one has disappeared."""
        for repo in self.pair.repos if self.held is None else self.pair.repos[1:]:
            listing = self._ask(partial(self.hub.listing, repo))
            if listing is not None and self.pins.get(repo) not in (None, listing.commit):
                template = "{repo} was revised during the download. Changed files are being downloaded again."
                self._note(EngineText.of("repo_revised", template, repo=repo))
            self.pins.pop(repo, None)

    def _publish(self, listing: RepoListing) -> Path:
        for file in listing.files:
            blob = self.cache.blob(listing, file)
            if file.path.endswith(".safetensors") and blob.exists():
                try:
                    check_safetensors(blob, file.path)
                except UserError as error:
                    if error.text.code != "damaged_weights":
                        raise
                    template = "The published copy of {file} in {repo} is damaged. Choose another repo."
                    raise UserError("published_file_damaged", template, file=file.path, repo=listing.repo) from None
        try:
            return self.cache.publish(listing)
        except OSError as error:
            raise cannot_write(self.cache.root, error) from None

    def _ask(self, question: Callable[[], _Answer]) -> _Answer | None:
        """Retry until the hub answers or the time is up. Return None if stopped."""
        start, wait = time.monotonic(), self.retry.first_wait
        while not self._stop.is_set():
            try:
                answer = question()
                self._say(None)
                return answer
            except Unreachable as error:
                left = self.retry.give_up * _ANSWER_SHARE - (time.monotonic() - start)
                if left < 0:
                    raise
                template = "{endpoint} isn't responding. Trying again for up to {seconds:.0f} s."
                self._say(EngineText.of("hub_retrying", template, endpoint=self.hub.endpoint, seconds=max(left, 1)))
                self._stop.wait(min(max(wait, error.after_s or 0.0), self.retry.give_up))
                wait = min(2 * wait, self.retry.longest_wait)
        return None

    def _note(self, note: EngineText) -> None:
        """Report a status that is also shown at the end."""
        if note not in self.notes:
            self.notes.append(note)
        self._say(note)

    def _say(self, status: EngineText | None) -> None:
        """Report a status. Transfers report their own."""
        if status != self.progress.status:
            self._show(DownloadProgress(self.progress.done, self.progress.total, status=status))

    def _show(self, progress: DownloadProgress) -> None:
        self.progress = progress
        self._report(progress)
