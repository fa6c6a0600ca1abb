"""The figures of the third article, all of them in its text, beside what runs here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.mq_client_instance import HEARTBEAT_TIMEOUT
from rmqlab.lab.articles.experiments import read_manifest
from rmqlab.lab.articles.printed_e1 import NOT_PRINTED, Figure
from rmqlab.lab.articles.run_figures import figure_of
from rmqlab.protocol.codes import RequestCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.groups.disappearance import Disappeared

CLAIMED_TAKEOVER_S = 20


def heartbeat_figures(silent: Sequence[Disappeared]) -> list[Figure]:
    """Article's figure, ours. ``silent`` are disappearances without a closed connection, as many as were tried."""
    run = read_manifest()["E11"].run()
    since_beat = [(one.noticed - one.last_heard) / 1_000 for one in silent if one.noticed is not None]
    after_removal = [
        (one.taken_over - one.noticed) / 1_000
        for one in silent
        if one.noticed is not None and one.taken_over is not None
    ]
    in_all = [(one.taken_over - one.last_heard) / 1_000 for one in silent if one.taken_over is not None]
    return [
        Figure("first heartbeat of the timer, s after the start", 1, figure_of(run, "first timer beat of A")),
        Figure("period of the heartbeats, s", [30], figure_of(run, "beat periods of A")),
        Figure("request code", 34, int(RequestCode.HEART_BEAT)),
        Figure("timeout of the request, ms", 3_000, HEARTBEAT_TIMEOUT),
        Figure("forgotten after a silence of more than 120 s", True, min(since_beat) > 120),
        Figure("… and found so by a scan within, s", NOT_PRINTED, round(max(since_beat) - 120, 1)),
        Figure("others rebalance within 20 s of the removal", True, max(after_removal) <= CLAIMED_TAKEOVER_S),
        Figure("… from the last heartbeat to the takeover, s", NOT_PRINTED, [round(min(in_all)), round(max(in_all))]),
    ]
