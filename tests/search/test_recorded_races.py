"""Who won when two real consumers met."""

from __future__ import annotations

import json

import pytest

from tests.search.recorded_races import SETS, recorded_races


@pytest.mark.row("S-84")
def test_the_last_one_usually_wins_and_not_always():
    races = recorded_races()
    last = sum(race.won_by_last for race in races)
    assert (len(races), last) == (37, 31)
    assert {race.gap_ms for race in races if not race.won_by_last} == {0, 200, 2_000, 3_000}


def test_in_one_recording_the_slot_flipped_while_messages_came():
    races = recorded_races(*SETS)
    assert len(races) == 74
    assert [race.scenario for race in races if race.winner is None] == ["h-loss-013"]


@pytest.mark.row("S-32", "S-84")
def test_the_articles_own_order_was_recorded_with_the_first_one_as_winner():
    (race,) = [race for race in recorded_races() if race.scenario == "p-article-000"]
    assert (race.first, race.last, race.winner) == ("A", "B", "A")


def test_only_plain_races_count(golden):
    lines = (golden / "broker-4.8.0" / "base" / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()
    scenarios = {one["id"]: one for one in map(json.loads, lines)}
    for race in recorded_races():
        starts = [step for step in scenarios[race.scenario]["steps"] if step["do"] == "start"]
        assert [start["who"] for start in starts] == [race.first, race.last]
        assert starts[1]["at"] - starts[0]["at"] == race.gap_ms
    assert not [race for race in recorded_races() if race.scenario.startswith(("p-post", "p-bcast", "p-overlap"))]
