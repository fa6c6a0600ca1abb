"""Faults as steps: what each one does to clients, broker and messages; and what is wrong with a step, by name."""

from __future__ import annotations

import json

import pytest

from rmqlab.errors import BadInput
from rmqlab.events import Expired, Heartbeat, HeartbeatSent, Notify, Rebalance, Register, Unregister
from rmqlab.run.fates import Fate
from rmqlab.scenario.scenario import parse_scenario
from rmqlab.scenario.schedule import Schedule, ScheduledChooser
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.search.explorer.timings import RACE_TIMING, RaceChooser
from tests.proof.fixed_chooser import FixedChooser

SETTLE = 2_504  # ms: what lies before the first step


def start(who, at=0, **more):
    return {"at": at, "do": "start", "who": who, "group": "G", "subscribe": {"T": {"type": "TAG", "expr": "*"}}, **more}


def send(at, *bodies, **more):
    return {"at": at, "do": "send", "topic": "T", "messages": [{"body": body, **more} for body in bodies]}


def fault(do, at=5_000, **more):
    return {"at": at, "do": do, **more}


def scenario(*steps, last=200_000, queues=4):
    steps = [start("A"), start("B", 1_000), *steps]
    looks = [{"at": last, "do": "alloc"}, {"at": last, "do": "offsets"}]
    return parse_scenario(json.dumps({"id": "x", "topics": {"T": queues}, "steps": [*steps, *looks]}))


def run(*steps, **settings):
    keys = {key: settings.pop(key) for key in ("last", "queues") if key in settings}
    return simulate(scenario(*steps, **keys), **settings)


def moments(result, kind, **fields):
    return [
        event["t"] - SETTLE
        for event in result.events
        if event["ev"] == kind and all(event.get(name) == value for name, value in fields.items())
    ]


def consumed(result, body):
    return [
        (event["who"], event["t"] - SETTLE)
        for event in result.events
        if event.get("body") == body and event["ev"] == "consume"
    ]


def of_group(result, kind):
    return [fact for fact in result.facts.of(kind) if fact.event.group == "G"]


def took_over(result, who, count):
    return next(fact.t for fact in result.facts.of(Rebalance) if fact.source == who and len(fact.event.queues) == count)


def owned(result):
    return {event["who"]: event["queues"].get("T", []) for event in result.events if event["ev"] == "alloc"}


@pytest.mark.row("H-44", "H-29")
def test_a_killed_process_is_noticed_at_once_for_the_operating_system_closes_its_connections():
    result = run(fault("kill", who="A"))
    [notice] = [fact for fact in result.facts.of(Notify) if fact.t > SETTLE + 4_900]
    assert notice.t - SETTLE == 5_000
    assert took_over(result, "B", 4) - notice.t < 20
    assert owned(result) == {"B": [0, 1, 2, 3]}


@pytest.mark.row("H-41", "H-42", "H-43", "H-47", "H-48")
def test_a_machine_that_vanishes_is_found_by_the_scan_and_nobody_is_told():
    result = run(fault("kill", who="A", silent=True), send(40_000, "m", queue=0))
    [gone] = of_group(result, Expired)
    last_beat = max(fact.t for fact in result.facts.of(Heartbeat) if fact.event.client == "A")
    assert gone.event.client == "A"
    assert 120_000 < gone.t - last_beat <= 130_000
    assert not [fact for fact in result.facts.of(Notify) if fact.t > SETTLE + 2_000]
    assert 0 < took_over(result, "B", 4) - gone.t <= 20_000
    [(who, t)] = consumed(result, "m")
    assert who == "B"
    assert t > 100_000


@pytest.mark.row("H-39", "H-51")
def test_pulls_refresh_nothing_a_client_whose_heartbeats_get_lost_is_forgotten_while_it_consumes():
    result = run(fault("loseHeartbeat", who="A", times=5), send(100_000, "m", queue=0))
    [gone] = of_group(result, Expired)
    assert gone.event.client == "A"
    assert consumed(result, "m")[0][0] == "A"
    # the sixth beat, on a new connection, makes it known again
    back = [fact.t for fact in of_group(result, Register) if fact.event.client == "A" and fact.t > gone.t]
    assert len(back) == 1
    assert owned(result) == {"A": [0, 1], "B": [2, 3]}


