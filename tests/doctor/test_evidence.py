"""Evidence of every kind: what it is, by its content alone, what all say together, and nothing of what is not known."""

from __future__ import annotations

import json
import shutil
import tarfile

import pytest

from rmqlab import BadInput, explain
from rmqlab.protocol.bodies import Connection, ConsumerConnection, ConsumerRunningInfo, ProcessQueueInfo
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab_tools.cli.cli import main
from rmqlab_tools.doctor.evidence.json_forms import JSON_FORMS
from rmqlab_tools.doctor.evidence.recognisers import TEXT_FORMS
from rmqlab_tools.doctor.evidence.sections import closing, sections
from rmqlab_tools.doctor.finding import State

CONNECTION = (
    '{"connectionSet":[{"clientAddr":"10.0.0.2:59606","clientId":"10.0.0.2@170","language":"JAVA","version":317}],'
    '"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING",'
    '"subscriptionTable":{"T1":{"classFilterMode":false,"codeSet":[3552231],"expressionType":"TAG","subString":"tagA",'
    '"subVersion":1644300000000,"tagsSet":["tagA"],"topic":"T1"}}}'
)
RUNNING = (
    '{"mqTable":{{"brokerName":"broker-a","queueId":2,"topic":"T1"}:{"cachedMsgCount":0,"commitOffset":402,'
    '"droped":false,"lastPullTimestamp":1745305620620,"locked":true}},"properties":{"consumerGroup":"G1"},'
    '"subscriptionSet":[{"classFilterMode":false,"codeSet":[3552231],"expressionType":"TAG","subString":"tagA",'
    '"subVersion":1745303082331,"tagsSet":["tagA"],"topic":"T1"}]}'
)
PRINTED_4_6 = """\
#ClientId                            #ClientAddr            #Language  #Version
10.0.0.2@170                         10.0.0.2:59606         JAVA       V4_5_1

Below is subscription:
Topic: T1                                       SubExpression: tagA

ConsumeType: CONSUME_PASSIVELY
MessageModel: CLUSTERING
ConsumeFromWhere: CONSUME_FROM_LAST_OFFSET
"""
PRINTED_5 = """\
#ClientId                            #ClientAddr            #Language  #Version
10.0.0.2@170                         10.0.0.2:59606         JAVA       V5_3_3
10.0.0.3@171                         10.0.0.3:59607         GO         V4_9_4

Below is subscription:
#Topic               #SubExpression
%RETRY%G1            *
T1                   tagA || tagB

ConsumeType: CONSUME_PASSIVELY
MessageModel: CLUSTERING
ConsumeFromWhere: CONSUME_FROM_FIRST_OFFSET
"""
PRINTED_4_8 = """\
001  10.0.0.2@170                     10.0.0.2:59606         JAVA     V4_8_0

Below is subscription:001  Topic: T1                                       SubExpression: a > 3
002  Topic: %RETRY%G1                                SubExpression: *
ConsumeType: CONSUME_PASSIVELY
MessageModel: CLUSTERING
ConsumeFromWhere: CONSUME_FROM_LAST_OFFSET
"""
PROGRESS_5 = (
    f"{'#Topic':<64}  {'#Broker Name':<32}  {'#QID':<4}  {'#Broker Offset':<20}  {'#Consumer Offset':<20}  "
    f"{'#Diff':<20} {'#Inflight':<20} #LastTime\n"
    f"{'T1':<64}  {'broker-a':<32}  {0:<4}  {7358:<20}  {15619:<20}  {-8261:<20} {0:<20} 2026-11-21 08:33:53\n"
    f"{'T1':<64}  {'broker-a':<32}  {1:<4}  {10:<20}  {4:<20}  {6:<20} {0:<20} N/A\n\n"
    "Consume TPS: 0.03\nConsume Diff Total: -8255\nConsume Inflight Total: 0\n"
)
OFFSETS = '{\n\t"offsetTable":{\n\t\t"T1@G1":{0:5,1:7\n\t\t},\n\t\t"%RETRY%G1@G1":{0:0\n\t\t}\n\t}\n}'


def kinds(text):
    return [piece.kind for piece in sections(text, "x").pieces]


def heartbeat(client, expression, group="G1", kind="TAG"):
    data = ConsumerData(
        group, ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        [build_subscription("T1", expression, kind), build_subscription(f"%RETRY%{group}", "*", "TAG")],
    )  # fmt: skip
    return HeartbeatData(client, [], [data]).encode().decode()


