"""Fates of many messages at once, how certain they are and why not, as small numbers."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rmqlab.language import N_
from rmqlab.run.fates import LOSING, Fate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int8]

FATES_IN_ORDER: Final = tuple(Fate)
CERTAINTIES: Final = (N_("proved"), N_("implied"), "unknown")
"""Proved by a trace, a delivery log or the store itself; implied by offsets and subscriptions; or nothing tells."""
ASKED_WORDS: Final = (N_("no"), "yes", "unknown")
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
    N_("a member of this POP group pulls: what it gets stands in no check point"),
    N_("the broker may keep check points in memory (enablePopBufferMerge): what a POP group got may stand nowhere"),
    N_("the broker keeps check points in RocksDB (kvStore), which is not read: nobody knows what a POP group got"),
    N_("the broker's mode for the group is POP, and no check point is of it: nobody knows how it read"),
)
"""Why a fate is unknown; None where it is not."""
LOST_CODES: Final = np.array([fate in LOSING for fate in FATES_IN_ORDER])
CODE_OF_FATE: Final = {fate: code for code, fate in enumerate(FATES_IN_ORDER)}


class Answer(IntEnum):
    """Whether a member asked for a message, or evidence names it: a place in `ASKED_WORDS`."""

    NO = 0
    YES = 1
    MAYBE = 2


class CertaintyCode(IntEnum):
    """How certain a fate is: a place in `CERTAINTIES`."""

    PROVED = 0
    IMPLIED = 1
    UNKNOWN = 2


class UnknownReason(IntEnum):
    """Why a fate is unknown: a place in `WHY`."""

    CHANGED_SOON = 1
    OWNER_UNKNOWN = 2
    SUBSCRIPTION_UNKNOWN = 3
    BEFORE_GROUP = 4
    NO_EVIDENCE = 5
    NOT_PASSED = 6
    OFFSETS_SET = 7
    MIXED_TOPICS = 8
    OFFSETS_UNREADABLE = 9
    MEMBER_PULLS = 10
    POPS_IN_MEMORY = 11
    POPS_IN_KV = 12
    POP_MODE_ALONE = 13


class InferredFates(NamedTuple):
    """For each row: its fate, how certain that is, and whether a member asked for the message (codes).

    A fate that is unknown is `passed`, `waiting` or `no_owner`: where the offset is, and no more. `covered`: the
    evidence would name a delivery, because it has those of the queue's owner (`Answer.YES`, `Answer.NO`;
    `Answer.MAYBE`: who that was is not known). `why`: a place in `WHY`.
    """

    fate: Codes
    certainty: Codes
    asked: Codes
    covered: Codes
    why: Codes
