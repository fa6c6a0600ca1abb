"""What an audit refuses, before Spark starts, and what it merges: nothing that is given is passed over in silence."""

from __future__ import annotations

import json
import shutil

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab.errors import BadInput
from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab.run.fates import LOSING
from rmqlab_tools.cli.cli import main
from rmqlab_tools.spark import session
from rmqlab_tools.spark.audit.audit import Audit
from rmqlab_tools.spark.audit.audit_options import AuditOptions
from rmqlab_tools.spark.audit.log_extent import require_messages
from rmqlab_tools.spark.audit.scan import Scan
from rmqlab_tools.spark.audit.subscription_file import read_subscriptions
from rmqlab_tools.spark.audit.subscriptions import BrokerSubscription, ClientSubscription, Present, Subscriptions, both
from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
from tests.proof.log_maker import LogMaker
from tests.proof.recorded_store import RecordedStore

LINE = {"group": "G", "topic": "T", "expr": "tagA"}


@pytest.fixture(autouse=True)
def no_spark(monkeypatch):
    """A session that is asked for is a failure: what is refused is refused before."""

    def opened(*_):
        pytest.fail("Spark was started")

    monkeypatch.setattr(session, "open_session", opened)


@pytest.fixture
def store(tmp_path):
    log = LogMaker(4096)
    log.add(queue_offset=0, properties={"TAGS": "tagA"}, stored=1_600_000_000_000)
    log.write(tmp_path / "store")
    config = tmp_path / "store" / "config"
    config.mkdir()
    (config / "consumerOffset.json").write_text('{"offsetTable": {"T@G": {"0": 1}}}')
    (tmp_path / "store" / "consumequeue" / "T").mkdir(parents=True)
    return tmp_path / "store"


def refused(capsys, *arguments):
    assert main(["audit", *map(str, arguments)]) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.splitlines()
    assert printed.out == ""
    return line


def written(path, *lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_nothing_looked_at_is_not_nothing_lost(store, capsys):
    told = refused(capsys, store, "--from", "2099-01-01")
    assert "no message was stored in that time: those of this store are from 2020-09-13T12:26:40 to" in told
    assert "that ends before it begins" in refused(capsys, store, "--from", "2020-09-14", "--to", "2020-09-13")
    assert "group 'nope': neither offsets nor subscriptions of it; there are G" in refused(
        capsys, store, "--group", "nope"
    )
    log = min((store / "commitlog").iterdir())
    for content, told in ((b"\xa5garbage!" * 555, "no whole message in its 4995 bytes"), (b"", "no message in it")):
        log.write_bytes(content)
        assert told in refused(capsys, store)
    log.unlink()
    assert "no message in it" in refused(capsys, store)


def test_a_message_behind_damage_is_found(tmp_path):
    """What is damaged at the beginning is audited all the same, and the damage told."""
    log = LogMaker(4096)
    for number in range(2):
        log.add(queue_offset=number, properties={"TAGS": "tagA"}, stored=1_600_000_000_000)
    log.write(tmp_path)
    path = min((tmp_path / "commitlog").iterdir())
    path.write_bytes(b"\xa5" * 10 + path.read_bytes()[10:])
    require_messages([log_files(tmp_path)], LONG_MIN, LONG_MAX)
    with pytest.raises(BadInput, match="those of this store are from 2020"):
        require_messages([log_files(tmp_path)], LONG_MAX, LONG_MAX)


def test_a_store_without_groups_says_what_is_needed(store, capsys):
    (store / "config" / "consumerOffset.json").unlink()
    assert "no group is known" in refused(capsys, store)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([{"group": "G", "expr": "tagA"}], "s.jsonl, line 1: it has no 'topic'; right would be {"),
        ([LINE, {**LINE, "type": "REGEX"}], "s.jsonl, line 2: type 'REGEX' is neither TAG nor SQL92; right would be"),
        ([{**LINE, "topic": "Order"}], "topic 'Order' (group 'G'), which the store does not have; there are T"),
        ([], "s.jsonl: no line in it; one would be {"),
        ([{**LINE, "expr": None}], "s.jsonl, line 1: 'expr' is None, and a text is wanted; right would be {"),
        ([{**LINE, "client": 4}], "s.jsonl, line 1: 'client' is 4, and a text is wanted; right would be {"),
        ([{**LINE, "until": "2020-01-01"}], "line 1: 'until' is '2020-01-01', and epoch ms are wanted"),
        ([{**LINE, "until": 1.5}], "line 1: 'until' is 1.5, and epoch ms are wanted"),
        ([{**LINE, "until": float("inf")}], "line 1: 'until' is inf, and epoch ms are wanted"),
        ([{**LINE, "until": 1 << 70}], "and epoch ms are wanted"),
        ([{**LINE, "held": "false"}], "line 1: 'held' is 'false', and true or false is wanted"),
        ([{"group": "G", "clients": "AB"}], "line 1: 'clients' is 'AB', and a list of client ids is wanted"),
        ([{"group": "G", "clients": ["A"], "strategy": "avg"}], "strategy 'avg' is not known; did you mean AVG?"),
        ([{**LINE, "expr": "a > 3"}], "'a > 3' looks like SQL92, and \"type\" is missing"),
        ([{**LINE, "expr": "a >", "type": "SQL92"}], "line 1: SQL92: line 1, column 3: read the end"),
        ([{**LINE, "expr": "||"}], "line 1: subString split error; right would be {"),
    ],
)
def test_wrong_subscriptions_are_refused_with_what_would_be_right(store, tmp_path, capsys, lines, told):
    assert told in refused(capsys, store, "--subscriptions", written(tmp_path / "s.jsonl", *lines))


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([LINE], "d.jsonl, line 1: it has no 'msgId'; a delivery would be {"),
        ([{"group": "G", "msgId": 5}], "d.jsonl, line 1: 'msgId' is 5, and a text is wanted; a delivery would be {"),
        ([{"msgId": "M"}], "d.jsonl, line 1: it has no 'group'; a delivery would be {"),
        ([{"group": "G", "offsetMsgId": ["M"]}], "line 1: 'offsetMsgId' is ['M'], and a text is wanted"),
        ([{"group": "G", "msgId": "M", "client": 5}], "d.jsonl, line 1: 'client' is 5, and a text is wanted"),
        ([{"group": "G", "msgId": "M", "success": "false"}], "'success' is 'false', and true or false is wanted"),
        ([{"group": "H", "msgId": "M"}], "the delivery log names H, of which nothing is known here; there are G"),
        ([], "d.jsonl: no delivery in it; one would be {"),
    ],
)
def test_a_wrong_delivery_log_is_refused_with_what_would_be_right(store, tmp_path, capsys, lines, told):
    assert told in refused(capsys, store, "--delivered", written(tmp_path / "d.jsonl", *lines))
    assert "there is no such file" in refused(capsys, tmp_path / "none")
    assert "there is no such file" in refused(capsys, store, "--delivered", tmp_path / "none.jsonl")


