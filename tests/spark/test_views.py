"""Events as Parquet and the views over them: on the eight messages, on simulated runs, on recordings."""

from __future__ import annotations

import gzip
import json
from itertools import islice

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.run.fates import Fate
from rmqlab_tools.cli.cli import main
from rmqlab_tools.course.articles.eight_messages import EightMessages
from rmqlab_tools.recordings.recording_reader import read_runs

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from rmqlab_tools.spark.events import EVENT_TABLES, EVENT_VIEWS, view_sql, views, write_events, write_merged


@pytest.fixture(scope="module")
def eight():
    return EightMessages().run()


@pytest.fixture(scope="module")
def found(spark, eight, golden, tmp_path_factory):
    """The views over the eight messages, simulated and recorded, and over other recorded scenarios; by name."""
    folder = tmp_path_factory.mktemp("events")
    recorded = list(read_runs(golden / "broker-4.8.0" / "base"))
    counts = write_events([eight, *recorded], folder)
    assert counts["fates"] == len(eight.fates) + sum(len(one.fates) for one in recorded)
    frames = views(spark, folder)
    return {name: [row.asDict() for row in frames[name].collect()] for name in EVENT_VIEWS} | {"accounts": recorded}


def of(rows, name):
    return [row for row in rows if row["id"] == name]


@pytest.mark.parametrize("name", ["eight-messages", "p-article-000"])
def test_funnel_of_the_eight_messages(found, name):
    """Simulated and recorded: eight are sent, four pass the broker, two the client."""
    funnel = [(row["stage"], row["passed"], row["stopped"]) for row in of(found["funnel"], name)]
    assert funnel == [("sent", 8, 0), ("layer 1", 4, 4), ("layer 2", 4, 0), ("client", 2, 2), ("delivered", 2, 0)]


