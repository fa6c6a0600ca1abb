"""A look goes through JSON unchanged, and what is kept of one says nothing of the machine it was taken on."""

from __future__ import annotations

import json

import pytest

from rmqlab.errors import BadInput
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.codes import RequestCode
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.snapshot import Cost, MessageSeen, Unanswered
from rmqlab_tools.doctor.snapshot_json import look_from_json, look_to_json, read_look
from tests.doctor.conftest import M, look, passed
from tests.doctor.recorded_looks import text_of, without_traces


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


def test_a_question_without_an_answer_comes_back_by_its_number():
    seen = full_look()
    seen.unanswered.append(Unanswered("10.0.0.9:10911", RequestCode.GET_CONSUME_STATS, "G", "no answer"))
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


def places(value, path=()):
    """The paths of everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield (*path, name)
        yield from places(one, (*path, name))


def test_a_file_that_somebody_changed_is_judged_or_refused(tmp_path):
    """Whatever stands where something else belongs."""
    path, whole = tmp_path / "look.json", look_to_json(full_look())
    refused = 0
    for place in places(whole):
        for other in (None, 5, -1.5, "x", [], {}, [1], {"a": 1}, True):
            changed = json.loads(json.dumps(whole))
            around = changed
            for name in place[:-1]:
                around = around[name]
            around[place[-1]] = other
            path.write_text(json.dumps(changed))
            try:
                diagnose(read_look(path))
            except BadInput:
                refused += 1
    assert refused > 1_000


def test_what_is_wrong_in_a_file_is_named(tmp_path):
    path = tmp_path / "look.json"
    path.write_text(json.dumps({"namesrv": "a:1", "at": 5, "cost": {"a:1": {"requests": "many"}}}))
    with pytest.raises(BadInput, match=r"look\.json: no look is in it \(cost: requests: Expected `int`, got `str`\)"):
        read_look(path)
