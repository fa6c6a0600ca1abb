"""The cells of the matrix, and the scenario of each: two members of one group, four queues, eight messages.

The recordings of 5.5.0 and 5.3.3 were driven by the same scenarios, so that a cell can stand beside what was recorded.
"""

from __future__ import annotations

import random
from typing import Any, Final, NamedTuple

from rmqlab.errors import BadInput, there_are
from rmqlab.language import N_, _, joined
from rmqlab.rules import POP_VERSIONS, RULES, rules_of
from rmqlab.scenario.scenario import Scenario, convert_scenario

QUEUES, MESSAGES = 4, 8
BETWEEN_MS = 2_500  # from one message of a slow stream to the next
ANSWERS_AFTER_MS, ENDS_AFTER_MS, ENDS_AFTER_RETRY_MS = 4_000, 45_000, 95_000
GAPS_MS = (200, 2_000)  # from the first member's start to the second's
NEW_MS, SETTLED_MS = (3_000, 8_000, 12_000), (30_000, 60_000)  # from the second member's start to the first message
CLIENT_STARTS_MS = 1_500
NEWEST: Final = POP_VERSIONS[-1]


class Receiver(NamedTuple):
    """How a member receives: the fields of its start step, its words, and the versions that have it."""

    words: str
    fields: dict[str, Any]
    versions: tuple[str, ...] = tuple(RULES)
    fails: bool = True  # whether a listener can refuse a message, so that it comes again


RECEIVERS: Final[dict[str, Receiver]] = {
    "push": Receiver(N_("push"), {}),
    "push_own": Receiver(N_("push, its own expression in each pull"), {"post": True}),
    "lite": Receiver(N_("lite pull, subscribe"), {"kind": "lite"}, fails=False),
    "lite_assign": Receiver(N_("lite pull, assign: no expression"), {"kind": "lite"}, fails=False),
    "push_proxy": Receiver(N_("push through the proxy"), {"via": "proxy"}, POP_VERSIONS),
    "broadcasting": Receiver(N_("push, broadcasting"), {"mode": "broadcasting"}),
    "pop": Receiver(N_("POP push"), {"kind": "pop"}, POP_VERSIONS),
    "grpc": Receiver(N_("gRPC push"), {"kind": "grpc"}, POP_VERSIONS),
    "simple_1": Receiver(N_("SimpleConsumer, 1 message a call"), {"kind": "simple", "batch": 1}, POP_VERSIONS),
    "simple_4": Receiver(N_("SimpleConsumer, 4 messages a call"), {"kind": "simple", "batch": 4}, POP_VERSIONS),
    "simple_32": Receiver(N_("SimpleConsumer, 32 messages a call"), {"kind": "simple", "batch": 32}, POP_VERSIONS),
}
ORDERS: Final = {
    "burst_blocks": (N_("burst, AAAABBBB"), "AAAABBBB", 0),
    "burst_turn": (N_("burst, ABABABAB"), "ABABABAB", 0),
    "slow_turn": (N_("slow, ABABABAB"), "ABABABAB", BETWEEN_MS),
    "slow_blocks": (N_("slow, AAAABBBB"), "AAAABBBB", BETWEEN_MS),
    "slow_chance": (N_("slow, by chance"), "", BETWEEN_MS),
}
FILTERS: Final = ("TAG", "SQL92")


class Cell(NamedTuple):
    """One cell. `settled`: the first message comes half a minute or more after the second member, not some seconds.

    `failed`: a listener refuses each message once. `same`: both members ask for both tags, the control.
    """

    receiver: str = "push"
    order: str = "burst_blocks"
    filter: str = "TAG"
    settled: bool = False
    failed: bool = False
    version: str = NEWEST
    same: bool = False


def check_names(cell: Cell) -> None:
    """Refuse names that there are not.

    Raises:
        BadInput: an unknown name; the text says what there is.
    """
    rules_of(cell.version)
    for what, name, names in (
        (_("receiver"), cell.receiver, RECEIVERS),
        (_("order"), cell.order, ORDERS),
        (_("filter"), cell.filter, FILTERS),
    ):
        if name not in names:
            raise BadInput(
                _("matrix: there is no {what} {name}{near}", what=what, name=f"{name!r}", near=there_are(name, names))
            )