def test_what_nobody_looked_at_passes_no_filter_of_the_funnel(spark, tmp_path):
    """B gets a queue of a topic that it does not ask for, so nobody pulls it."""
    lab = rmqlab.Lab(topics={"Orders": 2, "Pay": 2})
    lab.consumer("A", group="G", subscribe={"Orders": "a", "Pay": "*"})
    lab.run(seconds=35)
    lab.consumer("B", group="G", subscribe={"Orders": "a"})
    lab.run(seconds=35)
    lab.send("Pay", ["x", "x"])
    lab.run(seconds=60)
    assert {fate.fate for fate in lab.fates()} == {"delivered", "no_owner"}
    write_events([lab.finish().run], tmp_path)
    rows = [row for row in views(spark, tmp_path)["funnel"].collect() if row["topic"] == "Pay"]
    assert [(row["stage"], row["passed"], row["stopped"]) for row in rows] == [
        ("sent", 1, 1), ("layer 1", 1, 0), ("layer 2", 1, 0), ("client", 1, 0), ("delivered", 1, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["eight-messages", "p-article-000"])
def test_ledger_names_the_six_lost_messages_and_who_dropped_them(found, name):
    losses = of(found["losses"], name)
    bodies = {stage: [row["body"] for row in losses if row["stage"] == stage] for stage in ("layer 1", "client")}
    assert sorted(map(len, bodies.values())) == [2, 4]
    assert len(losses) == len({row["msgId"] for row in losses}) == 6
    assert bodies["layer 1"] == ["MsgStr0", "MsgStr1", "MsgStr2", "MsgStr3"] or name != "eight-messages"
    assert {row["subscription"] for row in losses if row["stage"] == "layer 1"} <= {"tagA", "tagB"}
    assert all(row["lost"] >= row["sent"] - 10 and row["elsewhere"] == 0 for row in losses)


def test_ledger_has_what_the_fates_say(found, eight):
    for name, fates in [("eight-messages", eight.fates)] + [(one.scenario.id, one.fates) for one in found["accounts"]]:
        told = {
            (row["group"], row["queue"], row["offset"], row["topic"]): row["fate"] for row in of(found["losses"], name)
        }
        wanted = {(one.group, one.queue, one.offset, one.topic): str(one.fate) for one in fates if one.lost}
        assert told == wanted, name


def test_recorded_delivered_is_what_listeners_got(found):
    """The frames explain every message of a recording that no listener got: none is left over."""
    for one in found["accounts"]:
        got = {event["msgId"] for event in one.events if event["ev"] == "consume"}
        sent = {event["msgId"] for event in one.events if event["ev"] == "sent"}
        delivered = {(fate.topic, fate.queue, fate.offset) for fate in one.fates if fate.fate is Fate.DELIVERED}
        known = len({(fate.topic, fate.queue, fate.offset) for fate in one.fates})
        assert len(delivered) == len(got & sent) or known == 0, one.scenario.id
        unexplained = [fate for fate in one.fates if fate.fate in {Fate.WAITING, Fate.SKIPPED_BY_OFFSET}]
        assert unexplained == [], one.scenario.id


def test_rebalances_of_the_eight_messages(found):
    """A has four queues; B's start takes two of them, and nobody serves these for some ms, or two do."""
    rows = of(found["rebalances"], "eight-messages")
    first = [row for row in rows if row["before"] is None]
    assert {(row["who"], row["queue"]) for row in first} == {("A", queue) for queue in range(4)}
    moved = [(row["queue"], row["before"], row["who"]) for row in rows if row["before"] is not None]
    assert moved[:2] == [(2, "A", "B"), (3, "A", "B")]
    # In the end A is stopped first, and B takes the rest.
    assert sorted(moved[2:]) == [(0, "A", "B"), (1, "A", "B")]
    assert all(abs(row["nobody"]) < 20_000 for row in rows if row["before"] is not None)
    recorded = of(found["rebalances"], "p-article-000")
    assert {(row["before"], row["who"]) for row in recorded if row["before"]} == {("A", "B")}


def test_heartbeats_of_the_eight_messages(found):
    a, b = of(found["heartbeats"], "eight-messages")
    assert (a["who"], a["asked_last"], b["who"], b["asked_last"]) == ("A", "tagA", "B", "tagB")
    assert a["longest_pause"] <= 30_000
    assert a["stamps"] > 1
    # B's stamp is the newest in the end: it turned the group's subscription.
    assert b["flips"] >= 1
    (_, c) = of(found["heartbeats"], "p-article-000")
    assert (c["who"], c["asked_last"]) == ("B", "tagB")
    assert c["flips"] >= 1


def test_the_verb_writes_tables_and_prints_a_view(spark, golden, tmp_path, capsys, monkeypatch):
    folder, json_file = tmp_path / "out", tmp_path / "found.json"
    source = str(golden / "broker-4.8.0" / "base")
    told = ["--id", "p-article-000", "--view", "losses", "--json", str(json_file)]
    assert main(["events", source, "--out", str(folder), *told]) == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{name}.parquet" for name in EVENT_TABLES)
    found = json.loads(json_file.read_text())
    assert found["tables"]["messages"] == 8
    assert len(found["views"]["losses"]) == 6
    assert "layer 1" in capsys.readouterr().out


def test_scenarios_are_simulated_the_same_way_each_time(golden, tmp_path):
    for name in ("a", "b"):
        source = str(golden / "broker-4.8.0" / "base" / "scenarios.jsonl")
        assert main(["events", source, "--id", "p-article-000", "--seed", "3", "--out", str(tmp_path / name)]) == 0
    for table in EVENT_TABLES:
        one, other = ((tmp_path / name / f"{table}.parquet").read_bytes() for name in ("a", "b"))
        assert one == other


def test_what_is_wrong_is_named(spark, golden, tmp_path, capsys):
    with pytest.raises(BadInput, match=r"view 'x' is not known; there are funnel"):
        view_sql("x")
    with pytest.raises(BadInput, match=r"events\.parquet is not there; rmqlab events"):
        views(spark, tmp_path)
    base = str(golden / "broker-4.8.0" / "base")
    assert main(["events", base, "--id", "nobody", "--out", str(tmp_path / "out")]) == 2
    assert "no scenario 'nobody'" in capsys.readouterr().err
    assert not list((tmp_path / "out").iterdir())
    assert main(["events", str(tmp_path / "nothing"), "--out", str(tmp_path / "out")]) == 2
    assert main(["events", base]) == 2
    assert "--out" in capsys.readouterr().err


def test_several_sources_are_merged_in_the_order_of_time(golden, tmp_path, capsys):
    """A column says whose a row is, and so do the ids, by which views tell scenarios apart."""
    base, again = golden / "broker-4.8.0" / "lite", golden / "broker-4.8.0" / "lite-2"
    parquet = pytest.importorskip("pyarrow.parquet")
    runs = {name: [next(read_runs(folder))] for name, folder in (("x", base), ("y", again))}
    counts = write_merged(runs, tmp_path / "both")
    for name in EVENT_TABLES:
        rows = parquet.read_table(tmp_path / "both" / f"{name}.parquet").to_pylist()
        assert len(rows) == counts[name]
        times = [row["at"] for row in rows]
        assert times == sorted(times)
        for source, mine in runs.items():
            write_events(mine, tmp_path / source)
            began = {run.scenario.id: run.events[0]["epochMs"] for run in mine}
            alone = [
                {"source": source, "at": row["t"] + began[row["id"]]} | row | {"id": f"{source}/{row['id']}"}
                for row in parquet.read_table(tmp_path / source / f"{name}.parquet").to_pylist()
            ]
            # sorted in both: of one source the order of a moment is that of its own table
            assert [row for row in rows if row["source"] == source] == sorted(alone, key=lambda row: row["at"])
    assert main(["events", str(base), str(base), "--out", str(tmp_path / "verb")]) == 2
    assert "two sources are called" in capsys.readouterr().err


def test_a_tap_says_when_it_began(tmp_path, golden, capsys):
    """Two taps of two brokers: each is called as its broker; one that does not say when it began stands at the end."""
    parquet = pytest.importorskip("pyarrow.parquet")
    with gzip.open(golden / "broker-4.8.0" / "base" / "frames.jsonl.gz", "rt") as stream:
        lines = "".join(islice(stream, 1_500))
    began = json.dumps({"t": 2.0, "control": "began", "arg": "1700000000002", "conns": []}) + "\n"
    for name, text in (("broker-a", began + lines), ("broker-b", lines)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "frames.jsonl").write_text(text)
        (tmp_path / name / "broker.conf").write_text(f"brokerName={name}\n")
    assert main(["events", str(tmp_path / "broker-b"), str(tmp_path / "broker-a"), "--out", str(tmp_path / "out")]) == 0
    rows = parquet.read_table(tmp_path / "out" / "messages.parquet").to_pylist()
    half = len(rows) // 2
    assert [row["source"] for row in rows] == ["broker-a"] * half + ["broker-b"] * half
    assert [row["at"] for row in rows] == [row["t"] + 1_700_000_000_000 for row in rows[:half]] + [None] * half
    assert capsys.readouterr().out.count("frames do not tell what a listener got") == 2
