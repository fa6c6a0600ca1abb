"""The decoder: its data hold together, its texts fit the lines they should, a log is counted."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from dataclasses import fields

import pytest

from rmqlab import explain
from rmqlab.client.client_config import ClientConfig
from rmqlab.client.grpc import proxy
from rmqlab.errors import BadInput
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.pop_headers import PopResponseCode
from rmqlab.rules import RULES
from rmqlab_tools.cli import VERBS
from rmqlab_tools.cli.cli import main
from rmqlab_tools.doctor.decoder import coded, decode, entries, match, templates
from rmqlab_tools.doctor.decoder_entry import EFFECTS
from rmqlab_tools.doctor.explain import LONGEST_QUERY, explain_lines
from rmqlab_tools.doctor.finding import FINDING_KINDS
from rmqlab_tools.doctor.line_template import template
from rmqlab_tools.doctor.printed import printed_value

EVERY = entries()
SUBSCRIPTION = (
    "SubscriptionData [classFilterMode=false, topic=T, subString={tag}, tagsSet=[{tag}], codeSet=[1], "
    "subVersion={version}, expressionType=TAG]"
)


def changed(old, new):
    told = SUBSCRIPTION.format(tag=old, version=1), SUBSCRIPTION.format(tag=new, version=2)
    return "2021-09-05 10:30:00 INFO H - subscription changed, group: G OLD: {} NEW: {}".format(*told)


def test_what_entries_name_is_there(root):
    rules = {field.name for field in fields(RULES["4.8.0"])}
    rows = {line.split("\t")[0] for line in (root / "data/mission/rows.tsv").read_text("utf-8").splitlines()}
    for one in EVERY.values():
        assert set(one.rules) <= rules, one.id
        assert set(one.rows) <= rows, one.id
        assert set(one.findings) <= set(FINDING_KINDS), one.id
        assert set(one.see) <= set(EVERY) - {one.id}, one.id
        assert set(re.findall(r"`rmqlab ([a-z0-9]+)", one.do + one.means)) <= set(VERBS), one.id
        assert bool(one.texts) != bool(one.name), one.id
        assert one.effect != "loss" or one.rules or one.rows or "4.8.0" not in one.versions, one.id
        assert one.said, one.id
        assert one.kind != "log" or any(said.level for said in one.said), one.id


def test_every_entry_explains_itself_in_sentences():
    for one in EVERY.values():
        for text in (one.means, one.do):
            assert re.fullmatch(r'([A-Z0-9%"`]|[a-z]+(?:[A-Z]|\(\))).*[.]', text), (one.id, text)
        assert max(map(len, re.split(r"(?<=[.:;]) ", one.means))) < 190, one.id


def test_every_text_finds_its_own_entry():
    """A text that is part of another would be swallowed by it, or swallow it."""
    for entry in EVERY.values():
        for text in entry.texts:
            assert not template(entry.id, text).is_loose, text
            filled = re.sub(r"\{(\w+)\}", "x7", text)
            found, values = decode("2021-09-05 10:30:00,123 WARN Thread_1 - " + filled)
            assert found is entry, text
            assert set(values) == set(re.findall(r"\{(\w+)\}", text)), text


def test_known_by_a_recording_or_a_test_is_what_it_says(golden, root):
    """Every remark of the recordings is explained, `recorded` marks these, `provoked` what a test makes appear."""
    said, codes = Counter(), set()
    for path in sorted(golden.glob("broker-*/*/frames.jsonl.gz")):
        with gzip.open(path, "rt") as lines:
            frames = (json.loads(line) for line in lines if '"s2c"' in line)
            for data in (bytes.fromhex(one["frame"])[:3_000] for one in frames if "frame" in one):
                remark, code = (re.search(one, data) for one in (rb'"remark":("(?:[^"\\]|\\.)*")', rb'"code":(\d+)'))
                if remark:
                    said[json.loads(remark[1])] += 1
                if code and b'"flag":1' in data:
                    codes.add(code[1].decode())
    recorded = {one.id for number in codes for one in coded(number, "response")}
    for text in said:
        found = next(coded(text, "status"), None) or (decode(text) or (None,))[0]
        assert found is not None, text
        recorded.add(found.id)
    assert said.total() > 10_000
    logs = sorted((golden / "logs").glob("*.log"))
    recorded |= {found[0].id for path in logs for line in path.open(encoding="utf-8") if (found := decode(line))}
    assert {one.id for one in EVERY.values() if one.sure == "recorded"} == recorded
    tests = "".join(
        (root / "tests" / name).read_text()
        for name in ("broker/test_decoded_remarks.py", "client/test_decoded_exceptions.py")
    )
    provoked = set(re.findall(r'"((?:remark|exception)-[\w-]+)"', tests))
    assert {one.id for one in EVERY.values() if one.sure == "provoked"} == provoked - recorded


@pytest.mark.parametrize(
    ("name", "worst", "held", "unknown"),
    [
        ("broker-4.8.0", "loss", {"log-subscription-removed", "log-filter-ignored", "log-pull-not-latest"}, (9, 0)),
        ("broker-5.3.3", "loss", {"log-subscription-removed", "log-filter-ignored", "log-register-changed"}, (8, 0)),
        (
            "client-4.8.0",
            "stop",
            {"remark-subscription-not-exist", "log-rebalance-version", "log-not-in-member-list"},
            (1, 7),
        ),
        (
            "client-5.3.3",
            "stop",
            {"remark-subscription-not-exist", "log-client-not-latest", "log-heartbeat-failed"},
            (0, 9),
        ),
    ],
)
def test_logs_of_real_brokers_and_clients(golden, name, worst, held, unknown):
    """Groups whose members disagree wrote them; see data/golden/README.md."""
    found = explain(golden / "logs" / f"{name}.log")
    assert found.worst == worst
    assert held <= {one.entry.id for one in found.found}
    assert all(name[7:] in one.entry.versions for one in found.found)
    assert (found.unknown, found.trace) == unknown
    changed = [one.effect for one in found.found if one.entry.id == "log-subscription-replaced"]
    assert changed == (
        ["loss", "normal"] if "broker" in name else []
    )  # one differs, one has moved or is in other words


def test_what_the_admin_tool_says_itself_is_not_taken_for_an_answer_of_a_broker():
    """Its code is that of a group that is not online, and it means that no broker told an offset."""
    found = explain(
        "org.apache.rocketmq.client.exception.MQClientException: CODE: 206  DESC: Not found the consumer group consume "
        "stats, because return offset table is empty, maybe the consumer not consume any message"
    )
    (one,) = found.found
    assert one.entry.id == "exception-no-consume-stats"
    assert one.entry.speaker == "admin tool"
    assert "broadcasts" in one.entry.means
    (broker,) = explain("CODE: 206  DESC: the consumer group[G] not online").found
    assert broker.entry.speaker == "broker"


def test_lines_that_people_posted_in_public(root):
    """Lines of reports about RocketMQ, its clients and tools, names replaced; what is right was read one by one."""
    rows = [line.split("\t") for line in (root / "tests/doctor/public_lines.tsv").read_text("utf-8").splitlines()[1:]]
    assert len(rows) >= 70
    for _, entry, effect, line in rows:
        said = match(line)
        if said is None:
            assert entry == "-", line
        else:
            assert (said.entry.id, said.entry.effect_with(said.values)) == (entry, effect), line
    assert sum(row[1] == "-" for row in rows) <= 3


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (
            r'msg="send heart beat to broker failed,brokerId=3,brokerAddr=\"10.0.0.1:10911\",responseCode=1"',
            {"brokerId": "3", "brokerAddr": "10.0.0.1:10911", "responseCode": "1"},
        ),
        (
            '{"level":"warn","msg":"no broker found for mq","PullRequest":"MessageQueue [topic=T1, queueId=0]"}',
            {"PullRequest": "MessageQueue [topic=T1, queueId=0]"},
        ),
        (
            "(error):[ERROR] Get empty consumer IDs. Consumer Group: G1, Topic: T1[doRebalance:94]",
            {"group_name": "G1", "topic": "T1"},
        ),
        (
            "\x1b[33mWARN\x1b[0m \x1b[36mthe pull request[PullRequest [a=1]] is droped.\x1b[0m",
            {"pull_request": "PullRequest [a=1]"},
        ),
    ],
)
def test_values_of_other_loggers(line, values):
    assert match(line).values == values


def test_an_older_wording_is_told_as_now():
    line = "Group: G1 ClientId: 10.0.0.2@1148 updateConsumeOffsetToBroker MessageQueue [topic=T1, queueId=2] 87"
    (one,) = explain(line).found
    assert one.as_now == f"[persist] {line}"
    assert "as 4.8.0 says it: [persist] Group: G1 ClientId" in str(one.lines and explain(line))


def test_short_texts_must_be_the_whole_message():
    """Other programs say such words, too."""
    assert (
        decode("org.apache.rocketmq.client.exception.MQClientException: maxNums <= 0")[0].id
        == "exception-lite-pull-use"
    )
    assert decode("2021-09-05 10:30:00 WARN my.app.Queue - nobody knows why maxNums <= 0 here") is None


def test_one_version_moved_is_no_loss():
    assert explain(changed("tagA", "tagB")).worst == "loss"
    calm = explain(changed("tagA", "tagA"))
    assert calm.worst == "normal"
    assert "only the version moved" in str(calm)


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        ("SQL92:a > 3", "SQL92:3 < a", "normal"),
        ("SQL92:a > 3", "SQL92:a > 4", "loss"),
        ("SQL92:a > 3", "TAG:a > 3", "loss"),
        ("SQL92:a >", "SQL92:b = 1", "loss"),
        ("TAG:a||b", "TAG:b || a", "normal"),
        ("null:a", "TAG:a", "normal"),
        ("null:a", "TAG:b", "loss"),
        ("null:a > 3", "SQL92:a > 3", "loss"),
    ],
)
def test_other_texts_are_compared_by_meaning(old, new, effect):
    line = f"Ignore consumer(G:T) filter, because of version 1 <= 2, but maybe info changed!old={old}, ignored={new}"
    assert explain(line).worst == effect


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("T Rebalance changed, also update version: 1, 2", {"topic": "T", "old_version": "1", "version": "2"}),
        (
            "10:00 INFO - T Rebalance changed, also update version: 1, 2\n",
            {"topic": "T", "old_version": "1", "version": "2"},
        ),
        ("doRebalance, G, but the topic[a, b] not exist.", {"group": "G", "topic": "a, b"}),
    ],
)
def test_values_by_name(line, values):
    assert decode(line)[1] == values


def test_a_long_line_costs_no_more_than_its_length():
    hostile = "new consumer connected, group: " + "a " * 200_000
    assert decode(hostile) is None
    assert decode("doRebalance, " * 20_000) is None


def log(tmp_path, name, lines):
    path = tmp_path / name
    data = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    return path


LOG = [
    "2021-09-05 10:30:00 INFO main - something else",
    "2021-09-05 10:30:01 WARN Pull - the consumer's group info not exist, group: G",
    changed("tagA", "tagB").replace("10:30:00", "10:30:02"),
    "java.lang.Exception: a line of a trace",
    "2021-09-05 10:30:09 WARN Pull - the consumer's group info not exist, group: H",
    "x" * (3 * LONGEST_QUERY),
    "2021-09-05 10:30:10 INFO main - \udcff".encode("utf-8", "surrogateescape").decode("latin-1"),
]


@pytest.mark.parametrize("name", ["broker.log", "broker.log.gz"])
def test_a_log_is_counted_worst_first(tmp_path, name):
    found = explain(log(tmp_path, name, LOG))
    assert (found.lines, found.known, found.worst) == (7, 3, "loss")
    _, twice = found.found
    assert (twice.count, twice.first, twice.last, twice.values) == (2, 2, 5, {"group": "G"})
    assert (twice.first_time, twice.last_time) == ("2021-09-05 10:30:01", "2021-09-05 10:30:09")
    assert "7 lines: 3 known, 4 of which nothing is known" in str(found)
    assert explain(str(tmp_path / name)).as_json()["found"] == found.as_json()["found"]


def test_an_empty_log_is_said_to_be_empty(tmp_path):
    assert str(explain(log(tmp_path, "broker.log", []))) == "there is no line in it"


def test_effects_are_in_order():
    everything = explain_lines((text for one in EVERY.values() for text in (*one.texts, *one.older)), "every text")
    assert everything.known == everything.lines == len(templates())
    ranks = [list(EFFECTS).index(one.effect) for one in everything.found]
    assert ranks == sorted(ranks)


def test_codes_by_number_and_name():
    assert [one.entry.id for one in explain(208).found] == ["response-208-no-message", "request-208-get-consume-stats"]
    assert explain("24") == explain(24)
    assert explain("subscription_not_exist".upper()).found == explain(24).found
    assert [one.entry.kind for one in explain("NO_MATCHED_MESSAGE").found] == ["status"]


def test_a_code_has_one_number_in_the_decoder_and_in_what_is_simulated():
    simulated = {
        "request": RequestCode.__members__,
        "response": ResponseCode.__members__ | PopResponseCode.__members__ | vars(proxy),
    }
    pairs = {
        entry.name: (entry.number, int(simulated[entry.kind][entry.name]))
        for entry in EVERY.values()
        if entry.name in simulated.get(entry.kind, ())
    }
    assert {"ILLEGAL_FILTER_EXPRESSION", "ILLEGAL_INVISIBLE_TIME", "SUBSCRIPTION_NOT_EXIST", "HEART_BEAT"} <= set(pairs)
    assert [name for name, (decoded, number) in pairs.items() if decoded != number] == []


@pytest.mark.parametrize(("what", "entry"), [
    (200051, "request-200051-ack-message"),
    ("CHANGE_MESSAGE_INVISIBLETIME", "request-200053-change-message-invisibletime"),
    (401, "request-401-set-message-request-mode"), (402, "request-402-get-all-message-request-mode"),
    (40011, "response-40011-illegal-invisible-time"),
    ("ILLEGAL_FILTER_EXPRESSION", "response-40010-illegal-filter-expression"),
    (50001, "response-50001-internal-server-error"), ("rmq_sys_REVIVE_LOG_DefaultCluster", "topic-revive-log"),
    ("%RETRY%Orders_Paid", "topic-retry"), ("%RETRY%Orders+Paid", "topic-retry"),
    ("the invisibleTime is too small. min is 10000", "remark-proxy-argument"),
    ('Cannot invoke "apache.rocketmq.v2.Settings.getClientType()" because "settings" is null. NullPointerException.',
     "remark-proxy-settings-null"),
    ("reviveQueueId=3,find ck, offset:17, raw : {}", "log-pop-checkpoint"),
    ("[PopBuffer]add ack fail, rqId=3, no ck, AckMsg{}", "log-pop-buffer-late"),
])  # fmt: skip
def test_pop_and_the_proxy_are_explained(what, entry):
    """Texts and codes that the recordings of 5.5.0 have, or its source."""
    (found,) = explain(what).found
    assert found.entry.id == entry
    assert "5.5.0" in found.entry.versions


def test_a_near_miss_is_offered():
    found = explain("consumer's subscription is not existing")
    assert not found.found
    ((line, texts),) = found.near
    assert line == "consumer's subscription is not existing"
    assert "the consumer's subscription not exist" in texts
    assert explain("hello world").near == (("hello world", ()),)


def test_of_an_unknown_line_nothing_is_claimed(capsys):
    """It may well be about subscriptions: what is not known is said to be unknown, counted apart, and no success."""
    assert main(["explain", "2021-09-05 10:30:00 WARN H - a line about subscriptions that nobody wrote down"]) == 4
    assert capsys.readouterr().out.splitlines()[0] == "nothing is known of this line"
    few = explain("the consumer's group info not exist, group: G\nnobody knows this\n\tat a.B.c(B.java:1)\n")
    assert (few.lines, few.known, few.unknown, few.trace) == (3, 1, 1, 1)
    assert "3 lines: 1 known, 1 of which nothing is known; 1 blank or of a stack trace" in str(few)
    assert few.as_json()["unknown"] == 1


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("the consumer's subscription not latest", 0),
        ("the consumer's subscription not latest\nnobody knows this", 0),
        ("the request offset too small. group=G, topic=T, requestOffset=1, brokerMinOffset=9, clientIp=c", 3),
        ("nobody knows this\nnor that", 4),
        ("no/such/file.log", 2),
    ],
)
def test_exit_statuses_are_those_of_audit(line, status, capsys):
    assert main(["explain", line]) == status
    capsys.readouterr()


ILLEGAL = (
    "2016-03-06 18:41:02,362 WARN RocketmqClient - the pull request offset illegal, PullRequest [consumerGroup=G1, "
    "messageQueue=MessageQueue [topic=T1, brokerName=broker-1, queueId=2], nextOffset={next}] PullResult [pullStatus="
    "OFFSET_ILLEGAL, nextBeginOffset={begin}, minOffset={low}, maxOffset={high}, msgFoundList=0]"
)


@pytest.mark.parametrize(
    ("numbers", "effect", "means"),
    [
        ((15619, 0, 0, 7358), "watch", "consumes everything in this queue again"),
        ((15619, 7358, 90, 7358), "loss", "is skipped, unless"),
        ((5, 90, 90, 7358), "loss", "deleted before the group read it"),
        ((5, 0, 0, 0), "watch", "consumes everything in this queue again"),
    ],
)
def test_what_a_line_means_can_depend_on_its_values(numbers, effect, means):
    """As `DefaultMessageStore.getMessage` does: beyond the end to 0 while minOffset is 0, otherwise to the end."""
    line = ILLEGAL.format(**dict(zip(("next", "begin", "low", "high"), numbers, strict=True)))
    (one,) = explain(line).found
    assert one.effect == effect
    assert means in one.case.means
    assert one.values["pull_request"].endswith(f"queueId=2], nextOffset={numbers[0]}]")
    assert one.values["pull_result"].startswith("PullResult [pullStatus=")


def test_conditions_of_cases_are_about_values_of_the_entrys_texts():
    for entry in EVERY.values():
        names = set(re.findall(r"\{(\w+)\}", " ".join(entry.texts)))
        for case in entry.cases:
            assert not case.holds({}), entry.id
            for condition in case.when:
                words = [word for word in condition.split()[::2] if not word.lstrip("-").isdecimal()]
                used = {word.partition(".")[0] for word in words if not word.startswith("'")}
                assert used <= names or "Go" in entry.languages, (entry.id, condition)  # Go's fields are in no text
                assert used, (entry.id, condition)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("A [b=B [c=1, d=2], e=3]", "b", "B [c=1, d=2]"),
        ("A [b=B [c=1, d=2], e=3]", "e", "3"),
        ("A [b=B [c=1, d=2], e=3]", "f", None),
        ("A [subString=x IN ('p', 'q'), tagsSet=[]]", "subString", "x IN ('p', 'q')"),
        ("A [subString=x = '(', tagsSet=[]]", "subString", "x = '('"),
        ("A{b=[], c=[C [d=1]]}", "c", "[C [d=1]]"),
        ("A(b=1, bc=2)", "bc", "2"),
    ],
)
def test_printed_objects(text, key, value):
    assert printed_value(text, key) == value


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ("", "nothing to explain"),
        ("999", "999 is no code"),
        ("SUBSCRIPTION_NOT_LATES", "did you mean SUBSCRIPTION_NOT_LATEST"),
        ("13", "13: MESSAGE_ILLEGAL 13 of RocketMQ 4.8.0 is none about"),
        ("no/such/broker.log", "there is no such file"),
        ("broker.log.1", "there is no such file"),
    ],
)
def test_what_cannot_be_explained(what, problem):
    with pytest.raises(BadInput, match=problem):
        explain(what)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(BadInput, match="there is no file in it"):
        explain(tmp_path)
    half = log(tmp_path, "half.gz", LOG * 50)
    half.write_bytes(half.read_bytes()[:-20])
    with pytest.raises(BadInput, match="cannot be unpacked"):
        explain(half)


def test_how_soon_a_client_tries_again_is_its_own_setting():
    """A pull that failed waits for `pullTimeDelayMillsWhenException`, a rebalance for its own interval."""
    config = ClientConfig()
    waits = {config.pull_time_delay_when_exception // 1_000, config.rebalance_wait_interval // 1_000}
    said = re.findall(r"again (?:after )?(\d+) s\b", " ".join(f"{one.means} {one.do}" for one in entries().values()))
    assert set(map(int, said)) == waits
