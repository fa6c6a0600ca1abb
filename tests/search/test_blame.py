"""Blame in words: every kind of choice has a sentence, and the slot's holder is named."""

from __future__ import annotations

import pytest

from rmqlab.scenario.schedule import Choice
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.explanation import blame, deviation, move
from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.search.explorer.timings import LATE_TIMING
from tests.search.explored_models import TWO_ON_TWO_QUEUES, model, start


@pytest.mark.parametrize(
    ("label", "taken", "words"),
    [
        ("delay A c2s 34", 3, "A's HEART_BEAT takes 10 ms instead of 1"),
        ("delay A s2c 40", 4, "the broker's NOTIFY_CONSUMER_IDS_CHANGED to A takes 40 ms instead of 1"),
        ("delay A s2c 0", 1, "the broker's answer (SUCCESS) to A takes 0.2 ms instead of 1"),
        ("wake 127.0.0.1:10911", 2, "the broker begins woken work after 10 ms"),
        ("broker uptime", 1, "the broker has been up for 0.1 s, which sets the phase of its timers"),
        ("A: consume", 2, "A's listener takes 4 ms"),
        ("B: shutdown", 1, "B's shutdown takes 10 ms"),
        ("P: first_queue", 1, "P: first_queue: option 1 of 0..7"),
        ("A>34 | B<re 38 | step", 2,
         "the next step of the scenario before A's HEART_BEAT and the answer to B's GET_CONSUMER_LIST_BY_GROUP"),
        ("A>re 307 | wake-up | time", 1,
         "the pulls that the broker has woken before A's answer to GET_CONSUMER_RUNNING_INFO"),
        ("A<40 | time", 1, "a timer before NOTIFY_CONSUMER_IDS_CHANGED to A"),
        ("thread B 38", 3, "B's thread goes on 80 ms late (has the answer to GET_CONSUMER_LIST_BY_GROUP)"),
        ("thread B RebalanceService", 1, "B's thread goes on 2 ms late (RebalanceService)"),
        ("reput 127.0.0.1:10911", 2, "the reput thread comes 20 ms after the message"),
        ("B: start", 4, "B takes 350 ms to start"),
        ("P>310 | reput", 1, "the reput thread before P's SEND_MESSAGE_V2"),
        ("A>11 | A's thread 34", 1, "A's thread (has the answer to HEART_BEAT) before A's PULL_MESSAGE"),
        ("A>goodbye | B>11", 1, "B's PULL_MESSAGE before A's goodbye"),
        ("A>11 | fault kill B", 1, "the end of B before A's PULL_MESSAGE"),
        ("fault restartBroker | A>11", 1, "A's PULL_MESSAGE before the broker's restart"),
        ("moment of kill B at 6000", 5,
         "the end of B comes 5/7 into its span, which begins at 6000 ms of the scenario"),
        ("moment of restartBroker at 10", 7,
         "the broker's restart comes at the end of its span, which begins at 10 ms of the scenario"),
    ],
)  # fmt: skip
def test_a_deviation_in_words(label, taken, words):
    assert deviation(Choice(0, label, 8, taken), LATE_TIMING) == words


def test_what_is_no_move_is_told_as_it_is():
    assert move("something") == "something"
    assert move("A>9999") == "A's request 9999"


@pytest.mark.row("S-84")
def test_the_slot_is_named_with_its_stamps():
    assert blame(simulate(TWO_ON_TWO_QUEUES))[-1].startswith("G, T: stamped by ")
    explored = Explorer(TWO_ON_TWO_QUEUES, budget=12, samples=2).explore()
    for found in explored.outcomes:
        *_, last = found.blame()
        holder = "b" if found.outcome.bodies_of("B") else "a"
        assert last.endswith(f"the broker held {holder.upper()}'s ({holder})")


@pytest.mark.row("H-42")
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"do": "kill", "who": "B"}, ["B was killed at 6000 ms", "off at once", "A held T's queues 0, 1 from 60"]),
        ({"do": "cut", "who": "A"}, ["connection of A was cut", "B held T's queues 0, 1", "A was a member again 16"]),
        ({"do": "kill", "who": "B", "silent": True}, ["B was killed at 6000 ms; the broker kept it as a member"]),
        ({"do": "loseHeartbeat", "who": "B"}, ["heartbeats of B got lost (1) at 6000 ms; the broker kept it"]),
        ({"do": "freeze", "who": "A", "forMs": 5000}, ["the link of A froze at 6000 ms; the broker kept it"]),
        ({"do": "clock", "who": "A", "byMs": -5}, ["the clock of A was moved by -5 ms at 6000 ms"]),
        ({"do": "restartBroker", "downMs": 2500},
         ["down from 6000 ms on until 8500 ms", "A was a member again at", "failed: RemotingConnectException"]),
        ({"do": "namesrvDown"}, ["name server down at 6000 ms"]),
    ],
    ids=lambda value: value.get("do") if isinstance(value, dict) else "",
)  # fmt: skip
def test_faults_are_to_blame_by_what_the_broker_made_of_them(fault, said):
    run = simulate(model(2, start("A", 0, "a"), start("B", 2_000, "b"), {"at": 6_000, **fault}))
    lines = " / ".join(blame(run))
    for text in said:
        assert text in lines


@pytest.mark.row("H-40", "H-41", "H-42")
def test_silence_is_blamed_when_the_broker_s_scan_strikes_somebody_off():
    run = simulate(
        model(1, start("A", 0, "a"), start("B", 2_000, "a"), {"at": 6_000, "do": "kill", "who": "A", "silent": True},
              end=170_000)
    )  # fmt: skip
    (line,) = [line for line in blame(run) if line.startswith("A was killed")]
    assert "ms later, for its heartbeats had stopped; B held T's queues 0 from " in line
