"""An archive: made, grown, broken and read again; what a subscription gets of it is what the filter itself says."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.filter.filter import match_in_two_layers
from rmqlab.filter.sql92.compiler import compile_sql92
from rmqlab.protocol.subscription_data import SQL92, TAG, build_subscription
from rmqlab_tools.cli import cli
from rmqlab_tools.spark import matching, read_store
from rmqlab_tools.spark.archived import writing
from rmqlab_tools.spark.archived.manifest import Place, read_contents
from rmqlab_tools.spark.archived.matching import Wanted
from rmqlab_tools.spark.archived.property_columns import MOST, REST, property_columns, with_rest
from rmqlab_tools.spark.archived.queue_hours import QUEUE, STORED, by_queue_and_time, runs_of
from rmqlab_tools.spark.archived.rows import COLUMNS, Question
from tests.proof.drained_stream import drained
from tests.proof.log_maker import LogMaker

NAMES = st.sampled_from(["TAGS", "a", "b", "#queueId", "a?", "#properties", "价格"])
MESSAGES = st.lists(st.dictionaries(NAMES, st.sampled_from(["", "1", "x", "1.5", "真"]), max_size=5), max_size=12)
SUBSCRIPTIONS = (
    ("tagA", TAG), ("tagA || tagB", TAG), ("*", TAG), ("none", TAG),
    ("a > 3", SQL92), ("a IS NULL OR TAGS = 'tagB'", SQL92), ("rare = 'x'", SQL92),
    ("rare IS NOT NULL AND a < b", SQL92),
)  # fmt: skip


def expected(properties, expression, kind):
    """What the evaluator says of one message."""
    if kind == SQL92:
        return compile_sql92(expression).matches(properties)
    return match_in_two_layers(build_subscription("", expression, TAG), properties.get("TAGS")).delivered


@given(MESSAGES, st.integers(0, 3))
def test_columns_have_every_property_and_nothing_else(messages, most):
    maps = pa.array([list(properties.items()) for properties in messages], pa.map_(pa.string(), pa.string()))
    columns = property_columns(maps, most)
    assert len(columns) <= most + 1
    asked = sorted({name for properties in messages for name in properties})
    own = {name: column for name, column in columns.items() if name != REST}
    table = with_rest(pa.table({"row": range(len(messages)), **columns}), [name for name in asked if name not in own])
    again = [{name: row[name] for name in asked if row[name] is not None} for row in table.to_pylist()]
    assert again == messages


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory):
    """A store of three days and two topics with more names of properties than a file has columns; its archive."""
    folder = tmp_path_factory.mktemp("archive")
    log, messages = LogMaker(), []
    for number in range(700):
        properties = {"TAGS": f"tag{'ABC'[number % 3]}", "a": str(number % 7), f"name{number}": "once"}
        properties |= {"rare": "xy"[number % 2], "b": "5"} if number % 50 == 0 else {}
        properties = properties if number % 11 else {}
        log.add("TU"[number % 10 == 0], queue=number % 4, properties=properties, stored=number * 360_000)
        messages.append(("TU"[number % 10 == 0], number % 4, number * 360_000, properties))
    store = log.write(folder / "store")
    return store, folder / "archive", messages, rmqlab.archive(store, folder / "archive", session=spark)


def test_every_message_is_in_it_once_by_topic_and_day(made):
    _, folder, messages, kept = made
    assert kept.topics == Counter(topic for topic, *_ in messages)
    assert kept.new == kept.messages == 700
    days = {(topic, stored // writing.DAY_MS) for topic, _, stored, _ in messages}
    assert kept.files == len(days) == len(list(folder.glob("topic=*/day=*/*.parquet")))
    assert len({name for *_, properties in messages for name in properties}) > MOST


@pytest.mark.parametrize("on_spark", [False, True], ids=["here", "spark"])
@pytest.mark.parametrize(("expression", "kind"), SUBSCRIPTIONS)
def test_what_matches_is_what_the_filter_says_message_by_message(spark, made, expression, kind, on_spark):
    _, folder, messages, _ = made
    counts = Counter()
    for topic, queue, stored, properties in messages:
        counts[topic, queue, stored // 3_600_000 * 3_600_000] += expected(properties, expression, kind)
    result = rmqlab.match(folder, expression, kind, session=spark if on_spark else None)
    assert {(row["topic"], row["queueId"], row["hour"]): row["matched"] for row in result.rows} == counts
    assert result.total("messages") == 700


def test_rows_and_what_a_change_loses(spark, made):
    store, folder, messages, _ = made
    rows = matching(spark, folder, "a > 3", SQL92, topics=["T"], since=100 * 360_000, until=399 * 360_000).collect()
    wanted = {
        (topic, queue, stored)
        for topic, queue, stored, properties in messages[100:400]
        if topic == "T" and expected(properties, "a > 3", SQL92)
    }
    assert {(row.topic, row.queueId, row.storeTimestamp) for row in rows} == wanted
    assert len(rows) == len(wanted)
    places = {row.physicalOffset for row in read_store(spark, store, columns=["physicalOffset"]).collect()}
    assert {row.physicalOffset for row in rows} <= places
    changed = rmqlab.match(folder, "tagA", changed="a > 3", changed_kind=SQL92)
    part = rmqlab.match(folder, "a > 3", SQL92, topics=["T"], since=100 * 360_000, until=399 * 360_000)
    assert (part.total("matched"), part.total("messages")) == (len(rows), sum(m[0] == "T" for m in messages[100:400]))
    both = [(expected(p, "tagA", TAG), expected(p, "a > 3", SQL92)) for *_, p in messages]
    assert changed.total("lost") == sum(before and not after for before, after in both)
    assert changed.total("gained") == sum(after and not before for before, after in both)
    for kind, chosen in (("lost", lambda before, after: before and not after), ("gained", lambda b, a: a and not b)):
        named = {
            (topic, stored): p for (topic, _, stored, p), pair in zip(messages, both, strict=True) if chosen(*pair)
        }
        assert len(changed.examples[kind]) == 3
        for message in changed.examples[kind]:
            properties = named[message["topic"], message["storeTimestamp"]]
            assert message["properties"] == {name: properties[name] for name in ("TAGS", "a") if name in properties}
            assert message["physicalOffset"] in places
    assert "TAGS=tagA" in str(changed.examples_table())


def test_rows_and_streams_are_what_the_filter_says(spark, made, tmp_path):
    _, folder, messages, _ = made
    wanted = [expected(properties, "a > 3", SQL92) for *_, properties in messages]
    everything = matching(spark, folder, "a > 3", SQL92, everything=True).collect()
    assert {row.storeTimestamp // 360_000: row.wanted for row in everything} == dict(enumerate(wanted))
    assert [(row.topic, row.queueId) for row in sorted(everything, key=lambda row: row.storeTimestamp)] == [
        message[:2] for message in messages
    ]
    rows = {row.physicalOffset: row for row in matching(spark, folder, "a > 3", SQL92).collect()}
    assert len(rows) == sum(wanted)
    assert {
        row.physicalOffset: row for row in drained(matching(spark, folder, "a > 3", SQL92, stream=True), tmp_path)
    } == rows


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("columns", [(), ("topic",), tuple(COLUMNS)], ids=len)
def test_lists_of_messages_have_the_rows(made, monkeypatch, columns, everything):
    if not columns and not everything:
        return
    monkeypatch.setattr("rmqlab_tools.spark.archived.rows._TOGETHER", 7)
    place = Place.of(made[1])
    contents = read_contents(place, made[1])
    for since in (None, 100 * 360_000):
        question = Question(str(made[1]), Wanted("a > 3", SQL92), columns, everything, since=since).checked()
        work = question.parts(place, contents.files, 2, contents.labels())
        rows = [row for batch in question.answer(iter(work)) for row in batch.to_pylist()]
        lists = [row for batch in question.answer_in_lists(iter(work)) for row in batch.to_pylist()]
        assert rows == [
            {name: row[name][place] if isinstance(row[name], list) else row[name] for name in question.schema().names}
            for row in lists
            for place in range(len(row["wanted"]))
        ]
        assert {len(row["wanted"]) for row in lists} <= {*range(1, 8)}
        assert len(rows) > 100


def test_a_stream_goes_on_with_what_is_added_and_takes_nothing_twice(spark, tmp_path):
    log, store, out = LogMaker(), tmp_path / "store", tmp_path / "archive"
    counts = []
    for begin in (0, 20):
        for number in range(begin, begin + 20):
            log.add("TU"[number % 2], queue=0, properties={"TAGS": f"t{number % 3}"}, stored=number)
        log.write(store)
        rmqlab.archive(store, out, session=spark)
        stream = matching(spark, out, "t1 || t2", topics=["T"], since=3, stream=True)
        counts.append(len(drained(stream, tmp_path / "stream")))
    wanted = [number for number in range(3, 40) if number % 2 == 0 and number % 3]
    assert counts == [sum(number < 20 for number in wanted), len(wanted)]
    with pytest.raises(BadInput, match=r"no column 'queueID'; did you mean queueId\?"):
        matching(spark, out, "t1", columns=["queueID"])


def test_topics_that_are_not_the_users_count_where_they_are_named(spark, tmp_path):
    log = LogMaker()
    for number, topic in enumerate(["T", "%RETRY%G", "RMQ_SYS_TRACE_TOPIC", "rmq_sys_wheel_timer", "%DLQ%G", "T"]):
        log.add(topic, queue=0, properties={"TAGS": "t"}, stored=number)
    out = tmp_path / "archive"
    rmqlab.archive(log.write(tmp_path / "store"), out, session=spark)
    result = rmqlab.match(out, "t")
    assert (result.total("matched"), sum(result.left_out.values())) == (2, 4)
    assert "4 messages of the system's own topics, of retries and of dead letters (%DLQ%G, " in result.lines()[-1]
    named = rmqlab.match(out, "t", topics=["%RETRY%G"])
    assert (named.total("matched"), named.left_out) == (1, {})
    assert matching(spark, out, "t").count() == 2


def test_what_was_written_since_is_added_and_what_a_killed_run_left_is_taken_away(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "RANGE_BYTES", 1_000)
    log, store, out = LogMaker(), tmp_path / "store", tmp_path / "archive"
    for number in range(20):
        log.add("T", queue=0, properties={"TAGS": f"t{number}"}, stored=number)
    log.write(store)
    assert rmqlab.archive(store, out, session=spark).new == 20
    before = sorted(out.rglob("*.parquet"))
    for number in range(20, 30):
        log.add("T", queue=0, properties={"TAGS": f"t{number}"}, stored=number)
    log.write(store)
    (left,) = {path.parent for path in before}
    unnamed = left / before[0].name.replace("-0", "-9", 1)
    unnamed.write_bytes(b"PAR1 half")
    (left / "theirs.parquet").write_bytes(b"of somebody else")
    again = rmqlab.archive(store, out, session=spark)
    assert (again.new, again.messages) == (10, 30)
    assert not unnamed.exists()
    assert (left / "theirs.parquet").exists()
    assert set(before) <= set(out.rglob("*.parquet"))
    assert rmqlab.match(out, " || ".join(f"t{n}" for n in range(30)), session=spark).total("matched") == 30
    assert rmqlab.archive(store, out, session=spark).new == 0
    shutil.rmtree(store)
    LogMaker().write(store)
    with pytest.raises(BadInput, match="another store"):
        rmqlab.archive(store, out, session=spark)


def written(folder, name, numbers, *, queue=0, seed=0):
    """The store of broker `name`, "" for none, with a message of each number; `seed` makes the bytes differ."""
    log = LogMaker(size=1_000)
    for number in numbers:
        log.add("T", str(seed).encode(), queue=queue, properties={"TAGS": f"t{number % 2}"}, stored=number)
    if name:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "broker.conf").write_text(f"brokerName={name}\n")
    return log.write(folder / "store")


def test_a_queue_is_one_of_a_broker(spark, tmp_path, capsys):
    """Two brokers have a queue 0 each; of one broker nothing says whose it is."""
    first, second = written(tmp_path / "a", "broker-a", range(5)), written(tmp_path / "b", "broker-b", range(8))
    out = tmp_path / "archive"
    rmqlab.archive(first, out, session=spark)
    alone = rmqlab.match(out, "t0", changed="t1")
    assert list(alone.rows[0])[:2] == ["topic", "queueId"]
    assert "brokers" not in alone.as_json()
    assert "broker" not in {*alone.examples["lost"][0]} | {*map(str, alone.table().headers)}
    rmqlab.archive(second, out, session=spark)
    for session in (None, spark):
        both = rmqlab.match(out, "t0", changed="t1", session=session)
        figures = [
            (row["broker"], row["queueId"], *(row[name] for name in ("messages", "matched", "lost", "gained")))
            for row in both.rows
        ]
        assert figures == [("broker-a", 0, 5, 3, 3, 2), ("broker-b", 0, 8, 4, 4, 4)]
        assert both.as_json()["brokers"] == ["broker-a", "broker-b"]
        assert {message["broker"] for message in both.examples["gained"]} <= {"broker-a", "broker-b"}
    assert cli.main(["match", str(out), "t0"]) == 0
    assert "broker-b" in capsys.readouterr().out
    rows = matching(spark, out, "t0", columns=["broker", "queueOffset"]).collect()
    assert Counter(row.broker for row in rows) == {"broker-a": 3, "broker-b": 4}


def test_a_copy_that_comes_in_a_later_run_is_recognised(spark, tmp_path):
    """A slave's, a backup's: what it has beyond the first one's end is new, and nothing counts twice."""
    master, slave = written(tmp_path / "m", "broker-a", range(20)), written(tmp_path / "s", "broker-a", range(26))
    out = tmp_path / "archive"
    rmqlab.archive(master, out, session=spark)
    kept = rmqlab.archive(slave, out, session=spark)
    assert (kept.new, kept.messages) == (6, 26)
    (same,) = kept.same_logs
    assert (same.shown, same.of, same.broker) == (str(slave), str(master), "broker-a")
    assert kept.lines()[0].startswith(f"{slave} has the log of {master} (broker broker-a), which was archived up to")
    assert kept.as_json()["same_logs"] == [same._asdict()]
    # One that lags behind, one without a name, and one whose first files are gone already.
    lags, late = written(tmp_path / "l", "", range(7)), written(tmp_path / "late", "", range(30))
    for file in sorted((late / "commitlog").iterdir())[:2]:
        file.unlink()
    for store, new in ((lags, 0), (late, 4)):
        kept = rmqlab.archive(store, out, session=spark)
        assert (kept.new, len(kept.same_logs)) == (new, 1)
    written(tmp_path / "m", "broker-a", range(31))
    kept = rmqlab.archive(master, out, session=spark)
    assert (kept.new, kept.messages, kept.same_logs, kept.damaged_bytes) == (1, 31, (), 0)
    assert [row["messages"] for row in rmqlab.match(out, "*").rows] == [31]


