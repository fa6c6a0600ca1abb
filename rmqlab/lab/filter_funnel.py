"""Where messages stop on their way to a group: layer 1, layer 2, the client, or nowhere."""

from __future__ import annotations

from enum import StrEnum

from rmqlab.lab.fates import Fate


class Stage(StrEnum):
    """The three places where a message may stop, in their order."""

    LAYER_1 = "layer 1"
    LAYER_2 = "layer 2"
    CLIENT = "client"


STAGES = {
    Fate.DROPPED_BY_BROKER_TAG: Stage.LAYER_1,
    Fate.DROPPED_BY_BROKER_BITMAP: Stage.LAYER_1,
    Fate.DROPPED_BY_BROKER_SQL: Stage.LAYER_2,
    Fate.DROPPED_BY_CLIENT: Stage.CLIENT,
}