def connection(*clients, held="tagA", group="G1"):
    table = {topic: build_subscription(topic, text, "TAG") for topic, text in (("T1", held), (f"%RETRY%{group}", "*"))}
    listed = [Connection(client, f"10.0.0.{n}:5", "JAVA", 373) for n, client in enumerate(clients, 1)]
    made = ConsumerConnection(listed, table, ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING)
    return made.encode().decode()


@pytest.mark.parametrize(
    ("text", "kind", "form"),
    [
        (CONNECTION, "consumer_connection", "JSON"),
        (PRINTED_4_6, "consumer_connection", "4.6"),
        (PRINTED_5, "consumer_connection", "5.x"),
        (PRINTED_4_8, "consumer_connection", "4.8.0"),
    ],
)
def test_a_brokers_table_is_one_view(text, kind, form, tmp_path, capsys):
    """Members and what the broker holds are there; what each asks for is not, and that is what it says."""
    found = explain(text)
    (piece,) = found.pieces
    assert piece.kind == kind
    (group,) = found.groups
    assert any("10.0.0.2@170" in line for line in group.members), form
    assert any("T1 " in line for line in group.held)
    assert group.asked == () or len(group.members) == 1
    assert any("what each member asks for itself" in line for line in group.missing)
    assert any(line.startswith("mqadmin consumerStatus") and "-i 10.0.0.2@170" in line for line in group.commands)
    assert found.status == 4
    file = tmp_path / "view.txt"
    file.write_text(text, "utf-8")
    assert main(["lint", str(file)]) == 4
    assert "this is the broker's table" in capsys.readouterr().out


def test_what_a_brokers_table_says():
    (five,) = explain(PRINTED_5).pieces
    assert [one.client_id for one in five.value.connection_set] == ["10.0.0.2@170", "10.0.0.3@171"]
    assert five.value.subscription_table["T1"].sub_string == "tagA || tagB"
    assert five.value.consume_from_where is ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    assert explain(PRINTED_5).groups[0].name == "G1"  # of its retry topic
    (four,) = explain(PRINTED_4_8).pieces
    assert four.value.subscription_table["T1"].expression_type == "SQL92"
    assert explain(CONNECTION).groups[0].name == ""


def test_what_one_member_says_is_one_view(tmp_path, capsys):
    """As fastjson writes it, with objects as names."""
    found = explain(RUNNING)
    (piece,) = found.pieces
    (queue,) = piece.value.mq_table
    assert (queue.topic, queue.broker_name, queue.queue_id) == ("T1", "broker-a", 2)
    (group,) = found.groups
    assert group.name == "G1"
    assert "who is in the group, and what the brokers hold for it" in group.missing
    assert group.commands[0] == "mqadmin consumerConnection -n NAMESRV:9876 -g G1"
    assert found.status == 4
    file = tmp_path / "member.json"
    file.write_text(RUNNING, "utf-8")
    assert main(["lint", str(file), "--json", "-"]) == 4
    (told,) = json.loads(capsys.readouterr().out)["groups"]
    assert told["missing"][0] == "this is what 1 member says; others may be in the group"


@pytest.mark.parametrize(
    "key",
    [
        "MessageQueue [topic=T1, brokerName=broker-a, queueId=2]",
        '{\\"brokerName\\":\\"broker-a\\",\\"queueId\\":2,\\"topic\\":\\"T1\\"}',
    ],
)
def test_queues_may_be_names_in_strict_json_too(key):
    """As Jackson, and with it the dashboard, writes them."""
    text = RUNNING.replace('{"brokerName":"broker-a","queueId":2,"topic":"T1"}', f'"{key}"')
    json.loads(text)
    (piece,) = explain(f'{{"status":0,"data":{text},"errMsg":null}}').pieces
    (queue,) = piece.value.mq_table
    assert (queue.topic, queue.broker_name, queue.queue_id) == ("T1", "broker-a", 2)


def test_what_settings_bear_on_it_is_said():
    found = explain("brokerName=b\nbrokerPermission=2\nenableProprtyFilter=true\nenableCalcFilterBitMap=true\n")
    kinds_found = {one.kind for one in found.settings}
    assert kinds_found >= {"not_readable", "unknown_setting", "bitmap_not_stored"}
    assert any("did you mean enablePropertyFilter?" in one.says for one in found.settings)
    assert found.status == 3
    assert explain("brokerName=b\nbrokerId=0\n").status == 0


