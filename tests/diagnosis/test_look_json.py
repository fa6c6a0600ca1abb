"""A look goes through JSON unchanged, and what is kept of one says nothing of the machine it was taken on."""

from __future__ import annotations

import json

from rmqlab.diagnosis.look import Cost, MessageSeen, Unanswered
from rmqlab.diagnosis.look_json import look_from_json, look_to_json
from rmqlab.message.topics import MessageQueue
from tests.diagnosis.conftest import M, look, passed
from tests.diagnosis.recorded_looks import text_of, without_traces


def full_look():
    seen = look([M("A"), M("B", {"T": "SQL92:a > 3"}), M("C", silent=True)])
    passed(seen, ["tagA", None, "tagB"])
    passed(seen, ["tagA"], start=103, behind=True)
    queue = MessageQueue("T", "broker-a", 1)
    seen.groups["G"].messages.append(MessageSeen(queue, 7, "id", {"TAGS": "tagA"}))
    seen.unanswered.append(Unanswered("10.0.0.9:10911", 307, "G C", "no answer"))
    seen.cost["10.0.0.9:10911"] = Cost(3, 100, 2_000)
    seen.since = seen.at - 10_000
    return seen


def test_a_look_comes_back_as_it_was():
    seen = full_look()
    assert look_from_json(json.loads(json.dumps(look_to_json(seen)))) == seen


def test_what_is_kept_names_no_place():
    seen = full_look()
    seen.brokers["broker-a"].settings["storePathRootDir"] = "/opt/somebody/store"
    member = seen.groups["G"].members["A"]
    member.running.properties["PROP_NAMESERVER_ADDR"] = "127.0.0.1:41234;"
    text = text_of(without_traces(look_to_json(seen)))
    assert "somebody" not in text
    assert "41234" not in text
    assert look_from_json(json.loads(text)).groups["G"].members["B"] == seen.groups["G"].members["B"]
