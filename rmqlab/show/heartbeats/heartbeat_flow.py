"""The third article's first figure drawn again: the way of a heartbeat, from the timer to the rebalance (row H-03)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.groups.heartbeat_trace import heartbeat_way
from rmqlab.show import branches
from rmqlab.show.branches import Branch
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLUE, ORANGE, PALE, SKY, WHITE
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from rmqlab.lab.filters.call_trace import Call

MARGIN, TOP, TITLE_HEIGHT = 0.15, 0.4, 0.55
TITLE = "The way of a heartbeat: when B joins A's group, and what looks for those who fell silent"


def heartbeat_flow() -> Picture:
    """The calls as they were traced while a second member joined; frames between the processes in blue."""
    way = heartbeat_way()
    notice = Branch("wakeup", ("RebalanceService", "rebalances at once"), ORANGE)
    packet = Branch("code 34, heartbeat", ("3 s to answer",), BLUE)
    prepare = _branch(way["prepare"])
    prepare.children = [packet]
    reports = Branch("client's timer", ("after 1 s, then every 30 s",), SKY, children=[prepare])
    arrives = Branch("broker", ("code 34",), BLUE, children=[_branch(way["heart beat"], notice)])
    scan = _branch(way["scan"])
    for child in scan.children:
        child.children = [Branch("closes, forgets", ("nobody is told",), PALE)]
    scans = Branch("broker's timer", ("every 10 s",), SKY, children=[scan])
    parts = (("The client reports", reports), ("The broker registers", arrives), ("The broker looks", scans))
    tops, y = [], TOP
    for _, root in parts:
        tops.append(y)
        y += branches.size(root)[1] + TITLE_HEIGHT

    def draw(brush: Brush) -> None:
        for (title, root), top in zip(parts, tops, strict=True):
            brush.text(MARGIN, top - 0.22, title, size=10, ha="left", bold=True)
            branches.draw(brush, root, MARGIN, top)

    rows = [(line.strip(), (len(line) - len(line.lstrip())) // 2) for call in way.values() for line in call.lines()]
    alt = (
        "Two halves. The client's timer prepares a packet and sends it with code 34; the broker makes the retry topic, "
        "registers consumers (channel, then subscriptions), tells the members of a changed group with code 40, and "
        "registers producers; whoever is told wakes its rebalance. The broker's timer scans producers, consumers and "
        "filter servers, closes and forgets who is silent, and tells nobody."
    )
    svg = painted(max(branches.size(root)[0] for _, root in parts) + 2 * MARGIN, y - TITLE_HEIGHT + 0.05, draw)
    return Picture(svg, title=TITLE, alt=alt, table=Table("Calls in their order", ("called", "depth"), rows))


def _branch(call: Call, notice: Branch | None = None) -> Branch:
    owner, _, name = call.name.rpartition(".")
    children = [_branch(one, notice) for one in call.calls]
    if notice is not None and name.startswith("notify"):
        children.append(notice)
    lines = (owner, "code 40, one-way") if name.startswith("notify") else (owner,)
    return Branch(f"{name} ×{call.times}" if call.times > 1 else name, lines, WHITE, children=children)