def test_a_log_that_is_not_known_for_the_same_is_refused(spark, tmp_path):
    out = tmp_path / "archive"
    first = written(tmp_path / "a", "broker-a", range(20))
    rmqlab.archive(first, out, session=spark)
    before = (out / "archive.json").read_bytes()
    other = written(tmp_path / "other", "broker-a", range(20), seed=1)
    with pytest.raises(BadInput, match="both of broker broker-a, and nothing shows that they have one log"):
        rmqlab.archive(other, out, session=spark)
    apart = written(tmp_path / "apart", "broker-a", range(24))
    last = sorted((apart / "commitlog").iterdir())[2]
    for file in (last, first / "commitlog" / last.name):
        assert file.stat().st_size
    reached = json.loads(before)["stores"].popitem()[1]["reached"]
    file = apart / "commitlog" / f"{reached // 1_000 * 1_000:020}"
    data = bytearray(file.read_bytes())
    data[reached % 1_000 - 1] ^= 1
    file.write_bytes(data)
    with pytest.raises(BadInput, match="went apart when a slave became master"):
        rmqlab.archive(apart, out, session=spark)
    written(tmp_path / "a", "broker-a", range(24), seed=1)
    with pytest.raises(BadInput, match="other bytes than the one that was archived from there"):
        rmqlab.archive(first, out, session=spark)
    assert (out / "archive.json").read_bytes() == before
    named = rmqlab.archive({"broker-b": other}, out, session=spark)
    assert (named.new, named.same_logs) == (20, ())


