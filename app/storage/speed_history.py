"""The speeds of a chat's replies, and what slowed them down."""

from dataclasses import dataclass

from app.storage.chat_tree import Node
from app.storage.reply import Reply
from app.storage.slowness import LEAST_TOKENS, SlowCause, UsualSpeed, drafter_acceptance
from mlx_engine.contract.events import Stats


@dataclass(frozen=True)
class SpeedPoint:
    """The speed of a reply.

    Attributes:
        number: of the reply in its chat, from 1.
        cause: what slowed it down, if that is known.
    """

    number: int
    tok_s: float
    cause: SlowCause | None


def speed_history(last: Node | None) -> list[SpeedPoint]:
    """Return the speeds of the measured replies up to one, on its branch."""
    replies = [node.reply for node in last.path() if node.reply is not None] if last is not None else []
    return [
        SpeedPoint(number, reply.stats.decode_tok_s, reply.slow_cause)
        for number, reply in enumerate(replies, 1)
        if reply.stats is not None and reply.stats.decode_tok_s is not None
    ]


def usual_in_chat(last: Node, stats: Stats) -> UsualSpeed:
    """Return the usual speed in a chat before its last reply.

    It is that of the same mode and drafter. Replies that something slowed down don't count.
    """
    replies = [node.reply for node in last.path()[:-1] if node.reply is not None]
    others = [reply.stats for reply in replies if reply.stats is not None and _tells(reply)]
    same = [one for one in others if (one.mode, one.drafter) == (stats.mode, stats.drafter)]
    accepted = [share for one in same if (share := drafter_acceptance(one)) is not None]
    return UsualSpeed.of([one.decode_tok_s for one in same if one.decode_tok_s is not None], accepted)


def _tells(reply: Reply) -> bool:
    stats = reply.stats
    return reply.slow_cause is None and stats is not None and stats.measured_by == "engine" and stats.tokens >= LEAST_TOKENS
