"""The page of the three articles: every place has one anchor, named alike, and what it counts is so."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict

PLACE = re.compile(r'^\| <a id="([a-z0-9-]+)"></a>([SFH] [\d.]+) \| ([^|]+) \| ([^|]+) \|$', re.MULTILINE)


def test_every_place_has_its_anchor_and_a_translation(root):
    page = (root / "data" / "articles" / "README.md").read_text(encoding="utf-8")
    places = PLACE.findall(page)
    assert len(places) == page.count("<a id=")
    anchors = [anchor for anchor, *_ in places]
    assert len(set(anchors)) == len(anchors)
    assert Counter(anchor[0] for anchor in anchors) == {"s": 20, "f": 28, "h": 13}
    for anchor, place, heading, english in places:
        assert anchor == place.lower().replace(" ", "-").replace(".", "-")
        assert place[0] != "F" or heading.startswith(place[2:])
        assert english.isascii()


def test_the_recordings_that_the_page_counts(root):
    page = (root / "data" / "articles" / "README.md").read_text(encoding="utf-8")
    received = defaultdict(int)
    for name in ("base", "base-2"):
        folder = root / "data" / "golden" / "broker-4.8.0" / name
        for line in (folder / "scenarios.jsonl").read_text(encoding="utf-8").splitlines():
            scenario = json.loads(line)["id"]
            if scenario.split("-")[1] in {"article", "loss"}:
                received[scenario] = 0
        with gzip.open(folder / "events.jsonl.gz", "rt", encoding="utf-8") as events:
            for event in map(json.loads, events):
                received[event["id"]] += event["ev"] == "consume" and event["id"] in received
    counts = Counter(count for scenario, count in received.items() if "article" in scenario or "loss" in scenario)
    assert counts == {2: 73, 3: 1}
    assert received["h-loss-013"] == 3
    assert "two of eight in 73 recordings" in page
    lines = sum(len(path.read_bytes().splitlines()) for path in (root / "data/golden/vectors").glob("*.jsonl"))
    assert f"({lines:,} lines in `golden/vectors`)" in page
