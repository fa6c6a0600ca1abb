"""What notebook 15 and its tasks say, sentence by sentence; the figures of its cells are compared by strict nbval."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import pytest

import rmqlab
from rmqlab.checkout import ROOT
from rmqlab.events import Popped, Revived, SkippedByPop, Waits
from rmqlab.protocol.pop_headers import ANY_QUEUE
from rmqlab.rules import POP_VERSIONS, rules_of
from rmqlab.run import records
from rmqlab.run.waiting_line import WaitingLine
from rmqlab.scenario.scenario import Start
from rmqlab.sim.cluster import ClusterConfig
from rmqlab.sim.simulate import simulate
from rmqlab_tools.course.checks_15 import RULES_5, members, slow
from rmqlab_tools.search.explorer.timings import NETWORK_TIMING, NetworkChooser
from rmqlab_tools.spark.matrix.cells import ORDERS, RECEIVERS, Cell, scenario_of
from rmqlab_tools.spark.matrix.measure import losses_of
from rmqlab_tools.spark.matrix.recorded import recorded

LESSON = "15_five"
SETTING = (
    "Two members, A and B, of one group, four queues, eight messages.",
    "A message comes every 2.5 s.",
    "How many of eight are lost?",
    "POP in turn: the same messages, with POP.",
    "POP in blocks: with POP, four times tagA, then four times tagB.",
    "Both rules count their questions:",
    "Things worth finding: an order of which seven are lost; what asking everyone does to it; what is lost when B asks for both tags (tagA || tagB).",
    "Return the pop to wake, or None.",
    "With your rule a slow stream must lose nothing, in any order of its tags, with POP and over gRPC.",
    "Eight messages come, one every 2.5 s, four with tagA and four with tagB; message n goes to queue n % 4.",
    "Find one that loses seven.",
    "Service A must get every message with tagA, service B every message with tagB, and neither may get anything else.",
)
ALL_ORDERS = ["".join("A" if place in chosen else "B" for place in range(8)) for chosen in combinations(range(8), 4)]


def joint(kind, asks, groups="GG", rules=RULES_5):
    """A lab after a slow stream in blocks, with a member for each expression."""

    def start(lab):
        for who, expression, group in zip("AB", asks, groups, strict=True):
            lab.consumer(who, group=group, subscribe={"T": expression}, kind=kind)
            lab.run(ms=200)

    return slow(start, "AAAABBBB", rules)


def lost(lab):
    return sum(fate.lost for fate in lab.fates())


@pytest.fixture(scope="module")
def streams():
    """The slow streams of the lesson, by name."""
    return {
        "push": slow(members("push"), "ABABABAB"),
        "turn": slow(members("pop"), "ABABABAB"),
        "blocks": slow(members("pop"), "AAAABBBB"),
        "worst": slow(members("pop"), "BBBBAAAA"),
    }


@pytest.fixture(scope="module")
def lines(streams):
    return {name: WaitingLine(lab.finish().run) for name, lab in streams.items() if name != "push"}


@pytest.fixture(scope="module")
def cells(shown):
    """The means of the lesson's matrix, by words of the receiver."""
    rows = [re.split(r"  +", line) for line in shown["matrix"].splitlines()]
    return {row[0]: [float(value) for value in row[1:]] for row in rows if re.fullmatch(r"[\d.]+", row[-1])}


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.row("S-07", "S-37")
@pytest.mark.claim(
    "In notebook 01, with 4.8.0, six were lost.",
    "Push still loses, as in 4.8.0.",
    "A push group of 5.5.0 loses the same messages.",
)
def test_push_loses_what_it_lost(streams):
    gone = [(fate.body, fate.fate) for fate in streams["push"].fates() if fate.lost]
    before = slow(members("push"), "ABABABAB", rules_of("4.8.0"))
    assert gone == [(fate.body, fate.fate) for fate in before.fates() if fate.lost]
    assert len(gone) == 6
    first = (ROOT / "notebooks" / "01_eight_messages.ipynb").read_text(encoding="utf-8")
    assert "2 of 8 delivered, 6 lost, lag 0." in first


