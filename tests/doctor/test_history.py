"""Several looks together: flips of a slot, silence of a member."""

from __future__ import annotations

from dataclasses import replace

from rmqlab_tools.doctor.history import SnapshotHistory
from tests.doctor.conftest import NOW, M, look

MEMBERS = [M("A", {"T": "tagA"}), M("B", {"T": "tagB"})]


def test_flips_are_what_the_slot_says_and_not_its_stamp():
    history = SnapshotHistory()
    for number, holder in enumerate(["A", "B", "B", "A"]):
        history.saw(look(MEMBERS, at=NOW + number * 20_000, slot=holder))
    assert history.flips("G", "T") == (2, 4, 2.0)
    assert history.flips("G", "other") == (0, 4, 0.0)


def test_one_look_knows_no_rate():
    history = SnapshotHistory()
    history.saw(look(MEMBERS))
    assert history.flips("G", "T") == (0, 1, None)


def test_flips_older_than_ten_minutes_are_forgotten():
    history = SnapshotHistory()
    for number, holder in enumerate(["A", "B"]):
        history.saw(look(MEMBERS, at=NOW + number * 10_000, slot=holder))
    history.saw(look(MEMBERS, at=NOW + 700_000, slot="B"))
    assert history.flips("G", "T").seen == 0


def test_a_member_that_falls_silent_keeps_the_time_of_its_last_answer():
    history = SnapshotHistory()

    def silence(members, at):
        seen = look(members, at=at)
        history.saw(seen)
        return history.silent_s(seen.groups["G"], at)

    silent = replace(MEMBERS[0], silent=True)
    assert silence([silent], NOW) is None, "it never answered"
    assert silence(MEMBERS, NOW + 1_005) == 1
    assert silence([silent], NOW + 30_005) == 30
    assert silence(MEMBERS[1:], NOW + 60_005) == 60
    assert silence([silent], NOW + 90_005) is None, "who is not listed is forgotten"
