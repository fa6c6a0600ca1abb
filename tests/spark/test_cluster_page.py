"""What docs/how-to/cluster.md says of times is what was measured; its code is run by the test of the pages' code."""

from __future__ import annotations

import json
import re

import pytest

from rmqlab.checkout import ROOT

FIGURE = r"([\d.]+)"
ROW = re.compile(
    rf"^\| (?P<place>[^|]+) \| {FIGURE} \| {FIGURE} \| {FIGURE} \| {FIGURE} \({FIGURE} to {FIGURE}\) \|$", re.MULTILINE
)
PLACES = {
    "one core of this machine": "local, 1 core",
    "cluster of two workers": "cluster, 2 workers",
    "Spark Connect, two cores": "Connect, 2 cores",
}


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs" / "how-to" / "cluster.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def measured():
    return json.loads((ROOT / "data" / "cluster" / "times.json").read_text(encoding="utf-8"))


def test_the_table_has_the_measured_times(page, measured):
    places = {place["name"]: place for place in measured["places"]}
    rows = {row["place"]: [float(figure) for figure in row.groups()[1:]] for row in ROW.finditer(page)}
    assert rows.keys() == PLACES.keys()
    for words, figures in rows.items():
        place = places[PLACES[words]]
        bounds = [place["data"] * (1 - place["swing"]), place["data"] * (1 + place["swing"])]
        wanted = [*(place[part] for part in ("session", "first", "again", "data")), *bounds]
        assert figures == pytest.approx(wanted, abs=0.006), words
    assert max(row[4] for row in rows.values()) < min(row[5] for row in rows.values())  # the ranges overlap
    assert min(rows, key=lambda words: rows[words][0]) == "Spark Connect, two cores"
    assert f"{measured['bytes'] / 2**30:.2f} GiB" in page


def test_the_start_is_paid_for_each_worker(page, measured):
    alone, cluster, _ = (round(place["session"] + place["first"]) for place in measured["places"])
    assert f"A cluster pays the start for each worker: {cluster} s, against {alone} s on one core." in page
    assert all(place["data"] < min(place["session"], place["first"]) for place in measured["places"])


def test_every_place_gave_the_same_answer(page, measured):
    assert {tuple(answer[-3:]) for answer in measured["answers"]} == {(340, 279, "29bf377e")}
    assert "279 of 340 lost, at both addresses" in page