@pytest.mark.claim("It was written for 4.8.0.")
def test_the_articles_version():
    text = (ROOT / "data" / "articles" / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^\| version \| says 4\.8\.0 \|", text, re.MULTILINE)


@pytest.mark.claim("5.x has push consumers as well, and a new way:")
def test_what_is_new_in_5():
    assert {"4.8.0", *POP_VERSIONS} == set(RECEIVERS["push"].versions)
    assert RECEIVERS["pop"].versions == POP_VERSIONS


@pytest.mark.claim("It may take messages from any queue, and each request brings its own subscription.")
def test_a_member_that_pops(streams):
    for who in "AB":
        taken = {row.queue for row in streams["turn"].consumed() if row.who == who}
        assert len(taken) == 2
    passed = list(streams["blocks"].finish().run.facts.of(SkippedByPop))
    assert {(fact.event.client, fact.event.subscription) for fact in passed} == {("A", "tagA"), ("B", "tagB")}
    assert {fact.event.queue for fact in passed} == {0, 1, 2, 3}
    assert {row.queue for row in streams["blocks"].rebalances()} == {ANY_QUEUE}


@pytest.mark.claim(
    "POP loses nothing of one stream and six messages of the other.",
    "In the lesson the worst order lost six.",
)
def test_the_three_streams(shown, streams):
    found = dict(re.findall(r"^([a-z, ]+?) +(\d)$", shown["three"], re.MULTILINE))
    assert found == {"push": "6", "pop, tags in turn": "0", "pop, tags in blocks": "6"}
    assert [lost(streams[name]) for name in ("push", "turn", "blocks", "worst")] == [6, 0, 6, 7]


@pytest.mark.claim("The members are the same, and so are the messages. Only their order differs.")
def test_what_differs(streams):
    turn, blocks = ([row.tag for row in streams[name].messages()] for name in ("turn", "blocks"))
    assert turn != blocks
    assert sorted(turn) == sorted(blocks)
    assert [set(streams[name].clients) for name in ("turn", "blocks")] == [{"A", "B"}] * 2


@pytest.mark.claim("A pop that finds nothing waits at the broker.")
def test_pops_wait_before_there_is_a_message(streams):
    run = streams["blocks"].finish().run
    waiting = {fact.event.client for fact in run.facts.of(Waits) if fact.t < min(row.t for row in run.fates)}
    assert waiting == {"A", "B"}


@pytest.mark.claim("All pops of a group that wait for a topic stand in one line.")
def test_each_group_and_topic_has_a_line():
    """A second group and a second topic change nothing in the line of the first."""

    def start(lab):
        members("pop")(lab)
        lab.consumer("C", group="H", subscribe={"T": "tagB"}, kind="pop")

    run = slow(start, "AAAABBBB").finish().run
    assert WaitingLine(run, "G").longest == 2
    assert WaitingLine(run, "H").longest == 1
    assert [fate.lost for fate in run.fates if fate.group == "H"] == [False] * 8
    assert sum(fate.lost for fate in run.fates if fate.group == "G") == 6


@pytest.mark.claim("Only the first pop in the line is asked.")
@pytest.mark.parametrize("name", ["turn", "blocks", "worst"])
def test_only_the_first_is_asked(lines, name):
    for arrival in lines[name].arrivals:
        line = lines[name].line_at(arrival.t)
        assert len(line) == 2
        assert arrival.asked == line[0]
        assert arrival.woken in {line[0], None}


@pytest.mark.claim(
    "The next three messages are for A too.",
    "But the broker asks B, B does not want them, and nobody asks A.",
    "B's pop reads the queues, passes the three messages, and the offset moves on. Nobody will get them any more.",
    "The member that reads first passes what the others want.",
)
def test_the_first_block(lines, streams):
    first, *three = lines["blocks"].arrivals[:4]
    assert (first.asked, first.woken) == ("A", "A")
    assert lines["blocks"].line_at(three[0].t) == ("B", "A")
    assert [(one.fate.tag, one.asked, one.woken, one.fate.culprit) for one in three] == [("tagA", "B", None, "B")] * 3
    passed = [fact for fact in streams["blocks"].finish().run.facts.of(SkippedByPop) if fact.event.client == "B"]
    assert len({fact.t for fact in passed}) == 1
    got = {row.body for row in streams["blocks"].consumed()}
    assert not got & {one.fate.body for one in three}
    for fate in streams["blocks"].fates():
        assert not fate.lost or fate.culprit != fate.tag.removeprefix("tag")


@pytest.mark.claim("As with push, the alarm sees nothing: there is no lag.")
def test_no_lag(streams):
    for name in ("push", "blocks"):
        assert lost(streams[name]) == 6
        assert [row.max - row.committed for row in streams[name].offsets()][-4:] == [0] * 4


@pytest.mark.claim(
    "With tags in turn the same rule does no harm. A member that gets a message goes to the end of the line, so the other member stands first, and the next message is for that member:",
)
def test_tags_in_turn(lines, streams):
    assert lost(streams["turn"]) == 0
    arrivals = lines["turn"].arrivals
    for arrival, following in pairwise(arrivals):
        assert arrival.woken == arrival.asked
        assert lines["turn"].line_at(following.t)[1] == arrival.woken
        assert following.fate.tag != arrival.fate.tag


def first_who_wants(waiters, wants):
    return next(filter(wants, waiters), None)


@pytest.mark.claim(
    "Nothing of this slow stream is lost, and the price is a few questions more.",
    "With a hundred members in the line, a message that only the last one wants costs a hundred.",
)
def test_the_price(shown):
    assert re.search(r"^only the first +6 +8$", shown["replace"], re.MULTILINE)
    assert re.search(r"^everyone in line +0 +15$", shown["replace"], re.MULTILINE)
    asked = []

    def counted(waiters, wants):
        asked.append(0)

        def want(waiter):
            asked[-1] += 1
            return wants(waiter)

        return first_who_wants(waiters, want)

    lab = rmqlab.Lab(topics={"T": 4}, rules=RULES_5.replace(waiter_to_wake=counted))
    for number in range(100):
        lab.consumer(f"m{number}", group="G", subscribe={"T": f"tag{number}"}, kind="pop")
    lab.run(seconds=8)
    asked.clear()
    line = WaitingLine(lab._run()).changes[-1][1]
    lab.send("T", [line[-1].replace("m", "tag")])
    lab.run(seconds=1)
    assert asked == [100]
    assert [row.who for row in lab.consumed()] == [line[-1]]


@pytest.mark.claim(
    "So asking everyone helps, but not enough.", "(Of a burst asking everyone still loses some: see the appendix.)"
)
def test_a_burst_with_everyone_asked(shown):
    rows = re.findall(r"^pop +(\w+) +(only the first|everyone in line) +\d +([\d.]+) ", shown["burst"], re.MULTILINE)
    means = {(order, asked): float(mean) for order, asked, mean in rows}
    for order in ("burst_blocks", "burst_turn"):
        assert 0 < means[order, "everyone in line"] < means[order, "only the first"]


@pytest.mark.claim(
    "With POP it comes from the group's retry topic, and any member may pop it, with that member's own subscription.",
    "unfinished counts messages that a listener got, refused, and never got again:",
)
@pytest.mark.parametrize("seed", range(3))
def test_a_message_comes_again(seed):
    cell = Cell("pop", "burst_blocks", failed=True)
    cluster = ClusterConfig(rules=rules_of(cell.version))
    run = simulate(scenario_of(cell, seed), chooser=NetworkChooser(seed), timing=NETWORK_TIMING, cluster=cluster)
    retry = {fact.event.retry_topic for fact in run.facts.of(Revived)}
    assert {topic[:8] for topic in retry} == {"%RETRY%G"}
    again = [fact.event for fact in run.facts.of(Popped) if fact.event.topic in retry]
    passed = [fact.event for fact in run.facts.of(SkippedByPop) if fact.event.topic in retry]
    calls = list(records.consumed(run))
    assert len([call for call in calls if call.success]) == len(again)
    assert all(event.subscription == f"tag{event.client}" for event in passed)
    refused = {call.body for call in calls if not call.success}
    never = refused - {call.body for call in calls if call.success}
    assert losses_of(run, cell).unfinished == len(never) == len(passed) > 0


@pytest.mark.claim(
    "These are eleven ways to receive with 5.x, and the five orders that were recorded.",
    "Here they are as they were measured before, with 20 runs a cell (stored=True; without it they are measured anew).",
    "A cell has the mean loss of these runs, and in brackets the mean of the recordings of real clients and brokers, where there are any:",
)
def test_the_matrix(cells):
    assert list(cells) == [str(receiver.words) for receiver in RECEIVERS.values() if "5.5.0" in receiver.versions]
    assert {len(means) for means in cells.values()} == {len(ORDERS)}
    assert (len(cells), len(ORDERS)) == (11, 5)
    assert {cell.order for cell in recorded() if cell.version == "5.5.0"} == set(ORDERS)
    (row,) = rmqlab.matrix(["pop"], ["slow_blocks"], stored=True)
    assert row.runs == 20
    losses = [loss for runs in row.losses.values() for loss in runs]
    assert f"({sum(losses) / len(losses):.1f})" in rmqlab.matrix(["pop"], ["slow_blocks"], runs=1).picture().svg


@pytest.mark.claim("It has no subscription at all, so each listener gets the other one's messages too:")
def test_lite_pull_that_assigns_itself_queues(cells, shown):
    assert [name for name, means in cells.items() if not any(means)] == ["lite pull, assign: no expression"]
    starts = [step for step in scenario_of(Cell("lite_assign"), 0).steps if isinstance(step, Start)]
    assert [step.subscribe for step in starts] == [{}, {}]
    assert "4 messages of eight went to a listener that had not asked" in shown["least-code"]


@pytest.mark.row("S-07")
@pytest.mark.claim(
    "Three ways keep all eight. All members have one subscription. Or all ask for *, and the listener looks at the tag.",
    "What saves you is the same as in 4.8.0.",
    "With one group and * nothing is lost, but each service gets messages of the other one.",
)
def test_what_keeps_all(shown):
    losses = re.findall(r"'(\w+), (.+?)': (\d+)", shown["keeps"])
    assert {way for _, way, _ in losses} == {"one subscription", "*", "two groups"}
    assert {kind for kind, *_ in losses} == {"push", "pop", "grpc", "simple"}
    assert {count for *_, count in losses} == {"0"}
    for asks, groups in ((["tagA || tagB"] * 2, "GG"), (["*", "*"], "GG"), (["tagA", "tagB"], "GH")):
        assert lost(joint("push", asks, groups, rules_of("4.8.0"))) == 0
    for kind in ("push", "pop", "grpc"):
        got = {(row.who, row.tag) for row in joint(kind, ["*", "*"]).consumed()}
        assert got == {(who, tag) for who in "AB" for tag in ("tagA", "tagB")}, kind


@pytest.mark.claim(
    "Where the subscriptions of a group differ, no way of receiving keeps all messages. POP does not save you.",
)
def test_none_keeps_all(cells):
    losing = [name for name, means in cells.items() if max(means) > 0]
    assert len(losing) == 10
    assert [name for name in cells if name not in losing] == ["lite pull, assign: no expression"]


@pytest.mark.claim("The page POP: only the first in line is asked has the frames of a real broker.")
def test_the_page_has_a_recorded_run():
    text = (ROOT / "docs" / "explanation" / "pop.md").read_text(encoding="utf-8")
    assert text.startswith("# POP: only the first in line is asked\n")
    assert "`g5-poptag-block-002`). **One of eight messages arrives.**" in text
    assert 7 in recorded()[Cell("pop", "slow_blocks")]["popslow"]


@pytest.mark.claim("So whoever wants it must be woken at once, wherever that pop stands.")
@pytest.mark.parametrize("kind", ["pop", "grpc"])
def test_every_order_is_safe_when_whoever_wants_it_is_woken(kind):
    rules = RULES_5.replace(waiter_to_wake=first_who_wants)
    for tags in ALL_ORDERS:
        assert lost(slow(members(kind), tags, rules)) == 0, tags


@pytest.mark.claim(
    "Why. The first four messages are for B, and A is asked. They wake nobody, and A's pop passes them when its time is over.",
    "The next message is for A, and A stands first: A gets it, and goes to the end of the line. Now B stands first, and the last three messages are for A.",
)
def test_the_worst_order(lines):
    found = [(one.fate.tag, one.asked, one.woken, one.fate.culprit) for one in lines["worst"].arrivals]
    assert found == [("tagB", "A", None, "A")] * 4 + [("tagA", "A", "A", "A")] + [("tagA", "B", None, "B")] * 3