@pytest.mark.parametrize("address", ["foo", "local[x]", "spark:/host", "http://host"])
def test_what_is_no_address_of_spark_is_one_line(address):
    with pytest.raises(session.BadInput, match=r"is no address of Spark: right would be local\[\*\]"):
        session.require_address(address)


@pytest.mark.parametrize("address", ["local", "local[*]", "local[2, 4]", "spark://a:7077,b:7077", "yarn", "sc://h"])
def test_addresses_of_spark(address):
    session.require_address(address)


def test_events_beside_a_store_stay_when_a_line_about_another_group_is_given(tmp_path, capsys):
    """A line about another group turned twenty `dropped_by_…` into `skipped_by_offset`: the events were thrown away."""
    recording = RecordedStore("base")
    told = read_subscriptions(recording.events)
    line = {"group": "G_p-article-000", "topic": "T_p-article-000", "expr": "tagA", "client": "A"}
    given = both(told, read_subscriptions(written(tmp_path / "s.jsonl", {**line, "group": "other"})))
    for name in ("client_subscriptions", "broker_subscriptions", "present", "reset"):
        assert getattr(told, name).items() <= getattr(given, name).items()
    assert given.complete == told.complete | {("other", "T_p-article-000")}

    def dropped(subscriptions):
        audit = Audit(None, recording.store, AuditOptions(subscriptions=subscriptions))
        scan = Scan(
            audit.stores[0].inferences(audit.cluster),
            LONG_MIN,
            LONG_MAX,
            check_crc=False,
            end=audit.stores[0].end,
            each_message=True,
        )
        batches = list(scan.run(log_ranges(log_files(recording.store), 1 << 40)))
        rows = [row for batch in batches for row in batch.to_pylist() if row["group"] == line["group"]]
        return sum(row["fate"] in set(map(str, LOSING)) for row in rows)

    assert dropped(given) == dropped(told) == 6
    recording.cleanup()


def test_both_are_all_that_is_said_in_order_of_time_and_once():
    key = ("G", "T")
    one = Subscriptions(
        {key: [ClientSubscription("A", "TAG", "a")]},
        {key: [BrokerSubscription("TAG", "a", 5)]},
        frozenset(),
        {},
        {key: (1,)},
    )
    other = Subscriptions(
        {key: [ClientSubscription("A", "TAG", "a"), ClientSubscription("B", "TAG", "b")]},
        {key: [BrokerSubscription("TAG", "b", 3)]},
        frozenset({key}),
        {"G": [Present(2, ("A",))]},
        {key: (1, 2)},
    )
    found = both(one, other)
    assert found.client_subscriptions == {
        key: [ClientSubscription("A", "TAG", "a"), ClientSubscription("B", "TAG", "b")]
    }
    assert found.broker_subscriptions == {key: [BrokerSubscription("TAG", "b", 3), BrokerSubscription("TAG", "a", 5)]}
    assert found.complete == {key}
    assert found.present == {"G": [Present(2, ("A",))]}
    assert found.reset == {key: (1, 2)}


def test_the_verb_takes_the_events_beside_a_store_and_what_is_given(tmp_path, golden, monkeypatch):
    """Neither `--subscriptions` nor `--delivered` puts the recorded events aside."""
    set_of = tmp_path / "set"
    set_of.mkdir()
    for name in ("store.tar.gz", "events.jsonl.gz", "broker.conf"):
        shutil.copy(golden / "broker-4.8.0" / "noprop" / name, set_of / name)
    seen = []

    class Seen(Exception):
        pass

    def looked(_, __, options, names_known):
        assert names_known
        seen.append(options)
        raise Seen

    monkeypatch.setattr("rmqlab_tools.spark.audit.audit.Audit", looked)
    lines = written(tmp_path / "s.jsonl", LINE)
    log = written(tmp_path / "d.jsonl", {"group": "G", "msgId": "M"})
    with pytest.raises(Seen):
        main(["audit", str(set_of), "--subscriptions", str(lines), "--delivered", str(log)])
    (options,) = seen
    recorded = read_subscriptions(set_of / "events.jsonl.gz")
    assert options.subscriptions == both(recorded, read_subscriptions(lines))
    assert options.delivered == (str(set_of / "events.jsonl.gz"), str(log))
