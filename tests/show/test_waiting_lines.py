"""The line of waiting pops: read from the facts, drawn, and in the docs as it is drawn today."""

from __future__ import annotations

import itertools

from rmqlab import RULES
from rmqlab.run.waiting_line import WaitingLine
from rmqlab.scenario.scenario import read_scenarios
from rmqlab.sim.cluster import cluster_of
from rmqlab.sim.simulate import simulate
from rmqlab_tools.show.waiting_lines import waiting_line


def slow_in_blocks(root, **rules):
    scenario = read_scenarios(root / "data" / "pop" / "slow_in_blocks.jsonl")[0]
    return simulate(scenario, cluster=cluster_of({}, RULES["5.5.0"].replace(**rules)))


def test_whom_each_message_met_in_the_line(root):
    line = WaitingLine(slow_in_blocks(root))
    met = [(arrival.fate.body[-1], arrival.asked, arrival.woken) for arrival in line.arrivals]
    assert met == [
        ("0", "A", "A"), ("1", "B", None), ("2", "B", None), ("3", "A", "A"),
        ("4", "B", "B"), ("5", "A", None), ("6", "A", None), ("7", "A", None),
    ]  # fmt: skip
    assert line.longest == 2
    for arrival in line.arrivals:
        assert line.line_at(arrival.t)[0] == arrival.asked
    firsts = [stand for stand in line.stands if stand.place == 0]
    assert all(before.until <= after.since for before, after in itertools.pairwise(firsts))


def test_with_everybody_asked_each_message_wakes_whoever_wants_it(root):
    result = slow_in_blocks(root, waiter_to_wake=lambda waiters, wants: next(filter(wants, waiters), None))
    arrivals = WaitingLine(result).arrivals
    assert [arrival.woken for arrival in arrivals] == list("AAAABBBB")
    assert not any(arrival.fate.lost for arrival in arrivals)


def test_the_picture_says_what_it_shows(root):
    picture = waiting_line(slow_in_blocks(root))
    assert picture.alt.endswith("8 messages · 5 woke nobody · 5 lost.")
    assert "A: tagA" in picture.svg
    assert len(picture.table.rows) == 8
    assert picture.svg == (root / "data" / "pictures" / "waiting_line.svg").read_text(encoding="utf-8")
    page = (root / "docs" / "explanation" / "pop.md").read_text(encoding="utf-8")
    assert "data/pictures/waiting_line.svg" in page
