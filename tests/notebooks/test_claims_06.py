"""What notebook 06 and its tasks say, sentence by sentence."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

import rmqlab
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.client.client_config import ClientConfig
from rmqlab.protocol.codes import RequestCode
from rmqlab.rules import RULES
from rmqlab_tools.course.checks_06 import CLIENTS, LOST_IN_A_ROW, MAX_BEATS, WITHIN_S, group, story

LESSON = "06_heartbeats"
SETTING = (
    "Consumers A and B share one group and the four queues of topic T.",
    "A starts first, B soon after. The function returns the lab while both are alive.",
    "The lab keeps tables of everything that happens.",
    "This function collects rows from four of them:",
    "This time A is alone, and its machine goes after 45 seconds.",
    "In another run A's machine loses power, and nobody sees a connection close.",
    "First nobody disappears: how often does a scan forget a member that lives?",
    "Both stand still for half a minute, and 40 messages come.",
    "A and B are in one group.",
    "The appendix tries eight causes.",
    "Who is told at once, and how many notices come later?",
    "The appendix shows each question.",
    "The function asks the rule and notes each question.",
    "Many moments are tried, each with other phases of the three rhythms.",
    "Now the tasks:",
    "These are the requests of ten quiet minutes, and the packets themselves.",
    "That is how B's tag came into the group's slot in notebook 01.",
    "It gets three numbers in ms:",
    "Choose four periods, so that all of this holds:",
    "When a machine goes, its queues have a new owner at most 20 s after its last heartbeat, whatever the moment.",
    "2 lost heartbeats in a row do no harm.",
    "A broker with 10,000 clients hears at most 4,000 heartbeats a second.",
    'rmqlab.broken("kelp") and rmqlab.broken("larch") are the rules of 4.8.0 with one of them wrong.',
    "(.source would tell you, and you would learn nothing.)",
    "In this story A and B live for three minutes.",
    "Then C joins, and a minute later A's machine goes.",
)
RULE = RULES["4.8.0"]
NOTIFY = "NOTIFY_CONSUMER_IDS_CHANGED"
QUICK_MS = 100  # a handful of frames
HELD_MS = 20_000  # pulls that the broker holds at the moment are answered within that, whoever waits for it


def fault(happen, seconds=200):
    """A lab after a fault, and when that was."""
    lab = group()
    happen(lab)
    zero = lab.events().where(ev="control")[0].t
    lab.run(seconds=seconds)
    return lab, zero


def taken(lab, zero):
    """When B took a queue of A's, ms after the fault."""
    times = [one.t - zero for one in lab.rebalances().where(who="B", held=True) if one.t >= zero]
    return times[0] if times else None


def told(lab, zero):
    return [one for one in lab.frames().where(request=NOTIFY) if one.t >= zero]


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "Each of them sends the broker a heartbeat every half minute.",
    "The broker forgets a member that is silent for two minutes.",
    "A closed connection is noticed at once. Silence is not.",
    "When a machine is gone, nobody closes the connection.",
    "The broker forgets A much later, and then nobody is told.",
    "Until then nobody reads A's queues.",
    "A closed connection is noticed at once. The long wait is for lost power, lost networks and long pauses.",
    "A scan tells nobody.",
)
def test_two_ways_to_die():
    assert RULE.heartbeat_period_ms == ClientConfig().heartbeat_broker_interval == 30_000
    assert RULE.channel_expired_ms == 120_000
    killed, zero = fault(lambda lab: lab.kill("A"))
    assert taken(killed, zero) < QUICK_MS
    assert {one.target for one in told(killed, zero)} == {"B"}
    gone, zero = fault(lambda lab: lab.kill("A", silent=True))
    assert taken(gone, zero) > 90_000
    assert told(gone, zero) == []
    assert not [pull for pull in gone.pulls().where(who="A") if pull.t > zero + HELD_MS]


@pytest.mark.claim("A scan asks this rule every ten seconds.")
def test_scans(shown):
    assert RULE.scan_period_ms == 10_000
    ages = [float(line.split()[0]) for line in shown["scan"].splitlines()[2:]]
    assert {round(b - a) for a, b in pairwise(ages) if b > a > 30} == {10}
    assert shown["scan"].count("True") == 1