def check_cell(cell: Cell) -> None:
    """Refuse a cell that there is not.

    Raises:
        BadInput: an unknown name, or a version that has no such receiver; the text says what there is.
    """
    check_names(cell)
    receiver = RECEIVERS[cell.receiver]
    if cell.version not in receiver.versions:
        raise BadInput(
            _(
                "matrix: {version} has no receiver {receiver}; these versions have it: {versions}",
                version=cell.version,
                receiver=f"{cell.receiver!r}",
                versions=joined(", ", receiver.versions),
            )
        )
    if cell.failed and not receiver.fails:
        raise BadInput(
            _(
                "matrix: receiver {receiver} takes what it gets, nothing comes again; give failed=False",
                receiver=f"{cell.receiver!r}",
            )
        )


def is_possible(cell: Cell) -> bool:
    """Whether the version has the receiver, and whether such a receiver can fail."""
    receiver = RECEIVERS[cell.receiver]
    return cell.version in receiver.versions and (receiver.fails or not cell.failed)


def scenario_of(cell: Cell, seed: int) -> Scenario:
    """The scenario of a cell; the seed chooses who starts first, the gap between the starts, when the first is sent.

    It chooses the topic's name as well: a lite pull consumer takes its queues in the order of their hashes.

    >>> scenario = scenario_of(Cell("push", "slow_turn"), 0)
    >>> [message.tag for step in scenario.steps if hasattr(step, "messages") for message in step.messages]
    ['tagA', 'tagB', 'tagA', 'tagB', 'tagA', 'tagB', 'tagA', 'tagB']

    Raises:
        BadInput: as `check_cell`.
    """
    check_cell(cell)
    chance = random.Random(f"matrix {seed}")
    gap, members = chance.choice(GAPS_MS), chance.choice((("A", "B"), ("B", "A")))
    sent_at = CLIENT_STARTS_MS + gap + chance.choice(SETTLED_MS if cell.settled else NEW_MS)
    _words, tags, between = ORDERS[cell.order]
    sends = _sends(tags or "".join(chance.sample("AAAABBBB", MESSAGES)), sent_at, between, in_turn="turn" in cell.order)
    last = sends[-1]["at"]
    questions = [last + ANSWERS_AFTER_MS, last + (ENDS_AFTER_RETRY_MS if cell.failed else ENDS_AFTER_MS)]
    steps = [
        *(_start(cell, member, number * gap) for number, member in enumerate(members)),
        *sends,
        *({"do": "offsets", "at": at} for at in questions),
    ]
    return convert_scenario({"id": f"m{seed}", "topics": {"T": QUEUES}, "steps": steps})


def _start(cell: Cell, member: str, at: int) -> dict[str, Any]:
    step = {"do": "start", "at": at, "who": member, "group": "G", **RECEIVERS[cell.receiver].fields}
    if cell.failed:
        step["laterTimes"] = 1
    if cell.receiver == "lite_assign":
        return step | {"assign": {"T": [0, 1] if member == "A" else [2, 3]}}
    return step | {"subscribe": {"T": {"type": cell.filter, "expr": expression_of(cell, member)}}}


def expression_of(cell: Cell, member: str) -> str:
    """What a member asks for.

    >>> expression_of(Cell(filter="SQL92"), "A")
    "TAGS = 'tagA'"
    """
    if cell.same:
        return "tagA || tagB" if cell.filter == "TAG" else "TAGS in ('tagA', 'tagB')"
    return f"tag{member}" if cell.filter == "TAG" else f"TAGS = 'tag{member}'"


def _sends(tags: str, at: int, between: int, *, in_turn: bool) -> list[dict[str, Any]]:
    """The steps that send; a slow stream in turn sends a pair of both tags to each queue, as it was recorded."""
    messages = [
        {
            "body": f"MsgStr{number}",
            "tag": f"tag{tag}",
            "queue": (number // 2 if between and in_turn else number if between else number + 2) % QUEUES,
        }
        for number, tag in enumerate(tags)
    ]
    if not between:
        return [{"do": "send", "at": at, "topic": "T", "messages": messages}]
    return [
        {"do": "send", "at": at + number * between, "topic": "T", "messages": [message]}
        for number, message in enumerate(messages)
    ]
