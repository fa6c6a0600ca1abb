"""Recordings of groups that pop, through our broker: what it gives, and what it stores, is the real broker's."""

from __future__ import annotations

import copy
import re

import pytest

from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.pop_headers import PopMessageResponseHeader
from rmqlab_tools.recordings.frames import LineKind, Recording, read_recording
from tests.proof.replay.assumptions import PopWay
from tests.proof.replay.order_search import OrderSearch
from tests.proof.replay.pop_requests import LATE
from tests.proof.replay.replay import recorded_rules, replay
from tests.proof.replay.tolerated_differences import Tolerated

pytestmark = pytest.mark.slow

# How some pops went about: line of the request, way. A search over 16 passes finds them; here one pass takes them.
KNOWN = {
    "broker-5.3.3/pop": (1_325, {963: 4, 398: 2, 849: 1}, ()),
    "broker-5.5.0/pop": (3_065, {960: 1, 2894: 2, 3543: 1, 5165: 1, 767: 2}, ((3103, 3104),)),
    # 703 and 812 waited in the end: their first looks came some ms after their frames, and passed what came meanwhile.
    "broker-5.5.0/pop-store": (
        3_011,
        {812: LATE, 703: LATE, 5477: 1, 2340: 1, 2194: 1, 2438: 1, 2420: 1, 5450: 1, 483: 1, 2348: 1, 616: 1, 5220: 2,
         2504: 2, 2497: 1},
        (),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def noprop(golden):
    return read_recording(golden / "broker-5.3.3" / "pop-noprop")


def search_over(recording):
    return OrderSearch(recording, lambda _text: None, recorded_rules(recording))


def test_every_answer_to_a_slow_stream_is_ours(golden):
    """One pass: nothing has to be assumed."""
    result = replay(golden / "broker-5.5.0" / "popslow")
    assert result.differing == []
    assert (result.requests, result.identical, result.orders) == (1_431, 1_431, [])
    assert result.uses[Tolerated.POP_CHOICES] > 150


@pytest.mark.parametrize("name", KNOWN)
def test_every_answer_of_a_broker_that_is_popped_from_is_ours(golden, name):
    """Pops, acks, changes of invisibility; the places of sent messages tell what POP stored between them."""
    requests, ways, orders = KNOWN[name]
    search = search_over(read_recording(golden / name))
    first = search.run_pass(())
    by_line = first.exchanges.by_request
    assert len(by_line) == requests
    known = [PopWay(by_line[line], way) for line, way in ways.items()]
    known += [choice for choice in first.choices if choice.key in orders]
    assert len(known) == len(ways) + len(orders)
    assert [found.difference for found in search.run_pass(tuple(known)).differing] == []


def test_without_properties_only_two_heartbeats_differ(noprop):
    """Their connections ended 178 ms later, and the real broker did not answer."""
    context = search_over(noprop).run_pass(())
    assert len(context.exchanges.by_request) == 172
    assert [(found.exchange.code, found.exchange.line.conn) for found in context.differing] == [
        (RequestCode.HEART_BEAT, 13),
        (RequestCode.HEART_BEAT, 14),
    ]


def more(fields, name):
    """Return fields with a greater last number in one: no other pop at work on a queue leaves a rest of 7 more."""
    return {**fields, name: re.sub(r"\d+$", lambda last: str(int(last[0]) + 7), fields[name])}


@pytest.mark.parametrize("name", ["startOffsetInfo", "msgOffsetInfo", "restNum", "invisibleTime"])
def test_a_changed_answer_to_a_pop_is_noticed(noprop, name):
    lines = [
        index
        for index, line in enumerate(noprop.lines)
        if line.kind is LineKind.FRAME and not line.to_broker and "popTime" in (line.command.ext_fields or {})
        and line.command.decode_header(PopMessageResponseHeader).msg_offset_info
    ]  # fmt: skip
    assert len(lines) == 5
    for index in lines:
        line = copy.copy(noprop.lines[index])
        line.command = copy.copy(line.command)
        line.command.ext_fields = more(line.command.ext_fields, name)
        changed = Recording(noprop.name, noprop.properties, [*noprop.lines[:index], line, *noprop.lines[index + 1 :]])
        differing = search_over(changed).run_pass(()).differing
        assert any(
            (found.difference.conn, found.difference.opaque) == (line.conn, line.command.opaque) for found in differing
        )