def test_lint_says_what_a_view_does_not_tell(tmp_path, capsys):
    file = tmp_path / "progress.txt"
    file.write_text(PROGRESS_5, "utf-8")
    assert main(["lint", str(file)]) == 2
    assert "it does not tell what members subscribe" in capsys.readouterr().err
    file.write_text(connection("h@1", "h@1", "h@2"), "utf-8")
    assert main(["lint", str(file)]) == 1
    assert "2 of 3 members have the client id h@1" in capsys.readouterr().out


def test_the_table_and_the_only_member_are_enough_for_lint(tmp_path, capsys):
    for name, text in (("broker.json", CONNECTION), ("member.json", RUNNING)):
        (tmp_path / name).write_text(text, "utf-8")
    files = [str(tmp_path / name) for name in ("broker.json", "member.json")]
    assert main(["lint", *files]) == 0
    assert "TAG 'tagA': 10.0.0.2@170" in capsys.readouterr().out
    found = explain(*files)
    (group,) = found.groups
    assert group.name == "G1"
    assert "is taken to be of G1, the only one that is named" in group.assumed[0]


def test_members_that_differ_are_found_from_what_they_say(tmp_path, capsys):
    """Two heartbeats and the broker's table: one loses, and the next command changes over."""
    for name, text in (
        ("table.json", connection("1@A", "1@B", held="tagB")),
        ("a.json", heartbeat("1@A", "tagA")),
        ("b.json", heartbeat("1@B", "tagB")),
    ):
        (tmp_path / name).write_text(text, "utf-8")
    files = sorted(map(str, tmp_path.iterdir()))
    found = explain(*files)
    (group,) = found.groups
    assert group.state is State.AT_RISK
    assert found.status == 3
    different = next(one for one in group.findings if one.kind == "different_subscriptions")
    assert "rmqlab plan tagA tagB" in different.advice
    assert main(["lint", *files]) == 1
    assert main(["explain", *files, "--json", "-"]) == 3
    told = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]) or "{}")
    assert told["groups"][0]["group"] == "G1"


def test_a_client_id_that_is_listed_twice():
    found = explain(connection("10.0.0.2@1", "10.0.0.2@1", "10.0.0.3@1"))
    (group,) = found.groups
    assert any(one.kind == "same_client_id" for one in group.findings)
    assert any("listed 2 times" in line for line in group.members)
    assert found.status == 3


