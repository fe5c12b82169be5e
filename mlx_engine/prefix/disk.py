"""Branches on disk: their parts, and when parts are written and read.

Rows of growing caches and of the drafter's full-attention layers are stored in whole parts. Everything that is valid at only one
position is stored at that position, together with the rows since the last whole part. The engine's thread copies a part to plain
bytes while no reply runs, and a separate thread writes the part.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import mlx.core as mx

from mlx_engine.drafters.parts.context import LayerContext
from mlx_engine.hardware import memory
from mlx_engine.prefix.branch import Branch, Mark, shared_length
from mlx_engine.prefix.part import BLOCK, SavedPart
from mlx_engine.prefix.part_store import PrefixStore
from mlx_engine.vision.spans import ImageSpan, outside_images

STATES_EVERY = 4096  # tokens of a long prompt between saved states
_LEAST_GAIN = 32  # tokens worth reading
_PENDING_BYTES = 128 << 20  # at most, in parts that aren't written yet
_LATEST_WEIGHT = 0.3  # of the latest measurement in a rate
_READ_RATE = "bytes read per second"
_HOPE = 1.1  # factor of the reading rate after a prompt wasn't read, so that a disk that was busy once is tried again
_RETRY_S = 0.05  # until the writer may have room again
_DTYPES = {
    mx.float32: "F32", mx.float16: "F16", mx.bfloat16: "BF16", mx.int32: "I32", mx.uint32: "U32", mx.int64: "I64", mx.uint8: "U8",
    mx.bool_: "BOOL",
}  # fmt: skip


@dataclass(frozen=True)
class StoredPrefix:
    """Stored parts that match the beginning of a prompt.

    Attributes:
        parts: consecutive parts.
        length: number of shared tokens; the last part may have more.
        first_states: position of the first of these parts' states, or 0.
        end_keys: keys of stored parts that only the prompt's continuation needed.
    """

    parts: tuple[SavedPart, ...]
    length: int
    first_states: int
    end_keys: tuple[str, ...]


@dataclass
class _Unsaved:
    """A branch with parts that aren't written yet."""

    branch: Branch
    parts: list[SavedPart]
    replaces: Sequence[str]
    use: int  # see `PrefixStore.touch`
    failed: threading.Event = field(default_factory=threading.Event)  # set by the writer after a part isn't stored