@pytest.mark.row("H-22")
def test_a_lost_heartbeat_costs_its_client_three_seconds():
    result = run(fault("loseHeartbeat", who="A"), last=70_000)
    sent = [fact.t for fact in result.facts.of(HeartbeatSent) if fact.source == "A"]
    heard = [fact.t for fact in result.facts.of(Heartbeat) if fact.event.client == "A"]
    assert len(sent) == len(heard) + 1
    # the lock of the heartbeats is held meanwhile, and the next beat comes in its turn
    assert [round(t - SETTLE, -3) for t in sent if t > SETTLE + 2_000] == [31_000, 61_000]


def test_a_pause_short_enough_costs_time_and_nothing_else():
    result = run(fault("pause", who="A", forMs=60_000), send(12_000, "m", queue=0), send(20_000, "n", queue=3))
    [(who, t)] = consumed(result, "m")
    assert who == "A"
    assert 65_000 <= t < 65_010
    assert consumed(result, "n")[0][0] == "B"
    assert not of_group(result, Expired)
    beats = [
        round(fact.t - SETTLE)
        for fact in result.facts.of(HeartbeatSent)
        if fact.source == "A" and fact.t > SETTLE + 5_000
    ]
    assert 65_000 <= beats[0] < 65_010  # the beats of 31 s and 61 s come late, one after the other
    assert beats[1] < 65_100


def test_a_pause_too_long_gives_the_queues_away_and_what_was_fetched_is_consumed_twice():
    result = run(fault("pause", who="A", forMs=160_000), send(12_000, "m", queue=0))
    first, second = consumed(result, "m")
    assert first[0] == "B"
    assert 126_000 < first[1] < 150_000
    assert second[0] == "A"
    assert second[1] >= 165_000
    assert owned(result) == {"A": [0, 1], "B": [2, 3]}


@pytest.mark.parametrize("timers_first", [0, 1])
def test_a_broker_that_was_paused_too_long_may_find_all_clients_silent(timers_first):
    chooser = FixedChooser({"127.0.0.1:10911: frames or timers first after a pause": timers_first})
    result = run(fault("pause", who="broker", forMs=140_000), chooser=chooser)
    # their heartbeats wait in its sockets: what it looks at first decides
    assert bool([fact for fact in result.facts.of(Expired) if fact.event.group == "G"]) == bool(timers_first)
    assert owned(result) == {"A": [0, 1], "B": [2, 3]}


def test_a_paused_producer_sends_later():
    result = run(fault("pause", who="P", forMs=20_000), send(10_000, "m"))
    [t] = moments(result, "sent")
    assert 25_000 <= t < 25_010


def test_a_slow_link_is_slow_both_ways_and_only_for_its_time():
    result = run(fault("slow", who="A", ms=700, forMs=30_000), send(12_000, "m", queue=0), send(50_000, "n", queue=0))
    [(_, slow)], [(_, fast)] = consumed(result, "m"), consumed(result, "n")
    assert 12_700 < slow < 12_710
    assert 50_000 < fast < 50_010


def test_a_frozen_link_that_comes_back_delivers_what_was_under_way():
    result = run(fault("freeze", who="A", forMs=60_000), send(12_000, "m", queue=0))
    [(who, t)] = consumed(result, "m")
    assert who == "A"
    assert 65_000 <= t < 65_010


@pytest.mark.row("H-41", "H-44")
def test_a_link_frozen_for_good_swallows_frames_and_lets_its_end_pass_as_in_the_recording():
    """The scan closes A's old connection, A notices, makes a new one and is a member again (recorded p-freeze-067)."""
    result = run(fault("freeze", who="A"), send(12_000, "m", queue=0), send(170_000, "n", queue=0), last=200_000)
    views = [event["view"].get("clients", []) for event in result.events if event["ev"] == "broker"]
    sizes = [len(clients) for clients in views]
    assert 1 in sizes[sizes.index(2) :]  # forgotten ...
    assert owned(result) == {"A": [0, 1], "B": [2, 3]}  # ... and back
    [(_, t)] = consumed(result, "m")
    assert t > 120_000
    [(who, _)] = consumed(result, "n")
    assert who == "A"


@pytest.mark.row("H-43")
def test_of_a_machine_that_is_gone_nothing_passes_not_even_its_end():
    result = run(fault("kill", who="A", silent=True), send(12_000, "m", queue=0), last=200_000)
    last = [event["view"]["clients"] for event in result.events if event["ev"] == "broker" and event["t"] < 200_000][-1]
    assert [client.partition("@")[2] for client in last] == ["B"]
    assert consumed(result, "m")[0][0] == "B"