@pytest.mark.claim(
    "Network frozen, long pause (a minute each): the broker does not notice.",
    "Nobody takes A's queues, and for that minute nobody reads them.",
    "Pulls do not count as heartbeats.",
    "Pulls keep nobody alive.",
)
def test_ways():
    for happen in (lambda lab: lab.freeze("A", 60_000), lambda lab: lab.pause("A", 60_000)):
        lab, zero = fault(happen)
        assert (taken(lab, zero), told(lab, zero)) == (None, [])
        assert not [pull for pull in lab.pulls().where(who="A") if zero + HELD_MS < pull.t < zero + 60_000]
    lab, zero = fault(lambda lab: lab.lose_heartbeat("A", 8), 100)
    assert len([pull for pull in lab.pulls().where(who="A") if pull.t > zero]) > 10
    lab.run(seconds=30)
    assert taken(lab, zero) > 90_000


@pytest.mark.claim(
    "The answer depends on three rhythms: A's heartbeats, the scans, and B's rebalances.",
    "From A's last heartbeat the wait has three parts: the expiry, then up to one scan period, then up to one rebalance period.",
    "The article says that consumers rebalance within twenty seconds after the broker has closed a channel.",
    "That holds here, but it is the smaller part of the wait.",
)
def test_the_worst_case(shown):
    low, _, high = (line.split()[1:] for line in shown["spread"].splitlines()[2:])
    assert float(low[2]) > 120
    assert float(high[2]) <= 130
    assert float(high[3]) <= 150
    article = shown["article"].splitlines()[2:]
    assert len(article) == 5
    assert all(line.rstrip().endswith("=") for line in article)


@pytest.mark.claim(
    "To keep a short expiry safe, the beats must come more often: the third row sends six times as many.",
    "With an expiry of 15 seconds and a beat every 30, the broker forgets A between two of A's heartbeats.",
)
def test_a_short_expiry(shown):
    rows = [line.rsplit(maxsplit=3) for line in shown["alarms"].splitlines()[2:]]
    assert [int(row[1]) > 0 for row in rows] == [False, True, False, False]
    assert int(rows[2][3]) == 6 * int(rows[0][3]) == 6 * int(rows[1][3])
    assert int(rows[1][1]) == 21  # in 655 s with a heartbeat every 30 s: each time but at the very beginning


@pytest.mark.claim(
    "It divides no queues.",
    "Another tag tells nobody. The broker holds another subscription for the group from then on, and no member hears of it.",
    "When a topic comes, all members are told at once, because the client sends a heartbeat at once.",
    "When a topic goes, they are told with the client's next heartbeat.",
    "Each time both are told.",
    "Neither does a changed tag.",
    "A member that goes is another case: the broker tells the others when it sees a closed connection, and tells nobody "
    "after a scan.",
)
def test_who_is_told(shown):
    from rmqlab.protocol.consumer_headers import NotifyConsumerIdsChangedRequestHeader

    assert set(NotifyConsumerIdsChangedRequestHeader.__struct_fields__) == {"consumer_group"}
    rows = dict(line.split("  ", 1) for line in shown["told"].splitlines()[2:])
    assert rows["A subscribes another tag"].split() == ["nobody", "0"]
    assert rows["A falls silent"].split() == ["nobody", "0"]
    assert rows["A subscribes a third topic"].split()[:2] == ["A,", "B"]
    assert rows["A unsubscribes a topic"].split()[0] == "nobody"
    lab = rmqlab.Lab(topics={"T": 4, "U": 4})
    for who, topics in (("A", "TU"), ("B", "T")):
        lab.consumer(who, group="G", subscribe=dict.fromkeys(topics, "a"))
        lab.run(seconds=20)
    lab.run(seconds=100)
    beats = [one for one in lab.frames().where(request="HEART_BEAT", response=None) if one.source in "AB"][-5:]
    for before, beat in pairwise(beats):
        assert before.source != beat.source
        assert {one.target for one in lab.frames().where(request=NOTIFY) if 0 <= one.t - beat.t < 5} == {"A", "B"}


