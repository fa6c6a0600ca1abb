"""What the articles say about rebalance, beside what runs here (rows S-85, H-46, H-48)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_config import ClientConfig
from rmqlab.lab.articles.printed_e1 import NOT_PRINTED, Figure, FigureKind

if TYPE_CHECKING:
    from rmqlab.lab.groups.ownership import Ownership

CLAIMED_S = 20


def rebalance_figures(told: Ownership, untold: Ownership, killed: Ownership) -> list[Figure]:
    """Article's figure, ours. A group whose members are told, the same untold, and one of which a member is killed."""
    facts = told.run.facts
    rounds = {(fact.source, fact.t) for fact in facts.of("rebalance")}
    stamps = {(fact.source, fact.t) for fact in facts.of("restamp")}
    at = max(event.t for event in killed.events if event.what == "is killed")
    taken = max(span.since for span in killed.spans) - at
    longest = max(one.ms for one in [*untold.doubles, *untold.gaps])
    return [
        Figure("wait between two rebalances, ms", 20_000, ClientConfig().rebalance_wait_interval),
        Figure("a closed channel: the others have rebalanced within 20 s", True, 0 < taken <= CLAIMED_S * 1_000),
        Figure("… it took, ms", NOT_PRINTED, round(taken)),
        Figure(
            "nobody is told: the timer alone mends it within 20 s",
            True,
            longest <= CLAIMED_S * 1_000,
            FigureKind.FOLLOWS,
        ),
        Figure("… it took at most, s", NOT_PRINTED, round(longest / 1_000, 1)),
        Figure("the subscription is stamped anew when queues change, and only then", True, rounds == stamps),
        Figure("… so often", NOT_PRINTED, len(stamps)),
    ]