@pytest.mark.row("S-86", "S-87")
def test_a_clock_set_back_makes_a_client_lose_the_slot_and_timers_do_not_notice():
    def change(at, who, expr):
        return {"at": at, "do": "subscribe", "who": who, "topic": "T", "expr": expr}

    usual = run(change(8_000, "A", "a"), change(9_000, "B", "b"), last=20_000)
    back = run(fault("clock", who="B", byMs=-3_600_000), change(8_000, "A", "a"), change(9_000, "B", "b"), last=20_000)

    def slot(result):
        views = [
            event["view"]["subs"]["T"] for event in result.events if event["ev"] == "broker" and event["t"] < 22_000
        ]
        return views[-1].partition("@")[0]

    assert slot(usual) == "TAG:b"
    assert slot(back) == "TAG:a"

    def beats(result):
        return [fact.t for fact in result.facts.of(HeartbeatSent) if fact.source == "B"]

    assert beats(run(fault("clock", who="B", byMs=-3_600_000))) == beats(run())


def test_a_brokers_clock_set_forward_forgets_everybody_at_the_next_scan_and_set_back_it_forgets_nobody():
    forward = run(fault("clock", who="broker", byMs=3_600_000))
    gone = [fact for fact in forward.facts.of(Expired) if fact.event.group == "G"]
    assert {fact.event.client for fact in gone} == {"A", "B"}
    assert max(fact.t for fact in gone) - SETTLE - 5_000 <= 10_000
    back = run(fault("clock", who="broker", byMs=-3_600_000), fault("kill", at=6_000, who="A", silent=True))
    assert not of_group(back, Expired)
    # only the idle connection gives it away: that handler counts by itself
    assert next(fact.event.client for fact in of_group(back, Unregister)) == "A"


def test_a_broker_that_restarts_keeps_messages_and_offsets_and_forgets_its_clients():
    result = run(send(6_000, "m", queue=0), fault("restartBroker", at=13_000, downMs=4_000), send(40_000, "n", queue=0))
    assert moments(result, "control", line="broker up") == [17_000]
    assert next(event["t"] - SETTLE for event in result.events if event.get("view") == {"offline": 206}) == 17_000
    assert len(consumed(result, "m")) == len(consumed(result, "n")) == 1
    offsets = [event["committed"] for event in result.events if event["ev"] == "offset"]
    assert offsets == [2, 0, 0, 0]
    again = [fact for fact in result.facts.of(Register) if fact.event.group == "G" and fact.t > SETTLE + 17_000]
    assert {fact.event.client for fact in again} == {"A", "B"}
    assert max(fact.t for fact in again) - SETTLE < 35_000


def test_after_a_restart_consumers_are_deaf_until_their_old_pulls_time_out():
    result = run(fault("restartBroker", at=13_000, downMs=1_000), send(15_000, "m", queue=0))
    [(who, t)] = consumed(result, "m")
    assert who == "A"
    # 4.8.0 fails no request when the other side closes: the pull waits for its 30 s, the next one 3 s more

    assert 33_000 <= t < 33_050


def test_a_crash_loses_the_offsets_that_were_not_written_and_a_new_owner_consumes_again():
    # the broker writes offsets 10 s after its start, which was 3.7 s before the run, and then every 5 s
    def crash(at, *, crash):
        return [fault("restartBroker", at=at, downMs=500, crash=crash), fault("kill", at=at + 200, who="A")]

    sent = send(9_500, "m", queue=0)
    assert [who for who, _ in consumed(run(sent, *crash(13_000, crash=True)), "m")] == ["A", "B"]
    assert [who for who, _ in consumed(run(sent, *crash(13_000, crash=False)), "m")] == ["A"]
    assert [who for who, _ in consumed(run(sent, *crash(14_000, crash=True)), "m")] == ["A"]


def test_a_name_server_that_is_away_stops_nobody_who_knows_the_route():
    away = run(
        send(3_000, "first"),
        fault("namesrvDown"),
        send(50_000, "m"),
        fault("namesrvUp", at=100_000),
        start("C", 150_000),
        last=190_000,
    )
    assert len(consumed(away, "m")) == 1
    assert owned(away) == {"A": [0, 1], "B": [2], "C": [3]}
    stuck = run(fault("namesrvDown"), start("C", 50_000), last=60_000)
    assert "C" not in owned(stuck)  # without a route it has nothing to pull