@pytest.mark.claim(
    "The lag falls to zero, and three quarters of the messages are gone.",
    "Lag zero means that nothing waits.",
    "The oldest heartbeat shows the dead machine long before the scan does.",
)
def test_what_to_watch(shown):
    rows = {int(row[0]): list(map(int, row)) for row in map(str.split, shown["gauges"].splitlines()[2:])}
    assert rows[90][3:] == [0, 40 * 3 // 4]
    assert rows[150][1] == 2
    assert rows[150][2] > 30
    assert rows[215][1] == 1


@pytest.mark.row("H-52")
@pytest.mark.claim("4.8.0 has a pool of threads of their own for them.")
def test_pools_of_a_real_broker(golden):
    printed = (golden / "broker-4.8.0" / "admin" / "mqadmin.txt").read_text(encoding="utf-8")
    pools = dict(re.findall(r"^(\w+ThreadPoolNums) += +(\d+)$", printed, re.MULTILINE))
    assert {"heartbeatThreadPoolNums", "pullMessageThreadPoolNums", "sendMessageThreadPoolNums"} <= pools.keys()


@pytest.mark.claim(
    "One client sends one packet for all its consumers and producers.",
    "A producer tells only the names of its groups.",
    "No heartbeat goes to the name server: clients ask it for routes.",
)
def test_the_packet(shown):
    at_name_server = [line.split() for line in shown["traffic"].splitlines() if "name server" in line]
    assert {row[-2] for row in at_name_server} == {RequestCode.GET_ROUTEINFO_BY_TOPIC.name}
    packet = rmqlab.Lab(topics={"T": 1}).producer.instance.prepare_heartbeat_data()
    assert {name for one in packet.producer_data_set for name in one.__struct_fields__} == {"group_name"}
    assert RequestCode.HEART_BEAT == 34


@pytest.mark.claim(
    'Why. "Longer" excludes the border: a heartbeat that is exactly as old as the expiry is still good.',
    "The rule knows nothing of the scan.",
    "Two lost heartbeats leave the last one three periods old, so the expiry must be longer than that.",
    "The price is ten times as many heartbeats.",
    "In 4.8.0 only two of the periods can be set: the heartbeat and the rebalance.",
)
def test_rule_and_periods():
    assert [RULE.is_expired(now, 0, 120_000) for now in (120_000, 120_001)] == [False, True]
    assert "scan" not in RULE.is_expired.__code__.co_varnames
    beat_s, expiry_s, scan_s, rebalance_s = 3, 10, 2, 5  # the solution's
    assert expiry_s + scan_s + rebalance_s <= WITHIN_S
    assert (LOST_IN_A_ROW + 1) * beat_s < expiry_s
    assert CLIENTS / beat_s == pytest.approx(10 * CLIENTS / 30)
    assert CLIENTS / beat_s <= MAX_BEATS
    assert ClientConfig(heartbeat_broker_interval=3_000, rebalance_wait_interval=5_000) != ClientConfig()
    assert not [name for name in dir(BrokerConfig) if "expired" in name or "scan_not_active" in name]


@pytest.mark.claim(
    "Why. With kelp the clocks never come near the limit, and members lose their queues again and again, although their heartbeats arrive:",
    "With larch nobody is told when C joins.",
    "C takes its queues at once, and the others find out by their timers.",
)
def test_the_hunt():
    kelp, larch = story(rmqlab.broken("kelp")), story(rmqlab.broken("larch"))
    assert len({one.t for one in kelp.rebalances().where(who="A", held=False)}) > 10
    beats = [one.t for one in kelp.heartbeats().where(who="A")]
    assert max(b - a for a, b in pairwise(beats)) < 40_000
    start = larch.events().where(ev="starting", who="C")[0].t
    assert [one for one in larch.frames().where(request=NOTIFY) if one.t < start + 60_000] == []
    assert larch.rebalances().where(who="C", held=True)[0].t - start < QUICK_MS
    others = [one.t - start for one in larch.rebalances().where(held=False) if one.t > start and one.who != "C"]
    assert QUICK_MS < min(others) <= 20_000
