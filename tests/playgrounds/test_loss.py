"""The page "the loss": what it shows is the run in its link, whatever was changed in the state."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.lab import Lab
from rmqlab.run.fates import Fate
from rmqlab_tools.show.link import Link, digest


@pytest.fixture(scope="module")
def loss(lab):
    return lab("loss")


def lost(shown):
    """The messages that are lost in the run of the link."""
    bodies = [fate.body for fate in Link.read(shown["link"]).run().fates if fate.lost]
    assert len(bodies) == shown["lost"]
    return bodies


def test_the_eight_messages_lose_six_and_the_two_remedies_lose_none(loss):
    assert len(lost(loss.show(loss.example("loss")))) == 6
    assert lost(loss.show(loss.example("same"))) == []
    both = loss.show(loss.example("groups"))
    assert lost(both) == []
    assert both["groups"] == ["G1", "G2"]
    assert both["sent"] == 16  # each group has a fate for each message


def test_the_loss_comes_when_the_second_member_does(loss):
    counts = []
    for at_s in (59, 60, 61):
        state = loss.example("loss")
        state["scenario"]["steps"][2]["at"] = at_s * 1_000
        counts.append(len(lost(loss.show(state))))
    assert counts == [2, 4, 6]


def test_the_link_of_what_is_shown_gives_its_bytes(loss):
    for more in ({}, {"seed": 3}):
        shown = loss.show(loss.example("loss") | more)
        assert digest(Link.read(shown["link"]).run()) == shown["digest"]
        again = loss.show(loss.read(shown["link"]))
        assert (again["link"], again["digest"]) == (shown["link"], shown["digest"])


def test_an_outcome_of_every_order_is_replayed_with_what_is_unusual_in_it(loss):
    told = []
    state = loss.example("loss")
    found = loss.orders(state, 40, told.append)
    assert told
    assert sum(outcome["share"] for outcome in found["outcomes"]) == pytest.approx(1)
    unusual = next(outcome for outcome in found["outcomes"] if len(outcome["schedule"]["choices"]) > 1)
    shown = loss.show(state | {"schedule": unusual["schedule"]})
    assert lost(shown) == unusual["lost"]
    assert "Another order than the usual" in " ".join(shown["films"]["G"]["steps"])
    assert digest(Link.read(shown["link"]).run()) == shown["digest"]


def test_each_group_has_its_film(loss):
    assert list(loss.show(loss.example("loss"))["films"]) == ["G"]
    films = loss.show(loss.example("groups"))["films"]
    assert list(films) == ["G1", "G2"]
    assert all(len(film["steps"]) == len(film["data"]["frames"]) for film in films.values())
    assert "A starts and asks for tagA." in films["G1"]["steps"][1]
    assert films["G2"]["data"]["members"] == ["B"]


def test_a_run_too_long_for_a_film_is_shown_without(loss):
    state = loss.example("loss")
    state["scenario"]["steps"][2]["messages"] *= 40
    film = loss.show(state)["films"]["G"]
    assert "nobody watches more than 600" in film["problem"]


def test_a_step_that_was_moved_comes_at_its_new_place_and_the_end_moves_with_it(loss):
    state = loss.example("loss")
    state["scenario"]["steps"][0]["at"] = 200_000
    steps = loss.show(state)["state"]["scenario"]["steps"]
    assert [step["do"] for step in steps] == ["start", "send", "start", "alloc", "offsets"]
    assert steps[-1]["at"] == 230_000


def test_a_scenario_of_a_lab_opens_here(loss):
    cluster = Lab(topics={"T": 2})
    cluster.consumer("A", group="G", sql92={"T": "a > 3"})
    cluster.run(seconds=40)
    cluster.send("T", bodies=["five", "one"], properties=[{"a": "5"}, {"a": "1"}])
    shown = loss.show(loss.read(Link(cluster.scenario()).text()))
    fates = Link.read(shown["link"]).run().fates
    assert [fate.fate for fate in fates] == [Fate.DELIVERED, Fate.DROPPED_BY_BROKER_SQL]
    assert (shown["sent"], shown["arrived"]) == (2, 1)


@pytest.mark.parametrize("more_s", [30, 90])
def test_the_link_of_a_lab_opens_to_its_own_events(loss, more_s):
    cluster = Lab(topics={"T": 4})
    cluster.consumer("A", group="G", subscribe={"T": "tagA"})
    cluster.run(seconds=60)
    cluster.send("T", ["tagA", "tagB"])
    cluster.run(seconds=more_s)
    link = cluster.link()
    shown = loss.show(loss.read(link))
    assert shown["digest"] == digest(cluster.finish().run)
    assert shown["link"] == link


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda steps: steps[1].update(who="A"), "who runs already"),
        (lambda steps: steps[1].update(group=""), "group is empty"),
        (lambda steps: steps[2]["messages"].append({"body": "x", "queue": 9}), "queues 0..3"),
        (lambda steps: steps.__delitem__(slice(0, 2)), "no consumer starts"),
        (lambda steps: steps[0].update(at="soon"), "at"),
    ],
)
def test_what_cannot_be_run_is_told(loss, change, told):
    state = loss.example("loss")
    change(state["scenario"]["steps"])
    with pytest.raises(BadInput, match=told):
        loss.show(state)


def test_the_version_of_a_state_runs_and_stands_in_its_link(loss):
    """A queue that became B's waits half a second for its first pull in 5.x."""
    digests = {}
    for version in loss.versions():
        shown = loss.show(loss.example("loss") | {"version": version})
        assert Link.read(shown["link"]).version == version
        digests[version] = shown["digest"]
    assert digests["4.8.0"] != digests["5.3.3"] == digests["5.5.0"]
    assert loss.show(loss.example("loss"))["digest"] == digests["4.8.0"]