def test_a_span_is_a_choice_and_a_schedule_repeats_it():
    steps = [fault("kill", who="A", within=8_000), send(9_000, "m", queue=0)]
    results = [run(*steps, timing=RACE_TIMING, chooser=RaceChooser(seed)) for seed in range(12)]
    found = {moments(one, "control")[0] - moments(one, "starting", who="A")[0] for one in results}
    assert len(found) > 3
    assert all(5_000 <= t <= 13_001 and t % 1_000 < 2 for t in found)
    one = run(*steps, timing=RACE_TIMING, chooser=RaceChooser(3))
    schedule = Schedule.from_json(one.schedule.to_json())
    assert run(*steps, timing=RACE_TIMING, chooser=ScheduledChooser(schedule)).lines() == one.lines()


def test_the_explorer_chooses_the_moment_and_the_order_among_the_frames():
    """A push of one message, and a cut at any of nine moments around it: lost is nothing, twice it may come."""
    text = {
        "id": "cut",
        "topics": {"T": 1},
        "steps": [
            start("A"),
            fault("cut", at=8_000, who="A", within=8),
            send(8_004, "m", queue=0),
            {"at": 60_000, "do": "offsets"},
        ],
    }
    found = Explorer(parse_scenario(json.dumps(text)), budget=600, samples=0).explore()
    assert found.exhausted
    assert found.searched > 9
    assert {outcome.outcome.bodies_of("A")[0] for outcome in found.outcomes} == {"m"}
    assert all(not outcome.lost for outcome in found.outcomes)


def test_fates_of_what_a_paused_group_has_not_got_yet():
    result = run(fault("pause", who="A", forMs=100_000), send(12_000, "m", queue=0), last=30_000)
    assert [fate.fate for fate in result.fates] == [Fate.WAITING]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (fault("kill", who="Z"), "steps[2].who is 'Z', who was not started before; started: A, B"),
        (fault("kill", who="P"), "steps[2].who is 'P', who was not started"),
        (fault("pause", who="A", forMs=0), "steps[2].forMs is 0; it must lie between 1 and 86400000"),
        (fault("pause", who="A"), "a 'pause' step has at, [within], who, forMs"),
        (fault("slow", who="broker", ms=3), "steps[2].who is 'broker', who was not started"),
        (fault("slow", who="A", ms=-1), "steps[2].ms is -1"),
        (fault("clock", who="A", byMs=0), "steps[2].byMs is 0; give 1 to 86400000, or as much below 0"),
        (fault("loseHeartbeat", who="A", times=0), "steps[2].times is 0; it must lie between 1"),
        (fault("cut", who="A", within=-1), "steps[2].within is -1"),
        (fault("cut", who="A", within=900_000), "steps[2].within ends at 905000 ms, after the last step"),
        (fault("restartBroker", downMs=0), "steps[2].downMs is 0"),
        (fault("namesrvUp"), "steps[2]: the name server is up already"),
        (fault("earthquake"), '"do" is one of start, stop, subscribe, send'),
    ],
)
def test_what_is_wrong_with_a_fault_is_named(step, words):
    with pytest.raises(BadInput) as error:
        scenario(step)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (
            fault("kill", who="A"),
            {"at": 6_000, "do": "stop", "who": "A"},
            "steps[3].who is 'A', who was stopped before",
        ),
        (fault("kill", who="A", within=9_000), start("A", 6_000), "steps[3].at is 6000, but 'A' may live until 14000"),
        (fault("namesrvDown"), fault("namesrvDown", at=6_000), "steps[3]: the name server is down already"),
        (
            fault("restartBroker", downMs=9_000),
            fault("restartBroker", at=6_000, downMs=1),
            "the broker is down until 14000",
        ),
    ],
)
def test_faults_that_do_not_go_together(first, second, words):
    with pytest.raises(BadInput) as error:
        scenario(first, second)
    assert words in str(error.value)


def test_who_was_killed_may_start_again():
    result = run(fault("kill", who="A"), start("A", 9_000), last=20_000)
    assert owned(result) == {"A": [0, 1], "B": [2, 3]}