def test_an_archive_of_an_older_rmqlab_is_read_and_goes_on(spark, tmp_path):
    """It knows neither brokers nor samples; both come with the next run."""
    store, out = written(tmp_path / "a", "broker-a", range(9)), tmp_path / "archive"
    rmqlab.archive(store, out, session=spark)
    contents = json.loads((out / "archive.json").read_bytes())
    (known,) = contents["stores"].values()
    wanted = {name: known.pop(name) for name in ("broker", "samples")}
    (out / "archive.json").write_text(json.dumps(contents))
    assert rmqlab.match(out, "t0").total("matched") == 5
    assert rmqlab.archive(store, out, session=spark).new == 0
    (known,) = json.loads((out / "archive.json").read_bytes())["stores"].values()
    assert {name: known[name] for name in wanted} == wanted


def test_a_damaged_part_of_the_log_is_counted_and_said(spark, tmp_path):
    log = LogMaker()
    for number in range(6):
        log.add("T", queue=0, properties={}, stored=number)
    store = log.write(tmp_path / "store")
    (file,) = (store / "commitlog").iterdir()
    data = bytearray(file.read_bytes())
    size = int.from_bytes(data[:4])
    data[size + 4 : size + 8] = b"\0\0\0\1"
    file.write_bytes(data)
    kept = rmqlab.archive(store, tmp_path / "archive", session=spark)
    assert (kept.new, kept.damaged_bytes) == (5, size)
    assert f"{size} bytes of the log are damaged or gone" in kept.lines()[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "archive.json is damaged"),
        ("[]", "archive.json is damaged"),
        ('{"format": "rmqlab-archive/9"}', "the format 'rmqlab-archive/9', and this version reads rmqlab-archive/1"),
        ('{"format": "rmqlab-archive/1", "files": [{"path": 1}]}', "archive.json is damaged"),
        (None, "no archive, since it has no archive.json"),
    ],
)
def test_what_is_no_archive_is_said_before_spark_starts(text, words, tmp_path, capsys):
    if text is not None:
        (tmp_path / "archive.json").write_text(text)
    assert cli.main(["match", str(tmp_path), "tagA"]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_bad_input_is_one_line_and_nothing_is_written(made, spark, tmp_path, capsys):
    store, folder, *_ = made
    cases = [
        (["match", str(folder), "tagA", "--topic", "V"], "the archive has no topic 'V'; it has T, U"),
        (["match", str(folder), "a >", "--sql92"], "line 1, column 3"),
        (["match", str(folder), "tagA", "--from", "2000", "--to", "1000"], "--to lies before --from"),
        (["match", "x://y", "tagA"], "x://y: "),
        (["archive", str(tmp_path), str(tmp_path / "out")], "no store directory"),
    ]
    for arguments, words in cases:
        assert cli.main(arguments) == 2, arguments
        error = capsys.readouterr().err
        assert words in error, error
        assert error.count("\n") == 1, error
    assert not (tmp_path / "out").exists()
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        rmqlab.archive(store, blocked / "archive", session=spark)


@pytest.mark.parametrize("on_spark", [False, True], ids=["here", "spark"])
def test_a_file_that_is_gone_or_damaged_is_named(spark, made, tmp_path, on_spark):
    shutil.copytree(made[1], tmp_path / "archive")
    file = next((tmp_path / "archive").rglob("*.parquet"))
    for spoil in (lambda: file.write_bytes(b"PAR1 half"), file.unlink):
        spoil()
        with pytest.raises(BadInput, match=f"{file.name}: a file of the archive cannot be read"):
            rmqlab.match(tmp_path / "archive", "tagA", session=spark if on_spark else None)


def test_match_opens_a_spark_only_where_one_is_set(made, monkeypatch):
    """An empty RMQLAB_SPARK sets none, as for the other verbs."""
    folder = made[1]

    def refuse(*_args, **_kwargs):
        raise AssertionError("Spark was asked for")

    monkeypatch.setattr("rmqlab_tools.spark.session.open_session", refuse)
    monkeypatch.setenv("RMQLAB_SPARK", "")
    assert cli.main(["match", str(folder), "tagA"]) == 0
    monkeypatch.setenv("RMQLAB_SPARK", "local[2]")
    with pytest.raises(AssertionError, match="Spark was asked for"):
        cli.main(["match", str(folder), "tagA"])


def test_the_verbs_say_what_the_functions_say(made, spark, tmp_path, capsys):
    store, folder, *_ = made
    assert cli.main(["archive", str(store), str(tmp_path / "again"), "--json", "-"]) == 0
    kept = json.loads(capsys.readouterr().out)
    assert (kept["new"], kept["messages"]) == (700, 700)
    assert cli.main(["match", str(folder), "tagA", "--changed", "tagB", "--json", "-"]) == 3
    result = json.loads(capsys.readouterr().out)
    assert result == rmqlab.match(folder, "tagA", changed="tagB", session=spark).as_json()
    assert cli.main(["match", str(folder), "tagA", "--changed", "tagA || tagB"]) == 0
    assert "it loses 0 of these" in capsys.readouterr().out


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4 * 3_600_000), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 7),
)
def test_runs_of_queues_and_hours_count_what_a_loop_counts(rows, size):
    table = pa.table({QUEUE: [row[0] for row in rows], STORED: [row[1] for row in rows], "kind": [r[2] for r in rows]})
    ordered = by_queue_and_time(table)
    runs = runs_of(ordered.schema.metadata)
    counts = Counter()
    for first in range(0, len(rows), size):
        kinds = ordered["kind"].slice(first, size).to_numpy(zero_copy_only=False)
        for place, numbers in runs.part(first, len(kinds)).counts([kinds], len(kinds)):
            counts[place] += complex(*numbers.tolist())
    expected_counts = Counter()
    for queue, stored, kind in rows:
        expected_counts[queue, stored // 3_600_000] += complex(1, kind)
    assert counts == expected_counts
