"""What notebook 06 and its tasks say, sentence by sentence."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.client.client_config import ClientConfig
from rmqlab.lab.articles.printed_e1 import NOT_PRINTED
from rmqlab.lab.fates import Fate
from rmqlab.lab.groups.beat_traffic import beat_traffic
from rmqlab.lab.groups.disappearance import QUEUES, WAYS, Disappearance, delays
from rmqlab.lab.groups.gauge_story import gauge_story
from rmqlab.lab.groups.heartbeat_load import HeartbeatLoad
from rmqlab.lab.groups.notices import CAUSES, notices
from rmqlab.lessons.checks_06 import CLIENTS, GOINGS, LOST_IN_A_ROW, WITHIN_S
from rmqlab.lab.run_view import RunView
from rmqlab.lab.scenario import convert_scenario
from rmqlab.lab.simulate import simulate
from rmqlab.namesrv.route_info_manager import BROKER_CHANNEL_EXPIRED_TIME
from rmqlab.protocol.codes import RequestCode
from rmqlab.show.heartbeats import heartbeat_tables
from rmqlab.rules import RULES

LESSON = "06_heartbeats"
SETTING = (
    "A broker forgets who is silent: it scans its channels, and whoever has been inactive for too long goes.",
    "The same group, the same moment, two ways to die.",
    "All periods, and how A disappears.",
    "These are quiet minutes of a consumer A and a producer P.",
    "Here is a group with its gauges.",
    "Both stand still for a while, and meanwhile messages come.",
    "A model, with four threads and half a millisecond of work a beat: the same heartbeats alone, and in line with slow requests.",
    "That is how B's tag came into the group's slot in notebook 01.",
    "Now the tasks:",
    'Say for each way whether the broker takes it out of the group "at once", "by a scan" or "never".',
    "Choose four periods so that a silent client's queues have a new owner",
)
QUICK_MS = 100  # a handful of frames
SILENT_WAYS = ("machine gone", "network frozen", "long pause", "beats get lost")


@pytest.fixture(scope="module")
def found():
    return {way: Disappearance(way=way).run() for way in WAYS}


@pytest.fixture(scope="module")
def silent():
    return delays(24, way="machine gone")


@pytest.fixture(scope="module")
def told():
    return {one.cause: one for one in notices()}


@pytest.fixture(scope="module")
def story():
    return gauge_story()


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "A dead consumer that is still in the group keeps its queues, and nobody reads them.",
    "Consumers A and B share one group and four queues.",
    "A beats every half minute and is forgotten after two minutes.",
    "A closed connection is noticed at once. Silence is not.",
    "When the machine is gone nothing closes.",
    "A's last heartbeat grows old until a scan finds it too old, and then nobody is told:",
    "A closed connection is noticed at once: a killed process costs milliseconds.",
    "A scan tells nobody.",
)
def test_two_ways_to_die(found):
    assert QUEUES == 4
    assert ClientConfig().heartbeat_broker_interval == 30_000
    assert RULES["4.8.0"].channel_expired_ms == 120_000
    killed, gone = found["process killed"], found["machine gone"]
    assert killed.noticed - killed.moment < QUICK_MS
    assert killed.taken_over - killed.moment < QUICK_MS
    assert killed.told
    assert gone.by_scan
    assert gone.told == []
    assert gone.unserved_ms == gone.taken_over - gone.moment > 90_000


@pytest.mark.claim(
    "Six ways to disappear, all at the same moment.",
    "Look at the frozen network and the pause, a minute each: the broker notices neither.",
    "There is no new owner, and for that minute nobody reads A's queues.",
    "A lives and consumes, but its heartbeats do not arrive.",
    "Pulls refresh nothing, so it is forgotten.",
    "At its next rebalance A is not in the list of members and gives its queues up; B takes them at its own.",
    "Pulls keep nobody alive.",
)
def test_six_ways(found):
    assert len(found) == 6
    assert len({one.moment for one in found.values()}) == 1
    for way in ("network frozen", "long pause"):
        one = found[way]
        assert (one.noticed, one.taken_over, one.unserved_ms, one.settings.for_ms) == (None, None, 60_000, 60_000)
    alive = found["beats get lost"]
    pulls = [fact.t for fact in alive.run.facts.of("pull") if fact["client"] == "A"]
    assert sum(alive.last_heard < t < alive.noticed for t in pulls) > 10
    assert alive.by_scan
    gave_up = next(t for t, count in alive.owned("A") if t > alive.noticed)
    assert [count for t, count in alive.owned("A") if t == gave_up] == [0]
    assert alive.noticed < gave_up <= alive.noticed + 20_000
    assert alive.noticed < alive.taken_over <= alive.noticed + 20_000 + QUICK_MS


@pytest.mark.claim(
    "It depends on where in three rhythms it falls: the beat, the scan, and B's rebalance.",
    "The article says that consumers rebalance within twenty seconds after the broker has closed a channel.",
    "That holds in all these runs, but it is the smaller part of the wait.",
    "From the last heartbeat it is the expiry, then up to a scan, then up to a rebalance.",
    "The wait after silence is the expiry plus a scan plus a rebalance, and that counts from the last heartbeat.",
)
def test_the_worst_case(silent):
    for one in silent:
        assert one.by_scan
        assert 120_000 < one.noticed - one.last_heard <= 130_000
        assert 0 < one.taken_over - one.noticed <= 20_000
        assert one.taken_over - one.noticed < one.noticed - one.last_heard


def test_what_the_article_does_not_print_is_not_counted(silent):
    table = heartbeat_tables.article(silent)
    assert table.caption.endswith(": 6 of 6 equal; not printed there and not counted: 2")
    assert [row[-1] for row in table.rows if row[1] == NOT_PRINTED] == ["", ""]


@pytest.mark.claim("Netty closes a connection on which nothing has moved for as long as the expiry, and that is told.")
def test_an_idle_connection():
    one = Disappearance(at_ms=34_402, uptime_ms=9_325, second_ms=2_067).run()
    assert not one.by_scan
    assert one.told


@pytest.mark.claim(
    "A producer has no packet of its own: one client sends one packet for all its producers and consumers.",
    "it carries every subscription with its version.",
    "A producer has only its name to tell.",
    "No heartbeat goes to the name server: clients ask it for routes.",
    "The broker registers there, in the same rhythm, and is forgotten there after the same silence.",
)
def test_who_beats_whom():
    traffic = beat_traffic()
    assert {who: groups for who, *groups in traffic.packets} == {"A": [1, 1], "P": [0, 2]}
    (consumer,) = traffic.packet["consumerDataSet"]
    assert all(one["subVersion"] for one in consumer["subscriptionDataSet"])
    assert {name for producer in traffic.packet["producerDataSet"] for name in producer} == {"groupName"}
    at_name_server = {code for sender, far, code in traffic.requests if far == "name server" and sender in "AP"}
    assert at_name_server == {int(RequestCode.GET_ROUTEINFO_BY_TOPIC)}
    assert BrokerConfig().register_name_server_period == ClientConfig().heartbeat_broker_interval
    assert BROKER_CHANNEL_EXPIRED_TIME == RULES["4.8.0"].channel_expired_ms


@pytest.mark.claim("The broker tells members that something changed (notification); it divides nothing.")
def test_a_notification_has_no_queues():
    from rmqlab.protocol.consumer_headers import NotifyConsumerIdsChangedRequestHeader

    assert set(NotifyConsumerIdsChangedRequestHeader.__struct_fields__) == {"consumer_group"}


@pytest.mark.claim(
    "A changed tag tells nobody. The table of the group says something else from then on, and no member hears of it.",
    "A topic that comes is told at once, for the client beats at once.",
    "A topic that goes is told with the client's next heartbeat, up to half a minute later.",
    "Neither does a changed tag.",
    "Some causes change a group (its slot in the broker, or who owns a queue), and no member is told at once.",
    "Another tag is neither.",
    "And the scan that forgets a silent client has no event at all.",
    "The broker tells members when a member or a topic comes or goes, if its flag allows it.",
    "A client that drops a topic says so with its next heartbeat, not before.",
)
def test_who_is_told(told):
    assert list(told) == [cause.name for cause in CAUSES]
    tag = told["A subscribes another tag"]
    assert (tag.told, tag.slot_changed) == ([], True)
    assert told["A subscribes a third topic"].at_once == ["A", "B"]
    goes = told["A unsubscribes a topic"]
    assert goes.at_once == []
    assert 1_000 < goes.told[0][1] <= 30_000 + QUICK_MS
    silent = told["A falls silent"]
    assert silent.told == []
    assert silent.rebalanced_ms > 90_000
    assert told["a member joins"].at_once == ["A", "B", "C"]
    assert told["a member joins, notifyConsumerIdsChangedEnable=false"].told == []
    assert told["A stops in good order"].at_once == told["A's connection breaks"].at_once == ["B"]
    quiet = [name for name, one in told.items() if not one.at_once and (one.slot_changed or one.rebalanced_ms)]
    assert len(quiet) == 4


@pytest.mark.claim(
    "And while the members do not agree about their topics, each heartbeat of one side undoes what the other side's has written.",
    "Both are told each time, again and again.",
)
def test_topics_that_differ():
    def start(who, at, *topics):
        subscribe = {topic: {"type": "TAG", "expr": "a"} for topic in topics}
        return {"at": at, "do": "start", "who": who, "group": "G", "subscribe": subscribe}

    steps = [start("A", 0, "T", "U"), start("B", 9_000, "T"), {"at": 200_000, "do": "alloc"}]
    run = simulate(convert_scenario({"id": "topics", "topics": {"T": 4, "U": 4}, "steps": steps}, "topics"))
    reading = RunView(run, "G", "U")
    later = reading.zero + 20_000
    beats = [fact for fact in run.facts.of("heartbeat") if fact.source == "broker" and later < fact.t < later + 170_000]
    beats = [fact for fact in beats if fact["client"] in {"A", "B"}]
    for before, after in pairwise(beats):
        changes = [fact for fact in run.facts.of("subscription") if fact.t == after.t and fact["topic"] == "U"]
        if before["client"] != after["client"]:
            assert [(fact["new"] is None) for fact in changes] == [after["client"] == "B"]
            assert {fact["client"] for fact in run.facts.of("notify") if fact.t == after.t} == {"A", "B"}
    assert len({one["client"] for one in beats}) == 2


@pytest.mark.claim(
    "The article adds that messages are filtered twice, since hashes collide.",
    "counts what this group would receive of it, as its subscriptions stand: a quarter.",
    "Afterwards both say zero, and three quarters are gone.",
    "The flips were there before the messages came.",
    "And the age of the oldest heartbeat is above the period for more than a minute before the scan: a member is silent.",
    "Lag zero means that nothing waits.",
)
def test_gauges(story):
    at = {round((one.t - story.begin) / 1_000): one.groups[0] for one in story.samples}
    assert (at[30].raw_lag, at[30].filtered_lag) == (40, 10)
    assert sum(fate.fate is Fate.DELIVERED for fate in story.run.fates) == 10
    assert (at[90].raw_lag, at[90].filtered_lag) == (0, 0)
    assert sum(fate.lost for fate in story.run.fates) == 30
    assert sum(at[24].flips.values()) > 0
    first_sent = min(event["t"] for event in story.run.events if event["ev"] == "sent") - story.begin
    assert first_sent > 24_000
    assert all(len(at[second].members) == 2 and at[second].age_ms > 30_000 for second in range(125, 190))


@pytest.mark.claim(
    "Some are refused, and clients that live are forgotten.",
    "In a pool of their own they lose nothing.",
    "But such a pool does not help when the heartbeats alone are too many: in the last line a third of the clients is forgotten.",
    "4.8.0 has split half of it: a pool of threads for heartbeats alone, with a queue of its own, but the same port.",
)
def test_pools():
    busy = {"other_per_s": 1_000, "other_ms": 5.0}
    own, shared = HeartbeatLoad(**busy).run(), HeartbeatLoad(**busy, own_pool=False).run()
    assert (own.refused, own.forgotten) == (0, 0)
    assert shared.longest_wait_ms > 1_000
    assert shared.refused > 0
    assert shared.forgotten > 0
    many = HeartbeatLoad(clients=100_000, work_ms=2.0, minutes=4).run()
    assert many.forgotten / 100_000 == pytest.approx(1 / 3, abs=0.03)


@pytest.mark.claim(
    "A beats every 30 s, at 31 s, 61 s and so on; it disappears at 45 s unless the name says otherwise.",
    "Only a closed connection is noticed at once.",
    "A pause counts from the last heartbeat before it, and ends with a heartbeat that was due long ago.",
    "Three lost beats leave the last one at most 120 s old when the fourth arrives, and the scan wants more.",
)
def test_goings(found):
    sent = [t - found["machine gone"].moment + 45_000 for t in found["beats get lost"].sent]
    assert {round(t / 1_000) for t in sent if t > 5_000} >= {31, 61, 91}
    assert [way for way in found if found[way].noticed and not found[way].by_scan] == [
        "process killed",
        "connection cut",
    ]
    assert [found[way].by_scan or found[way].noticed is None for way in SILENT_WAYS] == [True] * 4
    three = Disappearance(**GOINGS["three beats lost"]).run()
    assert three.noticed is None
    gaps = [later - earlier for earlier, later in pairwise(three.heard)]
    assert max(gaps) == pytest.approx(120_000, abs=QUICK_MS)
    pause = Disappearance(**GOINGS["pause of 100 s, 5 s after a beat"]).run()
    assert min(t for t in pause.heard if t > pause.moment) - (pause.moment + 100_000) < QUICK_MS


@pytest.mark.claim(
    "The worst case is the sum of expiry, scan and rebalance.",
    "Two lost beats leave the last one three periods old, so the expiry must be longer than that.",
    "Ten times as many beats are the price.",
    "In 4.8.0 only the beat and the rebalance can be set; expiry and scan are constants.",
)
def test_periods():
    beat_s, expiry_s, scan_s, rebalance_s = 3, 10, 2, 5  # the solution's
    assert expiry_s + scan_s + rebalance_s <= WITHIN_S
    assert (LOST_IN_A_ROW + 1) * beat_s < expiry_s
    assert CLIENTS / beat_s == pytest.approx(10 * CLIENTS / 30)
    assert ClientConfig(heartbeat_broker_interval=3_000, rebalance_wait_interval=5_000) != ClientConfig()
    assert not [name for name in dir(BrokerConfig) if "expired" in name or "scan_not_active" in name]
