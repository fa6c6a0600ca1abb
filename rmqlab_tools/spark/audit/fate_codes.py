"""Fates of many messages at once, how certain they are and why not, as small numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rmqlab.language import N_
from rmqlab.run.fates import LOSING, Fate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int8]

FATES: Final = tuple(Fate)
CERTAINTIES: Final = (N_("proved"), N_("implied"), "unknown")
"""Proved by a trace, a delivery log or the store itself; implied by offsets and subscriptions; or nothing tells."""
PROVED, IMPLIED, UNKNOWN = range(3)
ASKED: Final = (N_("no"), "yes", "unknown")
NO, YES, MAYBE = range(3)
WHY: Final = (
    None,
    N_("another subscription or owner may have met it: one changed soon"),
    N_("nobody knows who owned the queue, or what that member asked for"),
    N_("nobody knows what the broker held for the group"),
    N_("stored before the group was seen, or nobody knows when that was: it may have begun behind it"),
    N_("the subscription lets it pass, and the evidence names no delivery"),
    N_("no committed offset is past it: it may have been consumed all the same"),
    N_("the group's offsets were set by hand: it may have been passed"),
    N_("members subscribe different topics, so pulls fail now and then: another subscription may have met it"),
    N_("the committed offsets cannot be read: nobody knows whether one is past it"),
)
"""Why a fate is unknown; None where it is not."""
CHANGED, NOBODYS, NOT_HELD, EARLY, UNTOLD, NOT_PASSED, RESET, MIXED, NO_OFFSETS = range(1, 10)
LOST_CODES: Final = np.array([fate in LOSING for fate in FATES])
CODE: Final = {fate: code for code, fate in enumerate(FATES)}


class InferredFates(NamedTuple):
    """For each row: its fate, how certain that is, and whether a member asked for the message (codes).

    A fate that is unknown is `passed`, `waiting` or `no_owner`: where the offset is, and no more. `covered`: the
    evidence would tell of a delivery, because it has those of the queue's owner (`YES`, `NO`; `MAYBE`: who that was is
    not known). `why`: a place in `WHY`.
    """

    fate: Codes
    certainty: Codes
    asked: Codes
    covered: Codes
    why: Codes