@pytest.mark.row("S-05", "H-47")
def test_members_with_one_client_id(tmp_path, capsys):
    """`getAllClientId` has one entry a channel, and a member takes the first place of its id."""
    file = tmp_path / "group.json"
    members = [{"client": client, "subscribe": {"T1": "*"}} for client in ("h@170", "h@170", "h@173")]
    file.write_text(json.dumps({"group": "G1", "queues": {"T1": 4}, "members": members}), "utf-8")
    assert main(["lint", str(file), "--json", str(tmp_path / "told.json")]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("G1: Inconsistent")
    assert "2 of 3 members have the client id h@170" in printed
    (group,) = json.loads((tmp_path / "told.json").read_text("ascii"))["groups"]
    (shared,) = group["shared_ids"]
    assert shared["topics"] == {"T1": {"shared": [0, 1], "unowned": [2]}}
    found = explain(file)
    assert found.status == 3
    assert found.groups[0].findings[0].kind == "same_client_id"
    for one in members:
        one["messageModel"] = "BROADCASTING"  # nothing is allocated
    file.write_text(json.dumps({"group": "G1", "members": members}), "utf-8")
    assert main(["lint", str(file)]) == 0


def test_offsets_outside_their_queue():
    text = f"$ mqadmin consumerProgress -g G1 -n 10.0.0.9:9876\n{PROGRESS_5}"
    (group,) = explain(text).groups
    beyond = next(one for one in group.findings if one.kind == "offset_beyond_end")
    assert "offset 15619 is beyond the queue's end 7358" in beyond.says
    assert "mqadmin consumerConnection -n 10.0.0.9:9876 -g G1" in group.commands
    status = (
        "$ mqadmin topicStatus -t T1\n#Broker Name                      #QID  #Min Offset           #Max Offset        "
        "     #Last Updated\nbroker-a                          0     0                     7358\nbroker-a         "
        "                 1     9                     10                      2026-11-21 08:33:53,861\n"
    )
    (group,) = explain(text + status).groups
    says = {one.kind: one.says for one in group.findings}
    assert "the next pull goes on at 0, and all is consumed again" in says["offset_beyond_end"]
    assert "offset 4 is below the queue's lowest offset 9" in says["offset_below_start"]
    assert group.state is State.LOSING


def test_a_message_that_an_offset_passed_and_the_broker_drops():
    """Implied, not proved: the broker may have held another subscription when it was passed."""
    message = (
        "OffsetID:            7F00000100002A9F00000000000000E8\nTopic:               T1\nTags:                [tagA]\n"
        "Keys:                [k1]\nQueue ID:            0\nQueue Offset:        4\n\n\n"
        "MessageTrack [consumerGroup=G1, trackType={}, exceptionDesc=null]\n"
    )
    others = [connection("1@A", "1@B", held="tagB"), heartbeat("1@A", "tagA"), heartbeat("1@B", "tagB")]
    for track, by_tool in (("CONSUMED", False), ("CONSUMED_BUT_FILTERED", True)):
        found = explain(*others, OFFSETS, message.format(track))
        lost = next(one for one in found.groups[0].findings if one.kind == "passed_and_filtered")
        assert str(lost.certainty) == "implied"
        assert ("as the admin tool says" in lost.says) == by_tool
        assert "1@A" in lost.says
    waiting = explain(*others, OFFSETS.replace("0:5,", "0:4,"), message.format("NOT_CONSUME_YET"))
    assert not any(one.kind == "passed_and_filtered" for one in waiting.groups[0].findings)


def test_every_form_of_the_recorded_admin_tool(golden):
    found = explain(golden / "broker-4.8.0" / "admin" / "mqadmin.txt")
    seen = {piece.kind for piece in found.pieces}
    assert seen >= {
        "consumer_connection", "producer_connection", "consumer_status", "consume_stats", "group_list", "topic_route",
        "topic_stats", "topic_groups", "cluster_list", "broker_figures", "settings", "namesrv_settings", "message",
        "subscription",
    }  # fmt: skip
    assert found.room.namesrv == "127.0.0.1:19876"
    first = next(one for one in found.groups if one.name == "G_x-admin-000")
    assert len(first.members) == 2
    assert any("T_x-admin-000 TAG 'tagB'" in line for line in first.held)
    assert found.lines + sum(piece.last - piece.first + 1 for piece in found.pieces) <= 521
    assert all(not one.damaged for one in found.pieces)


def test_what_consumer_status_wrote_is_a_folder_of_members(data_doctor_status):
    found = explain(data_doctor_status)
    (group,) = found.groups
    assert sorted(group.members) == ["10.0.0.2@170", "10.0.0.3@171"] or len(group.members) == 2
    assert any(one.kind == "tool_found_difference" for one in group.findings)


@pytest.fixture
def data_doctor_status(tmp_path):
    info = (
        "#Consumer Properties#\nconsumerGroup                           : G1\n"
        "PROP_CONSUME_TYPE                       : CONSUME_PASSIVELY\n\n\n#Consumer Subscription#\n"
        "001 Topic: T1                                       ClassFilter: false    SubExpression: {}\n\n\n"
        "#Consumer Offset#\n#Topic                 #Broker Name                      #QID  #Consumer Offset\n"
        "T1                                broker-a                          {}     4\n\n\n#Consumer MQ Detail#\n"
        "#Topic                            #Broker Name                      #QID  #ProcessQueueInfo\n"
        "T1                                broker-a                          {}     ProcessQueueInfo [commitOffset=4, "
        "cachedMsgMinOffset=0, cachedMsgMaxOffset=0, cachedMsgCount=0, cachedMsgSizeInMiB=0, droped=false]\n"
    )
    folder = tmp_path / "1795250103949"
    folder.mkdir()
    for client, tag, queue in (("10.0.0.2@170", "tagA", 0), ("10.0.0.3@171", "tagB", 1)):
        (folder / client).write_text(info.format(tag, queue, queue), "utf-8")
    (folder / "printed.txt").write_text(
        "$ mqadmin consumerStatus -g G1\n#Index     #ClientId        #Version             #ConsumerRunningInfoFile\n"
        "1          10.0.0.2@170     V4_9_4               1795250103949/10.0.0.2@170\n"
        "2          10.0.0.3@171     V4_9_4               1795250103949/10.0.0.3@171\n\n\n"
        "WARN: Different subscription in the same group of consumer!!!\n",
        "utf-8",
    )
    return folder


@pytest.fixture
def store(golden, tmp_path):
    with tarfile.open(golden / "broker-4.8.0" / "noprop" / "store.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    return next(one.parent for one in tmp_path.rglob("commitlog"))


def test_a_store_and_its_config_folder(store):
    found = explain(store)
    assert {"store", "consumer_offsets", "topics", "subscription_groups"} <= {piece.kind for piece in found.pieces}
    assert found.commands == (f"rmqlab audit {store}",)
    assert {"G_p-npmix-001", "G_p-npsql-000"} <= {one.name for one in found.groups}
    path = store / "config" / "consumerOffset.json"
    whole = path.read_text("utf-8")
    path.write_text(whole + '\t"Old@G":{0:1\n}', "utf-8")
    taken = explain(store / "config")
    note = next(piece.notes[0] for piece in taken.pieces if piece.kind == "consumer_offsets")
    assert note.endswith("4.8.0 takes consumerOffset.json.bak instead, which is older")
    path.with_name("consumerOffset.json.bak").unlink()
    for given in (store, store / "config", path):
        lost = explain(given)
        (piece,) = [one for one in lost.pieces if one.kind == "consumer_offsets"]
        assert piece.damaged
        assert piece.notes[0].endswith("consumerOffset.json.bak is missing: 4.8.0 starts with an empty table")
        first = int(piece.notes[-1].split("its first ")[1].split()[0])
        assert path.read_bytes()[:first].decode().rstrip() == whole
        assert lost.status == 4
    (copy,) = explain(shutil.copy(store / "config" / "topics.json.bak", store.parent / "topics.json.bak")).pieces
    assert copy.value.topic_config_table
    assert copy.notes[0].startswith("it is the older copy")
    alone = shutil.copy(path, store.parent / "sent-by-mail.txt")
    (piece,) = explain(alone).pieces
    assert "give the whole folder config" in piece.notes[0]  # whether there is a copy is not known


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"dataVersion":{"counter":3,"stateVersion":0},"offsetTable":{"T@G":{0:1}}}', "consumer_offsets"),
        ('{"dataVersion":{"counter":3,"stateVersion":0},"offsetTable":{3:1}}', "delay_offsets"),
        ('{"dataVersion":{"counter":1},"topicConfigTable":{"T":{"attributes":{},"perm":6,"topicName":"T"}}}', "topics"),
        ('{"forbiddenTable":{},"subscriptionGroupTable":{"G":{"groupName":"G"}}}', "subscription_groups"),
        ('{"filterDataByTopic":{}}', "consumer_filters"),
        ('{"groupTopicMap":{"G":["T"]},"offsetTable":{"T@G":{0:1}},"resetOffsetTable":{}}', "consumer_offsets"),
        ('{"messageRequestModeMap":{"T":{"G":{"consumerGroup":"G","mode":"POP","topic":"T"}}}}', "request_modes"),
        ('{"status":0,"data":{"connectionSet":[],"consumeType":null},"errMsg":null}', "consumer_connection"),
        ("{'clientID':'A','consumerDataSet':[{'groupName':'G','subscriptionDataSet':[]}]}", "heartbeat"),
        ('[{"topic":"T","queueStatInfoList":[{"brokerName":"b","queueId":0,"consumerOffset":3}]}]', "progress"),
        ("brokerClusterName = DefaultCluster\n# remark\nenablePropertyFilter=true\n", "settings"),
        ('{"offsetTable":{{"queueId":0,"topic":"T"}:{"brokerOffset":4,"consumerOffset":3}}}', "consume_stats"),
        ('{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:{"minOffset":0,"maxOffset":3}}}', "topic_stats"),
        ('{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:7}}', "reset_offsets"),
    ],
)  # fmt: skip
def test_json_and_settings_are_known_by_their_content(text, kind):
    assert kinds(text) == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        '{"level":"warn","msg":"x"}',
        "[2021-02-01] a log",
        "[]",
        '{"a":1}',
        "{",
        "\0\0",
        "a = b\nc = d",
        "#x",
        '{"offsetTable":{}}',
    ],
)
def test_nothing_is_claimed_of_what_is_not_known(text):
    found = explain(text)
    assert {piece.kind for piece in found.pieces} <= {"unknown"}
    assert found.groups == ()
    assert found.status == 4
    assert "nothing" in str(found)


