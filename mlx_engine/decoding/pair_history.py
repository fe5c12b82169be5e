"""What replies of a pair teach its width controllers."""

from mlx_engine.decoding.acceptance import ASSUMED_ACCEPTANCE, Acceptance
from mlx_engine.decoding.copy_rates import CopyRates
from mlx_engine.decoding.costs import ASSUMED, CostTable, PassCosts

_BANDS = 2.0  # ranges of temperature that are remembered separately, per unit


class PairHistory:
    """Costs and acceptance of a pair on this machine, kept in memory across replies.

    Args:
        block: the drafter's block size.
        table: calibrated costs, or assumed ones to be corrected.
        confident: whether the drafter's confidence narrows rounds that aren't queued.

    Attributes:
        lookup: whether lookup may propose copies of prompt and reply.
        appending: whether copies may follow a drafter's block.
        shift: correction of the drafter's confidence, in log-odds.
    """

    def __init__(self, block: int, table: CostTable = ASSUMED, confident: bool = False) -> None:
        self.block = block
        self.lookup = self.appending = True
        self.shift = 0.0
        self.costs = PassCosts(table, block, confident and not table.queued)
        self._bands: dict[int, TemperatureBand] = {}

    def band(self, temperature: float) -> "TemperatureBand":
        """Return the band of replies at about this temperature."""
        return self._bands.setdefault(round(_BANDS * temperature), TemperatureBand(self.block))


class TemperatureBand:
    """What replies at similar temperatures have in common.

    Attributes:
        usual: acceptance of drafts over all replies, except while plain decoding wins.
        hopeless: acceptance of drafts in the latest reply if plain decoding won because few were accepted, or None.
        copies: acceptance of copies.
        credit: trial credit, in plain steps.
    """

    def __init__(self, block: int) -> None:
        self.usual = Acceptance(block - 1, memory=200, weight=1.0, start=ASSUMED_ACCEPTANCE)
        self.hopeless: list[float] | None = None
        self.copies = CopyRates()
        self.credit = 0.0
