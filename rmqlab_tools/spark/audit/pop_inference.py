"""What became of messages in a group that pops, as far as its offsets tell; check points and acks tell the rest.

A pop reads on from the group's offset with the expression of whoever pops, and the offset goes past what it read
(5.3.3 `PopMessageProcessor.popMsgFromQueue`). What it hands out stands in a check point, so a message that no check
point names and that the offset is past was passed over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rmqlab.run.fates import Fate
from rmqlab_tools.spark.audit.fate_codes import CODE_OF_FATE, Answer, CertaintyCode, InferredFates, UnknownReason
from rmqlab_tools.spark.audit.fate_inference import FateInference
from rmqlab_tools.spark.audit.owners import HOLD_MS
from rmqlab_tools.spark.audit.subscriptions import ALWAYS, NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rmqlab_tools.spark.audit.batch import Batch


@dataclass(slots=True, kw_only=True)
class PopInference(FateInference):
    """Infers the fates of messages of one topic that no check point of one group names.

    `starts`: by queue, where the first known pop began to read. `doubt`: why what the offset is past may have been
    delivered all the same, for every message of the group; None if nothing stands against it.
    """

    starts: dict[int, int] = field(default_factory=dict)
    doubt: UnknownReason | None = None

    def infer(self, batch: Batch) -> InferredFates:
        """The fates of messages that were not handed out: passed over, or waiting."""
        waiting = batch.offsets >= _by_queue(batch, self.committed, 0)
        why = np.zeros(len(batch), np.int8)
        if not self.at_first:
            # A group that begins at the end of its queues never looks at what came before.
            why[batch.offsets < _by_queue(batch, self.starts, NEVER)] = UnknownReason.BEFORE_GROUP
        why[batch.times <= max(self.reset, default=ALWAYS) + HOLD_MS] = UnknownReason.OFFSETS_SET
        why[waiting] = 0
        if self.coverage == Answer.YES:
            why[:] = 0  # a log of all deliveries does not name it
        elif self.doubt is not None:
            why[:] = self.doubt
        fate = np.full(len(batch), CODE_OF_FATE[Fate.SKIPPED_BY_POP], np.int8)
        fate[why > 0] = CODE_OF_FATE[Fate.PASSED]
        fate[waiting] = CODE_OF_FATE[Fate.WAITING]
        if not self.offsets_known:
            fate[:], why[:] = CODE_OF_FATE[Fate.PASSED], UnknownReason.OFFSETS_UNREADABLE
        certainty = np.where(why > 0, CertaintyCode.UNKNOWN, CertaintyCode.IMPLIED).astype(np.int8)
        covered = np.full(len(batch), self.coverage, np.int8)
        return InferredFates(fate, certainty, self._asked(batch), covered, why)


def _by_queue(batch: Batch, table: dict[int, int], usual: int) -> NDArray[np.int64]:
    """For each row the number of its queue, `usual` where there is none."""
    by_queue = np.full(int(batch.queues.max(initial=0)) + 1, usual, np.int64)
    for queue, number in table.items():
        if queue < len(by_queue):
            by_queue[queue] = number
    return np.asarray(by_queue[batch.queues])