def test_a_mixed_text_is_cut_into_its_pieces():
    text = f"2021-09-05 10:30:00 a log\n{PRINTED_5}\nno such thing\n{RUNNING}\n{OFFSETS}\nthe end\n"
    found = sections(text, "mail.txt")
    assert [piece.kind for piece in found.pieces] == ["consumer_connection", "running_info", "consumer_offsets"]
    assert [line for line in found.rest if line.strip()] == ["2021-09-05 10:30:00 a log", "no such thing", "the end"]
    lines = text.split("\n")
    for piece in found.pieces:
        assert lines[piece.first - 1].strip()
    assert found.rest[lines.index("no such thing")] == "no such thing"  # lines keep their numbers


def test_codes_texts_and_logs_are_explained_as_before():
    assert explain(25).found[0].entry.name == "SUBSCRIPTION_NOT_LATEST"
    assert explain(25).status == 0
    assert explain("24") == explain(24)
    several = explain(24, "CODE: 25  DESC: the consumer's subscription not latest")
    assert len(several.found) == 2
    with pytest.raises(BadInput, match="there is no such file"):
        explain("/no/such.log")
    with pytest.raises(BadInput, match="nothing to explain"):
        explain()


def test_a_pipe_and_a_windows_file(tmp_path, capsys, monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", type("In", (), {"buffer": io.BytesIO(RUNNING.encode())}))
    assert main(["explain", "-"]) == 4
    assert "what one member says of itself" in capsys.readouterr().out
    file = tmp_path / "out.txt"
    file.write_bytes("\ufeff".encode("utf-16-le") + PRINTED_5.replace("\n", "\r\n").encode("utf-16-le"))
    assert [piece.kind for piece in explain(file).pieces] == ["consumer_connection"]
    file.write_bytes(bytes(range(256)) * 8)
    assert "bytes that are no text" in str(explain(file))


def test_kinds_of_the_tables_are_there_once_each():
    json_kinds = [form.kind for form in JSON_FORMS]
    assert len(json_kinds) == len(set(json_kinds))
    assert all(form.title and callable(form.read) for form in (*JSON_FORMS, *TEXT_FORMS))


def test_where_a_value_closes():
    assert closing('{"a":"}"} x', 0) == 9
    assert closing('{"a":[1,{"b":2}]', 0) is None
    assert ProcessQueueInfo(3).commit_offset == 3
    assert ConsumerRunningInfo().mq_table == {}


def test_a_5x_brokers_config_says_who_pops(tmp_path):
    (tmp_path / "messageRequestMode.json").write_text(
        '{"messageRequestModeMap":{"T":{"G":{"consumerGroup":"G","mode":"POP","popShareQueueNum":0,"topic":"T"},'
        '"H":{"consumerGroup":"H","mode":"PULL","topic":"T"}}}}'
    )
    (tmp_path / "consumerOffset.json").write_text(
        '{"dataVersion":{"counter":2,"stateVersion":0},"groupTopicMap":{"G":["T","%RETRY%G_T"],"V2":["%RETRY%V2+T"]},'
        '"offsetTable":{"T@G":{0:3},"%RETRY%G_T@G":{0:1},"%RETRY%V2+T@V2":{0:1},"%RETRY%H@H":{0:1},'
        '"rmq_sys_REVIVE_LOG_C@CID_RMQ_SYS_REVIVE_GROUP":{0:9}}}'
    )
    text = str(explain(tmp_path))
    lines = {line.split(":")[0]: line for line in text.splitlines() if line.startswith("group ")}
    assert "its request mode for T is POP; it has POP's retry topics of T" in lines["group G"]
    assert "it has POP's retry topics of T" in lines["group V2"]
    assert "POP" not in lines["group H"], "%RETRY%H is the retry topic that a group that pulls has"
    assert "reads POP's check points and acks" in lines["group CID_RMQ_SYS_REVIVE_GROUP"]