class DiskPrefixes:
    """The branches of one pair in a store.

    Args:
        store: the store.
        pair: fingerprint of the pair.
        needs_states: whether a branch can continue only from positions with saved states.
    """

    def __init__(self, store: PrefixStore, pair: str, needs_states: bool) -> None:
        self._store, self._pair, self._needs_states = store, pair, needs_states
        self._writer = _Writer(store)
        self._unsaved: list[_Unsaved] = []

    def close(self, seconds: float = 0.0) -> None:
        """End the writer, and wait up to `seconds` for it to write its parts."""
        self._unsaved.clear()
        self._writer.close(seconds)

    def forget(self, chats: Collection[str] | None) -> None:
        """Don't write what isn't written yet of these chats; None for all.

        Returns after the writer's current part, if that is one of theirs.
        """
        self._unsaved = [each for each in self._unsaved if chats is not None and each.branch.chat not in chats]
        self._writer.forget(chats)

    # Reading

    def regular_states(self, length: int) -> range:
        """Return where states of a prompt of `length` tokens are saved regularly."""
        return range(STATES_EVERY, length, STATES_EVERY)

    def find(self, prompt: Sequence[int], beyond: int, spans: Sequence[ImageSpan] = ()) -> StoredPrefix | None:
        """Return stored parts of a prompt, or None if computing its tokens is faster.

        Args:
            prompt: keys of the prompt.
            beyond: number of tokens that parts must exceed together.
            spans: the prompt's images, inside which no parts end.
        """
        usable = prompt[: len(prompt) - 1]
        if len(usable) - beyond < _LEAST_GAIN:
            return None
        whole_parts = self._store.whole_parts(self._pair, usable)
        parents = [self._pair, *(part.key for part in whole_parts)]
        if self._needs_states:
            stored = self._store.following(parents, True)
            matching = [part for part in stored if tuple(usable[part.start : part.end]) == part.tokens]
            options = [part for part in matching if outside_images(spans, part.end) == part.end]
            last = max(options, key=lambda part: part.end, default=None)
            parts, length = ([*whole_parts[: last.start // BLOCK], last], last.end) if last else ([], 0)
            own = sorted((part for part in options if part.end % STATES_EVERY), key=lambda part: part.end)
            first_states, ends = own[0].end if own else 0, own[1:]
        else:
            parts, length = list(whole_parts), len(whole_parts) * BLOCK
            for part in self._store.following(parents[-1:], False):
                if (reach := part.start + shared_length(part.tokens, usable[part.start :])) > length:
                    parts, length = [*whole_parts, part], reach
            length = outside_images(spans, length)
            parts = [part for part in parts if part.start < length]
            first_states, ends = 0, [part for part in parts if len(part.tokens) < BLOCK and part.end == length]
        if length <= beyond:
            return None
        read, computed = self._store.fact(_READ_RATE), self._store.fact(self._prefill_fact)
        if read and computed and sum(part.bytes for part in parts) / read > (length - beyond) / computed:
            self._store.note(_READ_RATE, read * _HOPE)
            return None
        return StoredPrefix(tuple(parts), length, first_states, tuple(part.key for part in ends))

    def load(self, stored: StoredPrefix, branch: Branch) -> bool:
        """Fill an empty branch from disk. Return whether that succeeded.

        Damaged parts are deleted. After a failure, the branch can't be used.
        """
        began = time.perf_counter()
        pieces, states = list[list[mx.array]](), None
        for part in stored.parts:
            path = self._store.path(part)
            try:
                if path is None:
                    return False
                arrays, facts = cast(tuple[dict[str, mx.array], dict[str, str]], mx.load(str(path), return_metadata=True))
                rows = [arrays[f"rows.{at}"] for at in range(int(facts["rows"]))]
                used = min(stored.length, part.end) - part.start
                if used:
                    pieces.append([each[..., :used, :] for each in rows] if used < len(part.tokens) else rows)
                if part.has_states:
                    states = _unpack_mark(json.loads(facts["states"]), arrays)
                if part is stored.parts[-1]:
                    self._fill(branch, pieces, stored.length, states)
            except (OSError, ValueError, KeyError, TypeError, RuntimeError, RecursionError) as error:
                if memory.exhausted(error):
                    raise
                self._store.complain(error)
                self._store.remove([part])
                return False
        if states is not None:
            branch.marks[stored.length] = states
        branch.first_states, branch.end_keys = stored.first_states, stored.end_keys
        self._store.touch([part.key for part in stored.parts])
        self._measure(_READ_RATE, sum(part.bytes for part in stored.parts), time.perf_counter() - began)
        self._store.note("saved tokens", (self._store.fact("saved tokens") or 0) + stored.length)
        return True

    def _fill(self, branch: Branch, pieces: list[list[mx.array]], length: int, states: Mark | None) -> None:
        caches, context = branch.caches, branch.context
        count = sum(each.row_arrays for each in caches.adapters)
        caches.fill([piece[:count] for piece in pieces], length)
        if context is not None:
            context.fill([piece[count:] for piece in pieces], length)
        if states is not None:
            caches.thaw(states.layers)
            if context is not None:
                context.thaw(states.windows)
        pieces.clear()
        for array in caches.state + (context.state if context else []):
            mx.eval(array)  # one after the other, so that hardly anything is in memory twice

    def prefilled(self, tokens: int, seconds: float) -> None:
        """Record how long it took to compute prompt tokens."""
        if tokens >= BLOCK:
            self._measure(self._prefill_fact, tokens, seconds)

    @property
    def _prefill_fact(self) -> str:
        return f"tokens computed per second {self._pair}"

    def _measure(self, name: str, amount: float, seconds: float) -> None:
        rate, before = amount / max(seconds, 1e-6), self._store.fact(name)
        self._store.note(name, rate if before is None else before + _LATEST_WEIGHT * (rate - before))

    # Writing

    def keep(self, branch: Branch) -> None:
        """Queue a branch for writing, in place of the end saved after its last reply."""
        self._unsaved = [each for each in self._unsaved if each.branch is not branch]  # its rows may have changed
        if branch.chat is None:
            return
        parts, ends = self._parts(branch)
        keys = [part.key for part in parts]
        use = self._store.touch(sorted(self._store.known(keys)), branch.chat)
        replaces = tuple(key for key in branch.end_keys if key not in keys)
        self._unsaved.append(_Unsaved(branch, parts, replaces, use))
        branch.end_keys = ends + replaces  # the next turn may begin before they are replaced

    def prune(self, is_unused: Callable[[Branch], bool]) -> None:
        """Don't write other branches, so that their memory is free; see `save_next`."""
        self._unsaved = [each for each in self._unsaved if is_unused(each.branch)]

    def _parts(self, branch: Branch) -> tuple[list[SavedPart], tuple[str, ...]]:
        """Return a branch's parts, and the keys of those that only the next turn needs."""
        context, tokens = branch.context, branch.tokens
        length = min(branch.caches.length, context.position if context else len(tokens))
        parts, parents = list[SavedPart](), [self._pair]
        for at in range(0, length - BLOCK + 1, BLOCK):
            parts.append(SavedPart.of(self._pair, parents[-1], at, tokens[at : at + BLOCK], False))
            parents.append(parts[-1].key)
        if not self._needs_states:
            if length % BLOCK:
                at = length - length % BLOCK
                parts.append(SavedPart.of(self._pair, parents[-1], at, tokens[at:length], False))
            return parts, tuple(part.key for part in parts[length // BLOCK :])
        positions = sorted({*(at for at in branch.marks if at <= length), *([length] if length == branch.caches.length else [])})
        own = [at for at in positions if at % STATES_EVERY]
        first = min([branch.first_states or length, *own])  # usually the end of the system prompt
        ends = [at for at in own if at != first][-2:] or own[-1:]
        for at in positions:
            if at in ends or at == first or at % STATES_EVERY == 0:
                start = at - at % BLOCK
                parts.append(SavedPart.of(self._pair, parents[start // BLOCK], start, tokens[start:at], True))
        parts.sort(key=lambda part: part.end)  # so that what fits can be read
        return parts, tuple(part.key for part in parts if part.has_states and part.end in ends)

    def save_next(self, is_unused: Callable[[Branch], bool]) -> float | None:
        """Copy a part for the writer, unless everything is saved.

        Args:
            is_unused: returns whether a branch is complete and no reply uses it.

        Returns:
            The seconds after which to call this again, or None if there is nothing to save.
        """
        while self._unsaved:
            unsaved = self._unsaved[0]
            if not unsaved.parts or unsaved.failed.is_set() or not is_unused(unsaved.branch):
                del self._unsaved[0]
                continue
            part, branch = unsaved.parts[0], unsaved.branch
            assert branch.chat is not None
            is_gone = part.has_states and part.end not in branch.marks and part.end != branch.caches.length  # to free memory
            if is_gone or self._store.own(part.key, branch.chat):  # another chat with the same beginning may have saved it
                del unsaved.parts[0]
                continue
            if not self._writer.has_room:
                return _RETRY_S
            header, buffers = self._copy(branch, part)
            del unsaved.parts[0]
            replaces = () if unsaved.parts else unsaved.replaces
            branch.end_keys = tuple(key for key in branch.end_keys if key not in replaces)
            self._writer.write(_Written(part, header, buffers, branch.chat, replaces, unsaved.use, unsaved.failed))
            return 0.0
        return None

    def _copy(self, branch: Branch, part: SavedPart) -> tuple[dict[str, Any], list[bytes]]:
        """Return the safetensors header and the bytes of a part."""
        caches, context = branch.caches, branch.context
        rows = caches.rows(part.start, part.end) + (context.rows(part.start, part.end) if context else []) if part.tokens else []
        arrays = {f"rows.{at}": array for at, array in enumerate(rows)}
        facts = {"rows": str(len(rows))}
        if part.has_states:
            mark = branch.marks.get(part.end) or Mark(caches.freeze(), context.freeze() if context else [])
            facts["states"] = json.dumps(_pack_mark(mark, arrays))
        header: dict[str, Any] = {"__metadata__": facts}
        buffers, at = list[bytes](), 0
        for name, array in arrays.items():
            data = bytes(memoryview(cast(bytes, mx.contiguous(array).reshape(-1).view(mx.uint8))))
            header[name] = {"dtype": _DTYPES[array.dtype], "shape": list(array.shape), "data_offsets": [at, at + len(data)]}
            buffers.append(data)
            at += len(data)
        return header, buffers


def _pack_mark(mark: Mark, arrays: dict[str, mx.array]) -> dict[str, Any]:
    """Return a mark as JSON, and add its arrays to `arrays`."""

    def pack(state: Any) -> Any:
        if isinstance(state, mx.array):
            name = f"states.{len(arrays)}"
            arrays[name] = state
            return {"array": name}
        if isinstance(state, tuple | list):
            return {type(state).__name__: [pack(each) for each in state]}
        return state

    windows = [
        [each.window, each.first, pack(each.rows_between(each.first, each.first + each.rows) if each.rows else None)]
        for each in mark.windows
    ]
    return {"layers": {str(layer): pack(state) for layer, state in mark.layers.items()}, "windows": windows}


def _unpack_mark(packed: dict[str, Any], arrays: dict[str, mx.array]) -> Mark:
    def unpack(state: Any) -> Any:
        if not isinstance(state, dict):
            return state
        (kind, value), *_ = state.items()
        if kind == "array":
            return arrays[value]
        parts = [unpack(each) for each in value]
        return tuple(parts) if kind == "tuple" else parts

    windows = [LayerContext.of(window, first, unpack(rows)) for window, first, rows in packed["windows"]]
    return Mark({int(layer): unpack(state) for layer, state in packed["layers"].items()}, windows)


@dataclass(frozen=True)
class _Written:
    """A part in the writer's queue.

    Attributes:
        use: number of the branch's use; see `PrefixStore.touch`.
        failed: whether an earlier part of the branch wasn't stored, so that this one is dropped.
    """

    part: SavedPart
    header: dict[str, Any]
    buffers: list[bytes] = field(repr=False)
    chat: str
    replaces: Sequence[str]
    use: int
    failed: threading.Event

    @property
    def size(self) -> int:
        return sum(map(len, self.buffers))


class _Writer:
    """A thread that writes parts. It starts with the first one."""

    def __init__(self, store: PrefixStore) -> None:
        self._store = store
        self._changed = threading.Condition()
        self._queue = deque[_Written]()  # the first one is being written
        self._is_closed = False
        self._thread: threading.Thread | None = None

    @property
    def has_room(self) -> bool:
        with self._changed:
            return sum(each.size for each in self._queue) < _PENDING_BYTES

    def write(self, written: _Written) -> None:
        with self._changed:
            self._queue.append(written)
            self._changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="prefix writer", daemon=True)
            self._thread.start()

    def flush(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._queue, seconds)

    def forget(self, chats: Collection[str] | None) -> None:
        def is_theirs(written: _Written) -> bool:
            return chats is None or written.chat in chats

        with self._changed:
            current, *later = self._queue or (None,)
            if current is None:
                return
            self._queue = deque([current, *(each for each in later if not is_theirs(each))])
            if is_theirs(current):
                self._changed.wait_for(lambda: not self._queue or self._queue[0] is not current)

    def close(self, seconds: float) -> None:
        """End the thread after its queue, or after `seconds` its current part."""
        if self._thread is None:
            return
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join(seconds)
        with self._changed:
            self._queue = deque([*self._queue][:1])

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._is_closed)
                if not self._queue:
                    return
                written = self._queue[0]
            is_stored = False
            try:
                if not written.failed.is_set():
                    about = written.chat, written.replaces, written.use
                    is_stored = self._store.add(written.part, written.header, written.buffers, *about)
            except Exception as error:
                self._store.complain(error)
            if not is_stored:
                written.failed.set()
            with self._changed:
                self._queue.popleft()
                self._changed.notify_all()
